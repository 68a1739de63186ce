// Damages frames in the ways the field does, one way at a time.

import type { Random } from '../../wire/random.ts'
import { below } from './sensor-testing.ts'

/** What arrives instead of a frame, and how many bytes were changed, lost, added or moved. */
export interface Damaged {
  readonly bytes: readonly number[]
  readonly hurt: number
}

type Bytes = readonly number[]
/** Takes the frame that is hit; a stitched one goes on with the `next` of the same sensor. */
type Damage = (frame: Bytes, random: Random, next: Bytes) => Damaged

const noise = (random: Random, length: number) => Array.from({ length }, () => below(256, random))
const from2to12 = (random: Random) => 2 + below(11, random)
const at = (bytes: Bytes, place: number) => bytes[place] ?? 0

export const damages = {
  oneBit: (frame, random) => ({ bytes: flipped(frame, below(frame.length, random), random), hurt: 1 }),
  twoBits(frame, random) {
    const first = below(frame.length, random)
    const second = (first + 1 + below(frame.length - 1, random)) % frame.length
    return { bytes: flipped(flipped(frame, first, random), second, random), hurt: 2 }
  },
  wrongByte: (frame, random) => ({
    bytes: frame.with(below(frame.length, random), below(256, random)),
    hurt: 1,
  }),
  burst(frame, random) {
    const length = from2to12(random)
    const start = below(frame.length - length, random)
    return { bytes: frame.toSpliced(start, length, ...noise(random, length)), hurt: length }
  },
  lost(frame, random) {
    const length = 1 + below(12, random)
    return { bytes: frame.toSpliced(below(frame.length - length, random), length), hurt: length }
  },
  added(frame, random) {
    const length = 1 + below(12, random)
    return { bytes: frame.toSpliced(below(frame.length, random), 0, ...noise(random, length)), hurt: length }
  },
  doubled(frame, random) {
    const place = below(frame.length, random)
    return { bytes: frame.toSpliced(place, 0, at(frame, place)), hurt: 1 }
  },
  swapped(frame, random) {
    const place = below(frame.length - 1, random)
    return { bytes: frame.with(place, at(frame, place + 1)).with(place + 1, at(frame, place)), hurt: 2 }
  },
  /** Half the time the bytes lost between are just as many as a frame has. */
  stitched(frame, random, next) {
    const end = 1 + below(frame.length - 1, random)
    const start = random() < 0.5 ? Math.min(end, next.length) : below(next.length, random)
    return { bytes: [...frame.slice(0, end), ...next.slice(start)], hurt: frame.length - end + start }
  },
} satisfies Record<string, Damage>

export type DamageKind = keyof typeof damages

function flipped(frame: Bytes, place: number, random: Random): number[] {
  return frame.with(place, at(frame, place) ^ (1 << below(8, random)))
}
