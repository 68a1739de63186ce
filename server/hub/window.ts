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

export interface Window extends Pick<Joining, 'id' | 'browser' | 'channels' | 'mode'> {
  readonly send: (delivery: Delivery) => void
  /** The connection can take more. */
  readonly drained: () => void
  /** Lets it flow: first what it missed, then what was sent meanwhile and is newer than `head`. Until then everything waits. */
  readonly begin: (missed: readonly Delivery[], head: number) => void
  readonly close: (code: ByeCode, sentence: string, retryAfterMs: number) => void
  readonly backlogBytes: () => number
}

export interface WindowEvents {
  /** The queue is full: the window is to be closed with that reason. */
  readonly onOverflow: (window: Window) => void
  /** Its connection threw: the window is to be closed, and no other is to notice. */
  readonly onFailure: (window: Window, error: unknown) => void
}

/** The queue holds `queueBytes`; what the window missed comes on top of it, encoded only as the connection takes it. */
export function createWindow(joining: Joining, queueBytes: number, on: WindowEvents): Window {
  const { id, browser, channels, mode, framing } = joining
  const queue = createQueue(framing, queueBytes)
  let missed: Delivery[] = []
  let hasBegun = false
  let isFull = false
  let isClosed = false

  const isFlowing = () => hasBegun && !isFull && !isClosed

  function write(delivery: Delivery): void {
    attempt(() => {
      isFull = !joining.write(delivery.bytes(framing))
    })
  }

  function flush(): void {
    while (isFlowing()) {
      const delivery = missed.shift() ?? queue.shift()
      if (!delivery) return
      write(delivery)
    }
  }

  function attempt(act: () => void): void {
    try {
      act()
    } catch (error) {
      on.onFailure(window, error)
    }
  }

  const window: Window = {
    id,
    browser,
    channels,
    mode,
    send(delivery) {
      if (isClosed) return
      if (isFlowing()) write(delivery)
      else if (!queue.push(delivery)) on.onOverflow(window)
    },
    drained() {
      isFull = false
      flush()
    },
    begin(deliveries, head) {
      missed = [...deliveries]
      // What was told while the log was being read is in the catch-up already.
      const waiting = Array.from({ length: queue.length() }, () => queue.shift())
      for (const delivery of waiting) {
        if (delivery && (delivery.seq === null || delivery.seq > head)) queue.push(delivery)
      }
      hasBegun = true
      flush()
    },
    close(code, message, retryAfterMs) {
      if (isClosed) return
      isClosed = true
      attempt(() => joining.end({ type: 'bye', code, message, retryAfterMs }))
    },
    backlogBytes: queue.bytes,
  }
  return window
}
