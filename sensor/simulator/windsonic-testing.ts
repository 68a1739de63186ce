// A simulated WindSonic on manual time, with a host that records its output, for tests.

import { createManualTime } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { createFrameSplitter } from '../frame-splitter.ts'
import type { FrameReading } from '../readings.ts'
import { WindSonic, type WindSonicOpening } from './windsonic.ts'

interface Heard {
  readonly text: string
  /** Ms since the start. */
  readonly at: number
}

/** By default a running sensor, on a port with a buffer of 16 bytes. */
export function plugIn(options: Partial<WindSonicOpening> = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const pieces: Heard[] = []
  let taken = 0
  const device = new WindSonic({
    timers: time,
    random: createSeededRandom(7),
    isPoweredUp: false,
    pieceBytes: 16,
    onBytes: (bytes) =>
      void pieces.push({ text: Buffer.from(bytes).toString('latin1'), at: time.now() - startAt }),
    ...options,
  })
  return {
    time,
    device,
    pieces,
    type: (text: string) => device.write(Buffer.from(text, 'latin1')),
    /** Advances time and returns what arrived since the last call. */
    hear(forMs: number): string {
      time.advance(forMs)
      const text = pieces.slice(taken).map((piece) => piece.text)
      taken = pieces.length
      return text.join('')
    },
  }
}

export function readingsIn(text: string): FrameReading[] {
  const splits = createFrameSplitter().push(Buffer.from(text, 'latin1'), 0)
  return splits.flatMap((split) => (split.kind === 'frame' ? [split.reading] : []))
}
