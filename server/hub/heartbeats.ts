// Sends heartbeats to streams, and ends those whose client is silent or whose session has expired.

import { repeat, type Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { Log } from '../log/log.ts'
import { type Awareness, hiddenAfterMs } from './awareness.ts'
import { Delivery } from './delivery.ts'
import { type Client, clientKey, type Registry } from './registry.ts'
import type { Subscriber } from './subscriber.ts'
import type { VolatileMessages } from './volatile.ts'

interface HeartbeatParts {
  readonly timers: Timers
  readonly heartbeatMs: number
  readonly registry: Registry
  readonly awareness: Awareness
  readonly volatile: Pick<VolatileMessages, 'forgetOld'>
  readonly log: Pick<Log, 'heads'>
}

/** Spreads the streams over this many turns: 10,000 heartbeats at once would delay messages. */
const turnsPerBeat = 16

/**
 * Heartbeat intervals without a sign of life before a client counts as silent: two heartbeats may
 * be late.
 */
export const beatsMissed = 2.5

export class Heartbeats {
  readonly #parts: HeartbeatParts
  readonly stop: () => void
  #beginners = 0

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
    const { timers, heartbeatMs } = parts
    this.stop = repeat(timers, () => this.#takeTurn(), heartbeatMs / turnsPerBeat)
  }

  #takeTurn(): void {
    const { timers, registry, awareness, volatile, heartbeatMs } = this.#parts
    const now = timers.now()
    const encoded = new Map<number, Delivery>()
    for (const client of [...registry.all()]) {
      if (client.stream) this.#attend(client, client.stream, encoded)
      // It may have crashed.
      else if (now - Math.max(client.heardAt ?? 0, client.quietUntil ?? 0) > hiddenAfterMs)
        awareness.silent(clientKey(client.identity))
    }
    registry.forgetSilent(heartbeatMs * beatsMissed)
    awareness.removeLeft(now - hiddenAfterMs)
    awareness.forgetBefore(now - heartbeatMs * beatsMissed)
    volatile.forgetOld()
  }

  #attend(client: Client, stream: Subscriber, encoded: Map<number, Delivery>): void {
    const { timers, heartbeatMs, log } = this.#parts
    const now = timers.now()
    const { heardAt } = client
    const { expiresAt, channels } = stream.identity
    if (expiresAt !== null && expiresAt <= now)
      stream.dismiss('expired', 'The session has expired; renew it.')
    else if (heardAt !== null && now - heardAt > heartbeatMs * beatsMissed)
      stream.dismiss('silent', 'This window was silent for too long.')
    else if (this.#isDue(client, now)) {
      const heads = log.heads()
      let newest = 0
      for (const channel of channels) newest = Math.max(newest, heads.get(channel) ?? 0)
      stream.offer(upsert(encoded, newest, () => new Delivery({ type: 'heartbeat', newest, at: now })))
    }
  }

  #isDue(client: Client, now: number): boolean {
    const { heartbeatMs } = this.#parts
    // Half a turn of tolerance, so that an early timer does not cost a whole turn.
    const restMs = (heartbeatMs * (turnsPerBeat - 1.5)) / turnsPerBeat
    let lastAt = client.beatAt
    if (lastAt === null) {
      // Staggers first heartbeats: after a restart all clients join at once.
      this.#beginners += 1
      lastAt = now - ((this.#beginners % (turnsPerBeat - 1)) * heartbeatMs) / turnsPerBeat
    }
    const isDue = now - lastAt >= restMs
    client.beatAt = isDue ? now : lastAt
    return isDue
  }
}
