// What the tests of the simulated WindSonic share: one on manual time, with a host that writes down what it hears.

import { createManualTime } from '../../wire/manual-time.ts'
import { createSeededRandom } from '../../wire/random.ts'
import { createFrameSplitter } from '../frames/frame-splitter.ts'
import type { FrameReading } from '../frames/windsonic-frame.ts'
import { createWindSonic, type DeviceOpening } from './windsonic.ts'

export interface Heard {
  readonly text: string
  /** Ms since the start. */
  readonly at: number
}

/** A sensor that has been running, on a port with a buffer of 16 bytes, unless told. */
export function plugIn(options: Partial<DeviceOpening> = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const pieces: Heard[] = []
  let taken = 0
  const device = createWindSonic({
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
    /** What came since this was called last, as long as it takes. */
    hear(forMs: number): string {
      time.advance(forMs)
      const text = pieces.slice(taken).map((piece) => piece.text)
      taken = pieces.length
      return text.join('')
    },
  }
}

/** Every reading in what was heard. */
export function readingsIn(text: string): FrameReading[] {
  const splits = createFrameSplitter().push(Buffer.from(text, 'latin1'), 0)
  return splits.flatMap((split) => (split.kind === 'frame' ? [split.reading] : []))
}
