// Checks what each trouble does to what a host hears, and that it can be had again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../wire/random.ts'
import { createFrameSplitter } from '../frames/frame-splitter.ts'
import type { Noise } from './line/damage.ts'
import { readTrouble } from './troubles.ts'
import { plugIn, readingsIn } from './windsonic-testing.ts'

/** 88 s at 4 Hz, with one trouble from second 40 on: before it, while it lasts, after it. */
function suffer(trouble: string) {
  const { hear, pieces } = plugIn({ configuration: 'P3', troubles: [readTrouble(trouble)] })
  const [before, meanwhile, after] = [hear(39_990), hear(8000), hear(40_010)]
  assert.equal(readingsIn(before).length, 159)
  assert.ok(readingsIn(after).length >= 160)
  return { before, meanwhile, after, pieces }
}

test('a blocked axis: frames go on, with its status and without a value', () => {
  for (const [kind, status] of [
    ['blocked-u', '01'],
    ['blocked-v', '02'],
    ['blocked', '04'],
  ]) {
    const readings = readingsIn(suffer(`${kind}@40+8`).meanwhile)
    assert.equal(readings.length, 32)
    assert.ok(readings.every((reading) => reading.state === 'fault' && reading.status === status))
  }
})

test('silence: nothing comes, and nothing is made up for', () => {
  const { meanwhile, after } = suffer('silence@40+8')
  assert.equal(meanwhile, '')
  assert.equal(readingsIn(after).length, 161)
})

test('stall: nothing comes, then all of it at once', () => {
  const { meanwhile, after, pieces } = suffer('stall@40+8')
  assert.equal(readingsIn(meanwhile).length, 0)
  assert.equal(readingsIn(meanwhile + after).length, 32 + 161)
  const backlog = pieces.find(({ text }) => text.length > 16)
  assert.equal(readingsIn(String(backlog?.text)).length, 31, 'the first had begun to come')
  assert.ok(Math.abs(Number(backlog?.at) - 48_000) < 1)
})

test('cut, shifted, flipped, wrong baud rate: bytes come, hardly a reading', () => {
  for (const kind of ['cut', 'shifted', 'flipped', 'wrong-baud']) {
    const { meanwhile } = suffer(`${kind}@40+8`)
    assert.ok(meanwhile.length > 100, kind)
    assert.ok(readingsIn(meanwhile).length <= 5, `${readingsIn(meanwhile).length} readings when ${kind}`)
  }
})

test('a wrong baud rate has no reading at all, and takes no longer', () => {
  const { meanwhile, pieces } = suffer('wrong-baud@40+8')
  assert.equal(readingsIn(meanwhile).length, 0)
  const garbage = pieces.filter(({ at }) => at > 40_000 && at < 48_000)
  assert.ok(garbage.length > 32 * 3)
  assert.ok(
    garbage.every(({ at }) => at % 250 === 0 || at % 250 > 225),
    'it comes in the 25 ms of the frame',
  )
})

function noisy(noise: Noise, seed: number, configuration = 'P3') {
  return plugIn({ configuration, noise, random: createSeededRandom(seed) }).hear(600_000)
}

test('noise hits the share that it is told to, and frees the next frame', () => {
  for (const noise of [{ cut: 0.1 }, { shifted: 0.1 }, { flipped: 0.1 }]) {
    const good = readingsIn(noisy(noise, 3)).length
    assert.ok(Math.abs(good / 2400 - 0.9) < 0.025, `${JSON.stringify(noise)}: ${good}`)
  }
})

test('the same seed makes the same noise, and noise changes no wind', () => {
  const noise = { cut: 0.02, shifted: 0.02, flipped: 0.02 }
  assert.equal(noisy(noise, 5), noisy(noise, 5))
  assert.notEqual(noisy(noise, 5), noisy(noise, 6))
  const clean = new Set(readingsIn(noisy({}, 5)).map(({ raw }) => raw))
  const heard = readingsIn(noisy(noise, 5))
  const strangers = heard.filter(({ raw }) => !clean.has(raw))
  assert.ok(strangers.length <= 2, `${strangers.length} readings were not sent`)
})

test('answers in configuration mode suffer too', () => {
  const { type, hear } = plugIn({ troubles: [readTrouble('silence@0+10')] })
  type('*')
  assert.equal(hear(1000), '')
})

test('the reader of frames holds its own against all of it', () => {
  const splitter = createFrameSplitter()
  const text = noisy({ cut: 0.1, shifted: 0.1, flipped: 0.1 }, 8)
  const splits = splitter.push(Buffer.from(text, 'latin1'), 0)
  const good = splits.filter(({ kind }) => kind === 'frame').length
  assert.ok(good / 2400 > 0.68 && good / 2400 < 0.8, `${good}`)
  assert.ok(splitter.refused.checksum > 20)
})
