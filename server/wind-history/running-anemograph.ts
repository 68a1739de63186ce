// The server's own anemograph: follows the wind's channel from what the log has of the last hour on, for windows that come.

import type { Log } from '../broker/log.ts'
import { windChannel } from '../sources/publish.ts'
import { isKind, type Message } from '../wire/envelope.ts'
import type { Timers } from '../wire/time.ts'
import { anemogramOf } from '../wire/wind/anemogram.ts'
import { createAnemograph } from '../wire/wind/anemograph.ts'
import { lastHour } from './last-hour.ts'

export interface RunningAnemographParts {
  readonly log: Pick<Log, 'follow' | 'read' | 'snapshot'>
  readonly timers: Timers
  /** The log could not be read: the hour begins with what comes. */
  readonly onFailure: (error: unknown) => void
}

export interface RunningAnemograph {
  /** The last hour as JSON, an `Anemogram`; after a start once what the log has is in it. */
  readonly anemogram: () => Promise<string>
  readonly stop: () => void
}

/** Keeps what an anemograph keeps, and the newest answer: windows that come together get the same. */
export function startAnemograph({ log, timers, onFailure }: RunningAnemographParts): RunningAnemograph {
  const { take, history } = createAnemograph()
  let newest: { seq: number; faultAt: number | null } = { seq: 0, faultAt: null }
  let answer = { seq: -1, json: '' }
  /** What comes while the log is being read. */
  let waiting: Message<'reading'>[] | null = []
  let isOver = false

  const unfollow = log.follow((message) => {
    if (message.channel !== windChannel || !isKind(message, 'reading')) return
    if (waiting) waiting.push(message)
    else record(message)
  })

  function record({ seq, at: stampedAt, body }: Message<'reading'>): void {
    const at = take(body, stampedAt)
    newest = { seq, faultAt: body.state === 'fault' ? at : null }
  }

  async function refill(): Promise<void> {
    const portions = lastHour({ log, timers, isOver: () => isOver }, windChannel)
    for await (const messages of portions)
      for (const message of messages) if (isKind(message, 'reading')) record(message)
  }

  const isFilled = refill()
    .catch(onFailure)
    .then(() => {
      for (const message of waiting ?? []) record(message)
      waiting = null
    })

  return {
    async anemogram() {
      await isFilled
      const { seq } = newest
      if (answer.seq !== seq) answer = { seq, json: JSON.stringify(anemogramOf(history, newest)) }
      return answer.json
    },
    stop() {
      isOver = true
      unfollow()
    },
  }
}
