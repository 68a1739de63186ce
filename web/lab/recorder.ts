// Stamps what passes through this window, for the lab; asked for with `?record`, otherwise it costs nothing.

import type { Draft, Kind, Message } from '../../server/wire/envelope.ts'
import type { Clock } from '../../server/wire/time.ts'

export interface SentStamp {
  readonly id: string
  readonly sentAt: number
  readonly inputAt: number | null
}

export interface ReceivedStamp {
  readonly id: string
  readonly kind: Kind
  readonly seq: number
  readonly acceptedAt: number
  readonly receivedAt: number
  appliedAt: number | null
  paintedAt: number | null
}

export interface Recorder {
  readonly sent: (draft: Draft, inputAt: number | null) => void
  readonly received: (message: Message, receivedAt: number) => void
  /** The message's content is in the document. */
  readonly applied: (message: Message) => void
  /** All so far, in the order in which it happened. */
  readonly take: () => { sent: SentStamp[]; received: ReceivedStamp[] }
}

export const noRecorder: Recorder = {
  sent: () => undefined,
  received: () => undefined,
  applied: () => undefined,
  take: () => ({ sent: [], received: [] }),
}

/**
 * Times are the window's own; the lab sets the windows' clocks against each other. `afterPaint` runs something once what
 * is in the document now has been painted.
 */
export function createRecorder(now: Clock, afterPaint = afterThisFrame): Recorder {
  const sent: SentStamp[] = []
  const received: ReceivedStamp[] = []
  return {
    sent: ({ id, at }, inputAt) => void sent.push({ id, sentAt: at, inputAt }),
    received({ id, kind, seq, acceptedAt }, receivedAt) {
      received.push({ id, kind, seq, acceptedAt, receivedAt, appliedAt: null, paintedAt: null })
    },
    applied(message) {
      const stamp = received.findLast(({ id }) => id === message.id)
      if (!stamp) return
      stamp.appliedAt = now()
      afterPaint(() => {
        stamp.paintedAt = now()
      })
    },
    take: () => ({ sent, received }),
  }
}

/** Called within an animation frame, as what is shown is: a message port's task comes after that frame's paint. */
function afterThisFrame(run: () => void): void {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = run
  port2.postMessage(null)
}
