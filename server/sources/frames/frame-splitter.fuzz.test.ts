// A million damaged bytes: every unhurt frame arrives, and what arrives without having been sent is counted and bounded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type Random } from '../../wire/random.ts'
import { type DamageKind, damages } from './damages-testing.ts'
import { createFrameSplitter, type FrameSplitter } from './frame-splitter.ts'
import { below, drawFrames, oneOf } from './sensor-testing.ts'

const seed = 1405
const damagedBytes = 1_000_000

/**
 * `mayPass`: the share of a kind's damaged frames that an 8-bit XOR with exact widths must let through at most, and why.
 * `invented`: how many readings of this seed get through without having been sent.
 *
 * - oneBit, wrongByte, doubled: none. One byte that changes, or one more, changes the XOR.
 * - lost: none. A body has six fields, so no comma may go: what is lost without a trace empties one field, and that is
 *   three digits, `ddd.dd`, the same with a sign, or a polarity. Digits have 3 in their high nibble, the point and signs
 *   have 2: the nibbles of each of these have an XOR that is not 0.
 * - burst, added: 1 in 256. Whatever the other bytes of noise are, one value of the last makes the sum right at most. The
 *   widths ask for digits where digits were, which makes it far less.
 * - twoBits: 1 in 32. The first flip must leave a byte of the same kind: 12 of a polar frame's 24 are digits of body or
 *   sum, and 3 of a digit's 8 bits leave a digit, which is 0.19, and with the letters less than 1 in 4. The second must
 *   then hit that same bit of another byte: 1 in 8.
 * - stitched: 1 in 14. The first halves of both frames must have the same XOR without being the same. Digits are spread
 *   over 4 bits, unevenly: the squares of the shares of each XOR add up to 0.071 for two free digits and to less for more
 *   (1 in 16 if they were even). A single digit agrees only if it is the same.
 * - swapped: 6 in 22. XOR is blind to order, so what counts is how many neighbours are digits both: in a polar frame that
 *   ends with CR alone two pairs of the direction, three of the speed and the status, of 22 pairs; in others fewer. Pairs of
 *   like digits change nothing, which makes it half of that.
 */
const kinds: Readonly<Record<DamageKind, { readonly mayPass: number; readonly invented: number }>> = {
  oneBit: { mayPass: 0, invented: 0 },
  twoBits: { mayPass: 1 / 32, invented: 141 },
  wrongByte: { mayPass: 0, invented: 0 },
  burst: { mayPass: 1 / 256, invented: 0 },
  lost: { mayPass: 0, invented: 0 },
  added: { mayPass: 1 / 256, invented: 0 },
  doubled: { mayPass: 0, invented: 0 },
  swapped: { mayPass: 6 / 22, invented: 2544 },
  stitched: { mayPass: 1 / 14, invented: 193 },
}
const names = Object.keys(kinds) as DamageKind[]

test('a million damaged bytes cost no unhurt frame, and invent no more than the sum must let through', (t) => {
  const { invented, damagedFrames, refused } = fuzz(createSeededRandom(seed))
  t.diagnostic(`${damagedFrames} damaged frames of each kind, invented: ${JSON.stringify(invented)}`)
  t.diagnostic(`refused: ${JSON.stringify(refused)}`)
  for (const name of names) {
    assert.equal(invented[name], kinds[name].invented, name)
    assert.ok(invented[name] <= kinds[name].mayPass * damagedFrames, name)
  }
})

/** Each turn is a frame that arrives unhurt, and one of the same sensor that does not. */
function fuzz(random: Random) {
  const sensors = Array.from({ length: 300 }, () => drawFrames(40, random))
  const splitter = createFrameSplitter()
  const invented = Object.fromEntries(names.map((name) => [name, 0])) as Record<DamageKind, number>
  let damagedFrames = 0
  for (let hurt = 0; hurt < damagedBytes; damagedFrames++) {
    for (const kind of names) {
      const frames = oneOf(sensors, random)
      const [unhurt, hit, next] = [oneOf(frames, random), oneOf(frames, random), oneOf(frames, random)]
      const damaged = damages[kind](hit.bytes, random, next.bytes)
      hurt += damaged.hurt
      const [first, ...rest] = readAll(splitter, [...unhurt.bytes, ...damaged.bytes], random)
      assert.equal(first, unhurt.raw, `an unhurt frame before ${kind} was lost`)
      invented[kind] += rest.filter((raw) => raw !== hit.raw && raw !== next.raw).length
    }
  }
  return { invented, damagedFrames, refused: splitter.refused }
}

/** Arriving in two pieces. */
function readAll(splitter: FrameSplitter, wire: readonly number[], random: Random): string[] {
  const bytes = Uint8Array.from(wire)
  const seam = below(bytes.length, random)
  const splits = [...splitter.push(bytes.subarray(0, seam), 0), ...splitter.push(bytes.subarray(seam), 0)]
  return splits.flatMap((split) => (split.kind === 'frame' ? [split.reading.raw] : []))
}
