// The lab's access to a page opened with `?record`: message timestamps and `window.crosswind`.

import { probesChannel } from '../app/shared/page-messages.ts'
import type { Bodies, Draft, Message } from '../protocol/messages.ts'
import type { Clock } from '../protocol/time.ts'
import type { Store } from './store.ts'

export interface SentStamp {
  id: string
  readonly sentAt: number
  inputAt: number | null
  /** Size of the message as JSON, UTF-8: over XHR, the body of the request. */
  bytes: number
  /** Part of `bytes`: the message's `body`. */
  bodyBytes: number
}

export interface ReceivedStamp extends Pick<Message, 'id' | 'kind' | 'seq' | 'acceptedAt'> {
  readonly receivedAt: number
  appliedAt: number | null
  paintedAt: number | null
  /** Size of the message as JSON, UTF-8, without the transport's framing. */
  bytes: number
  /** Part of `bytes`: the message's `body`. */
  bodyBytes: number
}

export type Recorder = ReturnType<typeof createRecorder>

/** Stamps by this window's clock. `afterPaint` runs a function after the next paint. */
export function createRecorder(now: Clock, afterPaint = createAfterPaint()) {
  const sent: SentStamp[] = []
  const received: ReceivedStamp[] = []
  /** Measured on request: measuring would cost time while a message is timed. */
  let unmeasured: { readonly stamp: SentStamp | ReceivedStamp; readonly message: Draft }[] = []
  return {
    /** Called again for each update that is merged into the newest one. */
    sent(message: Draft, inputAt: number | null): void {
      const newest = sent.at(-1)
      if (newest?.id === message.id) {
        newest.inputAt ??= inputAt
        return
      }
      const stamp = { id: message.id, sentAt: message.at, inputAt, bytes: 0, bodyBytes: 0 }
      sent.push(stamp)
      unmeasured.push({ stamp, message })
    },
    /** `draft` replaces it. */
    renamed(id: string, draft: Draft): void {
      const stamp = sent.find((stamp) => stamp.id === id)
      if (!stamp) return
      stamp.id = draft.id
      unmeasured.push({ stamp, message: draft })
    },
    received(message: Message, receivedAt: number): void {
      const { id, kind, seq, acceptedAt } = message
      const stamp = {
        id,
        kind,
        seq,
        acceptedAt,
        receivedAt,
        appliedAt: null,
        paintedAt: null,
        bytes: 0,
        bodyBytes: 0,
      }
      received.push(stamp)
      unmeasured.push({ stamp, message })
    },
    applied(message: Message): void {
      const stamp = received.findLast(({ id }) => id === message.id)
      if (!stamp) return
      stamp.appliedAt = now()
      afterPaint(() => {
        stamp.paintedAt = now()
      })
    },
    take() {
      for (const { stamp, message } of unmeasured) {
        stamp.bytes = bytesOf(message)
        stamp.bodyBytes = bytesOf(message.body)
      }
      unmeasured = []
      return { sent, received }
    },
  }
}

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value)).length

/** In an animation frame, a message port's task runs after the paint. */
function createAfterPaint(): (run: () => void) => void {
  const { port1, port2 } = new MessageChannel()
  let waiting: (() => void)[] = []
  port1.onmessage = () => {
    const due = waiting
    waiting = []
    for (const run of due) run()
  }
  return (run) => {
    if (waiting.push(run) === 1) port2.postMessage(null)
  }
}

export type LabDoor = ReturnType<typeof createLabDoor>

declare global {
  interface Window {
    crosswind?: LabDoor
  }
}

/** Part of the page's connection that the lab uses. */
interface Publisher {
  readonly publish: (channel: string, kind: 'probe', body: Bodies['probe']) => Draft | null
  readonly rest: () => void
}

export function createLabDoor(
  store: Store,
  recorder: Recorder,
  switchMode: (name: string) => void,
  session: Publisher,
) {
  return {
    view: store.view,
    take: recorder.take,
    /** Offset from window to server time, and its error bound. */
    clock: () => store.view().link.clock,
    switchMode,
    /**
     * Publishes a probe with a text of this many bytes; false if the outbox has no room. With
     * `?record&probes` only.
     */
    probe(bytes: number): boolean {
      const draft = session.publish(probesChannel, 'probe', { text: 'x'.repeat(bytes) })
      if (draft) recorder.sent(draft, null)
      return draft !== null
    },
    /** Stops the exchanges that compare the clocks, for a count of what a message alone sends. */
    restClock: () => session.rest(),
    /** Overrides part of the view until its next real change. */
    show: store.change,
  }
}
