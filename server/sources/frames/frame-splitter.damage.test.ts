// Damages some 200,000 bytes in the ways the field does, and counts what gets through that was never sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type Random } from '../../wire/random.ts'
import { createFrameSplitter } from './frame-splitter.ts'
import { formatFrame } from './windsonic-frame.ts'

type Damage = (frame: number[], next: number[], random: Random) => number[]

const below = (random: Random, end: number) => Math.floor(random() * end)
const noise = (random: Random, length: number) => Array.from({ length }, () => below(random, 256))

/** Each takes a frame's bytes and gives what arrives instead. Stitching eats into the next frame as well. */
const damages = {
  bitFlip(frame, _next, random) {
    const at = below(random, 22)
    return frame.with(at, (frame[at] ?? 0) ^ (1 << below(random, 8)))
  },
  wrongByte: (frame, _next, random) => frame.with(below(random, 22), below(random, 256)),
  lostBytes: (frame, _next, random) => frame.toSpliced(below(random, 22), 1 + below(random, 12)),
  extraBytes: (frame, _next, random) =>
    frame.toSpliced(below(random, 22), 0, ...noise(random, 1 + below(random, 12))),
  burst(frame, _next, random) {
    const length = 3 + below(random, 12)
    return frame.toSpliced(below(random, 22 - length), length, ...noise(random, length))
  },
  stitch(frame, next, random) {
    const seam = 1 + below(random, 21)
    return [...frame.slice(0, seam), ...next.slice(seam)]
  },
  swap(frame, _next, random) {
    const at = 1 + below(random, 17)
    return frame.with(at, frame[at + 1] ?? 0).with(at + 1, frame[at] ?? 0)
  },
} satisfies Record<string, Damage>

function anyFrame(random: Random): number[] {
  const speed = below(random, 2500) / 100
  const directionDegrees = below(random, 360)
  return [...formatFrame({ node: 'Q', directionDegrees, speed, unit: 'M', status: '00' })]
}

const bodyOf = (frame: readonly number[]) => Buffer.from(frame.slice(1, 19)).toString('latin1')

/** Whole and damaged frames take turns; a stitched frame's second half counts as sent, should it arrive as one. */
function run(damage: Damage, seed: number, bytesWanted: number) {
  const random = createSeededRandom(seed)
  const wire: number[] = []
  const sent = new Set<string>()
  const unhurt: string[] = []
  let damaged = 0
  while (wire.length < bytesWanted) {
    const [whole, hit, next] = [anyFrame(random), anyFrame(random), anyFrame(random)]
    for (const frame of [whole, hit, next]) sent.add(bodyOf(frame))
    wire.push(...whole, ...damage(hit, next, random))
    unhurt.push(bodyOf(whole))
    damaged += 1
  }
  return { wire: Uint8Array.from(wire), sent, unhurt, damaged, random }
}

function readAll(wire: Uint8Array, random: Random): string[] {
  const splitter = createFrameSplitter()
  const raws: string[] = []
  for (let i = 0; i < wire.length; ) {
    const piece = wire.subarray(i, i + 1 + below(random, 40))
    for (const split of splitter.push(piece, i)) if (split.kind === 'frame') raws.push(split.reading.raw)
    i += piece.length
  }
  return raws
}

/**
 * Readings that were never sent, of about 600 damaged frames a kind. Single errors: none, as XOR promises. The rest is
 * what XOR lets through by its nature: halves that agree in their sum, and any two digits that changed places.
 */
const invented: Readonly<Record<keyof typeof damages, number>> = {
  bitFlip: 0,
  wrongByte: 0,
  lostBytes: 0,
  extraBytes: 0,
  burst: 0,
  stitch: 20,
  swap: 111,
}

for (const [index, kind] of (Object.keys(damages) as Array<keyof typeof damages>).entries()) {
  test(`${kind}: every unhurt frame arrives, and ${invented[kind]} readings are invented`, (t) => {
    const { wire, sent, unhurt, damaged, random } = run(damages[kind], 1405 + index, 29_000)
    const raws = readAll(wire, random)
    const strangers = raws.filter((raw) => !sent.has(raw))
    t.diagnostic(`${kind}: ${wire.length} bytes, ${damaged} damaged frames, ${strangers.length} invented`)
    let reached = 0
    for (const raw of raws) if (raw === unhurt[reached]) reached += 1
    assert.equal(reached, unhurt.length)
    assert.equal(strangers.length, invented[kind])
  })
}
