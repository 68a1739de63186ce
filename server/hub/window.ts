// One open window, as the hub sees it: frames go in, bytes come out as fast as its transport takes them.

import type { Bye, ByeCode } from '../wire/frames.ts'
import type { Mode } from '../wire/modes.ts'
import type { Delivery, Framing } from './delivery.ts'
import { createQueue } from './queue.ts'

/** What a transport knows of a window, and the two things it can do for it. */
export interface Joining {
  readonly id: string
  /** Names the browser that the window is in, as the window says; null when it does not. */
  readonly browser: string | null
  readonly channels: ReadonlySet<string>
  /** The mode that is truly spoken. */
  readonly mode: Mode
  readonly framing: Framing
  /** Hands bytes to the connection. False: it is full, nothing more until `drained()`. */
  readonly write: (bytes: Buffer) => boolean
  /** Ends the stream in the transport's own way, after what was written. Called once at most. */
  readonly end: (bye: Bye) => void
}

export interface Window extends Joining {
  readonly send: (delivery: Delivery) => void
  /** The connection can take more. */
  readonly drained: () => void
  /** Lets what is newer than `head` flow; until then everything waits. */
  readonly release: (head: number) => void
  readonly close: (code: ByeCode, sentence: string, retryAfterMs: number) => void
  readonly backlogBytes: () => number
}

/** `onOverflow` is called when the queue is full: the window is to be closed with that reason. */
export function createWindow(
  joining: Joining,
  queueBytes: number,
  onOverflow: (window: Window) => void,
): Window {
  const queue = createQueue(joining.framing, queueBytes)
  let isBlocked = true
  let isClosed = false

  function flush(): void {
    while (!isBlocked && !isClosed) {
      const delivery = queue.shift()
      if (!delivery) return
      isBlocked = !joining.write(delivery.bytes(joining.framing))
    }
  }

  const window: Window = {
    ...joining,
    send(delivery) {
      if (isClosed) return
      if (!isBlocked) isBlocked = !joining.write(delivery.bytes(joining.framing))
      else if (!queue.push(delivery)) onOverflow(window)
    },
    drained() {
      isBlocked = false
      flush()
    },
    release(head) {
      // What was told while the log was being read is in the catch-up already.
      const waiting = Array.from({ length: queue.length() }, () => queue.shift())
      for (const delivery of waiting) {
        if (delivery && (delivery.seq === null || delivery.seq > head)) queue.push(delivery)
      }
      window.drained()
    },
    close(code, message, retryAfterMs) {
      if (isClosed) return
      isClosed = true
      joining.end({ type: 'bye', code, message, retryAfterMs })
    },
    backlogBytes: queue.bytes,
  }
  return window
}
