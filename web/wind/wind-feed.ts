// Feeds what the sensor says to the anemograph and to what React sees, and puts what was before this window beneath it.

import { isKind, type Message } from '../../server/wire/envelope.ts'
import type { Timers } from '../../server/wire/time.ts'
import type { PastWind } from '../../server/wire/wind/anemogram.ts'
import { type Anemograph, createAnemograph } from '../../server/wire/wind/anemograph.ts'
import { retake } from '../../server/wire/wind/retake.ts'
import { joinTraces, traceOf } from '../../server/wire/wind/trace.ts'
import type { Store } from '../store/store.ts'

export interface WindFeed {
  /** Takes every message; `dueAt` as the link tells it: this window's clock, ms since the epoch. */
  readonly take: (message: Message, dueAt: number) => void
  /** In the time of the readings' own stamps, which are the server's, as `takenAt` in the store is. */
  readonly history: Anemograph['history']
  /**
   * Asks for what was before, and puts it beneath what comes meanwhile. False where there was no answer, or none for the
   * log that is read by then: all stays as it was. Asked again meanwhile, the first answer is of no account.
   */
  readonly lookBack: (ask: () => Promise<PastWind>) => Promise<boolean>
  /** The log is another than before: its numbers begin anew. */
  readonly newLog: () => void
}

/** An anemograph is given so many marks in one turn: the page does not stutter. */
const marksEachTurn = 100

/** A reading that comes twice, as the newest of a snapshot does, counts once: it has the same id. */
export function createWindFeed(store: Store, timers: Timers): WindFeed {
  let anemograph = createAnemograph()
  let newestId: string | null = null
  /** Up to this place in the log every reading is in the anemograph, whether or not it has come here yet. */
  let pastSeq = 0
  /** What came since the question. */
  let held: Message<'reading'>[] | null = null

  function takeReading(message: Message<'reading'>, dueAt: number): void {
    const { wind } = store.view()
    newestId = message.id
    held?.push(message)
    const isPast = message.seq <= pastSeq && wind.takenAt !== null
    const takenAt = isPast ? wind.takenAt : anemograph.take(message.body, message.at)
    const figures = anemograph.figures(takenAt)
    store.change({ wind: { ...wind, reading: message.body, receivedAt: dueAt, takenAt, figures } })
  }

  /** In turns, while what comes goes on as before; null where there is nothing to put beneath it. */
  async function rebuilt({ trace, faultAt }: PastWind): Promise<Rebuilt | null> {
    const { seconds, full } = traceOf(anemograph.history)
    const joined = joinTraces([...seconds, ...full], trace)
    const next = createAnemograph()
    const steps = retake(next, joined, faultAt)
    for (let done = 1; ; done += 1) {
      const step = steps.next()
      if (step.done) return step.value === null ? null : { next, newestAt: step.value }
      if (done % marksEachTurn === 0) await new Promise<void>((resolve) => timers.later(resolve, 0))
    }
  }

  function replace({ next, newestAt }: Rebuilt, seq: number, since: readonly Message<'reading'>[]): void {
    let takenAt = newestAt
    for (const message of since) if (message.seq > seq) takenAt = next.take(message.body, message.at)
    anemograph = next
    pastSeq = seq
    store.change({ wind: { ...store.view().wind, takenAt, figures: next.figures(takenAt) } })
  }

  return {
    take(message, dueAt) {
      if (isKind(message, 'sensor')) store.change({ wind: { ...store.view().wind, sensor: message.body } })
      else if (isKind(message, 'reading') && message.id !== newestId) takeReading(message, dueAt)
    },
    history: {
      since: (at, isFull) => anemograph.history.since(at, isFull),
      oldestAt: () => anemograph.history.oldestAt(),
    },
    async lookBack(ask) {
      const mine: Message<'reading'>[] = []
      held = mine
      const past = await ask().catch(() => null)
      const found = past && past.trace.length > 0 ? await rebuilt(past) : null
      if (held !== mine) return false
      held = null
      if (past && found) replace(found, past.seq, mine)
      return past !== null
    },
    newLog() {
      pastSeq = 0
      held = null
    },
  }
}

interface Rebuilt {
  readonly next: Anemograph
  readonly newestAt: number
}
