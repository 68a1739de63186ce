// Hands bytes over as fast as a serial line carries them, and no faster.

import { nothingPlanned, type Timers } from '../../../wire/time.ts'

export interface UartOpening {
  readonly timers: Timers
  /** How many bytes a host gets at once: the 16 of a 16550's buffer, or more. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

export interface Uart {
  /**
   * The message takes `durationMs` and has left at `endAt`, ms of the timers' clock, which may be past or up to
   * `longestAheadMs` away, or as soon after as the line is free. Where too much waits already, as a sensor's small memory
   * has it, it is lost whole.
   */
  send(message: Uint8Array, endAt: number, durationMs: number): void
  /** When what was sent has left, ms of the timers' clock; not before now. */
  freeAt(): number
  stop(): void
}

interface Piece {
  readonly bytes: Uint8Array
  readonly dueAt: number
  readonly durationMs: number
}

/** More than the longest frame takes at 2400 baud with parity. */
export const longestAheadMs = 150
const memoryBytes = 4096

/**
 * A piece is handed over when its last byte would have left the line. In pieces, not bytes, because that is what a host
 * sees of real ports, whose hardware gathers bytes before it interrupts, and because a frame then costs two timers in
 * place of 24. What falls due while the process is busy comes at once afterwards, piece by piece.
 */
export function createUart({ timers, pieceBytes, onBytes }: UartOpening): Uart {
  const queue: Piece[] = []
  let cancel = nothingPlanned

  /** Where the clock was set back, what waits is as late as it can have been sent ahead, and no later. */
  function freeAt(): number {
    const queuedMs = queue.reduce((sum, { durationMs }) => sum + durationMs, 0)
    return Math.min(queue.at(-1)?.dueAt ?? Number.NEGATIVE_INFINITY, timers.now() + queuedMs + longestAheadMs)
  }

  function plan(): void {
    cancel()
    const [next] = queue
    if (!next) return
    const waitMs = Math.min(next.dueAt - timers.now(), next.durationMs + longestAheadMs)
    cancel = timers.later(handOver, Math.max(0, waitMs))
  }

  function handOver(): void {
    do {
      const piece = queue.shift()
      if (piece) onBytes(piece.bytes)
    } while (queue[0] && queue[0].dueAt <= timers.now())
    plan()
  }

  return {
    send(message, endAt, durationMs) {
      const waiting = queue.reduce((sum, { bytes }) => sum + bytes.length, 0)
      if (waiting + message.length > memoryBytes) return
      const latestAt = timers.now() + durationMs + longestAheadMs
      const leftAt = Math.max(Math.min(endAt, latestAt), freeAt() + durationMs)
      queue.push(...cutUp(message, pieceBytes, leftAt, durationMs))
      plan()
    },
    freeAt: () => Math.max(timers.now(), freeAt()),
    stop() {
      cancel()
      queue.length = 0
    },
  }
}

function cutUp(message: Uint8Array, pieceBytes: number, endAt: number, durationMs: number): Piece[] {
  const byteMs = durationMs / message.length
  const pieces: Piece[] = []
  for (let from = 0; from < message.length; from += pieceBytes) {
    const bytes = message.subarray(from, from + pieceBytes)
    const left = message.length - from - bytes.length
    pieces.push({ bytes, dueAt: endAt - left * byteMs, durationMs: bytes.length * byteMs })
  }
  return pieces
}
