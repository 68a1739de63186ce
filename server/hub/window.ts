// One open window, as the hub sees it: frames go in, bytes come out as fast as its transport takes them.

import type { Bye, ByeCode } from '../wire/frames.ts'
import type { Mode } from '../wire/modes.ts'
import type { Delivery, Framing } from './delivery.ts'
import { createQueue } from './queue.ts'

/** Who asks to be told of what, over a stream or by polling. */
export interface Visitor {
  readonly id: string
  /** Names the browser that the window is in, as the window says; null when it does not. */
  readonly browser: string | null
  readonly channels: ReadonlySet<string>
  /** The mode that is truly spoken. */
  readonly mode: Mode
  /** Counts the window's openings: a stream takes the place of an older one of the same window, never of a newer one. */
  readonly opening: number
}

/** What a transport knows of a window, and the two things it can do for it. */
export interface Joining extends Visitor {
  /** When its session ends, ms since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly framing: Framing
  /** Hands bytes to the connection. False: it is full, nothing more until `drained()`. */
  readonly write: (bytes: Buffer) => boolean
  /** Ends the stream in the transport's own way, after what was written. Called once at most. */
  readonly end: (bye: Bye) => void
}

export interface Window extends Visitor {
  readonly expiresAt: number | null
  readonly send: (delivery: Delivery) => void
  /** A sign of life: left out while other bytes wait, for they are one too. */
  readonly beat: (delivery: Delivery) => void
  /** The connection can take more. */
  readonly drained: () => void
  /** A part of what it missed; resolves when the connection has taken it, or when the window is closed. */
  readonly replay: (missed: readonly Delivery[]) => Promise<void>
  /** Lets it flow: what was sent meanwhile and is newer than `head`, then what comes. */
  readonly begin: (head: number) => void
  readonly close: (code: ByeCode, sentence: string, retryAfterMs: number) => void
  /** Its connection has ended by itself: there is nobody to say anything to any more. */
  readonly gone: () => void
  readonly isClosed: () => boolean
  /** Bytes that wait here for the connection, and readings that were left out. */
  readonly backlogBytes: () => number
  readonly dropped: () => number
}

export interface WindowEvents {
  /** The queue is full: the window is to be closed with that reason. */
  readonly onOverflow: (window: Window) => void
  /** Its connection threw: the window is to be closed, and no other is to notice. */
  readonly onFailure: (window: Window, error: unknown) => void
}

/** The queue holds `queueBytes`; what the window missed comes on top of it, a part at a time. */
export function createWindow(joining: Joining, queueBytes: number, on: WindowEvents): Window {
  const { id, browser, channels, mode, opening, expiresAt, framing } = joining
  const queue = createQueue(framing, queueBytes)
  let missed: readonly Delivery[] = []
  let missedTaken = 0
  let replayed: (() => void) | null = null
  let hasBegun = false
  let isFull = false
  let isClosed = false

  const isFlowing = () => hasBegun && !isFull && !isClosed

  function write(delivery: Delivery): void {
    try {
      isFull = !joining.write(delivery.bytes(framing))
    } catch (error) {
      on.onFailure(window, error)
    }
  }

  function replayOn(): void {
    for (; missedTaken < missed.length && !isFull && !isClosed; missedTaken += 1) {
      const delivery = missed[missedTaken]
      if (delivery) write(delivery)
    }
    if (isClosed || (missedTaken === missed.length && !isFull)) endReplay()
  }

  function endReplay(): void {
    missed = []
    const resolve = replayed
    replayed = null
    resolve?.()
  }

  function end(): void {
    isClosed = true
    endReplay()
  }

  function flush(): void {
    if (replayed) replayOn()
    while (isFlowing()) {
      const delivery = queue.shift()
      if (!delivery) return
      write(delivery)
    }
  }

  const window: Window = {
    id,
    browser,
    channels,
    mode,
    opening,
    expiresAt,
    send(delivery) {
      if (isClosed) return
      if (isFlowing()) write(delivery)
      else if (!queue.push(delivery)) on.onOverflow(window)
    },
    beat(delivery) {
      if (isFlowing()) write(delivery)
    },
    drained() {
      isFull = false
      flush()
    },
    replay(deliveries) {
      missed = deliveries
      missedTaken = 0
      return new Promise((resolve) => {
        replayed = resolve
        replayOn()
      })
    },
    begin(head) {
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
      end()
      try {
        joining.end({ type: 'bye', code, message, retryAfterMs })
      } catch (error) {
        on.onFailure(window, error)
      }
    },
    gone: end,
    isClosed: () => isClosed,
    backlogBytes: queue.bytes,
    dropped: queue.dropped,
  }
  return window
}
