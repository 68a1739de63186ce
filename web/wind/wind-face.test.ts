// What the wind panel shows in each state: calm has no direction, a fault has no number.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadingBody, SensorBody } from '../../server/wire/reading.ts'
import type { WindView } from '../store/store.ts'
import { firstChoices, type UnitChoice } from './choices.ts'
import { windFace } from './wind-face.ts'

const measured: ReadingBody = {
  source: 'serial',
  format: 'polar',
  raw: 'Q,229,002.74,M,00,',
  axes: null,
  node: 'Q',
  state: 'measured',
  directionDegrees: 229,
  speed: 2.74,
  unit: 'M',
  speedMetresPerSecond: 2.74,
  status: '00',
}
const unplugged: SensorBody = { source: 'serial', state: 'unplugged', sentence: 'The cable is out.' }

function faceOf(change: Partial<ReadingBody>, now = 1000, unit: UnitChoice = 'sent') {
  const choices = { ...firstChoices, unit }
  return windFace({ reading: { ...measured, ...change }, receivedAt: 1000, sensor: null, choices }, now)
}

function faceWith(change: Partial<WindView>, now = 1000) {
  return windFace(
    { reading: measured, receivedAt: 1000, sensor: null, choices: firstChoices, ...change },
    now,
  )
}

test('a measured wind has a speed and comes from somewhere', () => {
  const face = faceOf({})
  assert.equal(face.speed?.number, '2.7')
  assert.equal(face.directionDegrees, 229)
  assert.equal(face.directionWords, 'from the south-west')
  assert.equal(face.trouble, null)
  assert.equal(face.isStale, false)
})

test('it is shown as sent, or in the unit that the reader chose', () => {
  const knots = { unit: 'N', speed: 5.33 } as const
  assert.deepEqual(faceOf(knots).speed, { number: '5.3', unit: 'kn', spokenUnit: 'knots' })
  assert.equal(faceOf(knots, 1000, 'K').speed?.number, '9.9')
  assert.equal(faceOf(knots, 1000, 'K').unit, 'K')
})

test('calm comes from nowhere', () => {
  const face = faceOf({ state: 'calm', directionDegrees: null, speed: 0.02, speedMetresPerSecond: 0.02 })
  assert.equal(face.word, 'Calm')
  assert.equal(face.directionDegrees, null)
  assert.doesNotMatch(face.directionWords, /north/)
  assert.equal(face.trouble, null)
})

test('a fault shows no number, even if the reading has one, and says what it is', () => {
  const face = faceOf({ state: 'fault', status: '01' })
  assert.equal(face.speed, null)
  assert.equal(face.directionDegrees, null)
  assert.match(face.trouble ?? '', /U axis.*status 01/)
})

test('a direction made of axes is rounded within the circle', () => {
  assert.equal(faceOf({ directionDegrees: 359.7 }).directionDegrees, 0)
})

test('goes stale with a sentence that does not count along', () => {
  const face = faceOf({}, 6000)
  assert.equal(face.isStale, true)
  assert.equal(face.ageWords, '5 s ago')
  assert.equal(face.trouble, faceOf({}, 60_000).trouble)
  assert.match(face.trouble ?? '', /5 s/)
})

test('speaks of the sensor only when it is in trouble, and then of nothing else', () => {
  assert.equal(faceWith({ sensor: unplugged }).trouble, 'The cable is out.')
  assert.equal(faceWith({ sensor: unplugged }, 60_000).trouble, 'The cable is out.')
  assert.equal(faceWith({ sensor: { ...unplugged, state: 'connected' } }).trouble, null)
})

test('axes are shown with their signs in the unit shown, and the heating too', () => {
  const uv = { format: 'uv', unit: 'M', axes: { u: 1.59, v: -2.74 } } as const
  assert.equal(faceOf(uv).asideWords, 'U +1.6  V −2.7 m/s')
  assert.equal(faceOf(uv, 1000, 'F').asideWords, 'U +313  V −539 ft/min')
  assert.equal(faceOf({ axes: { u: -3, v: null }, status: '60' }).asideWords, 'Axis −3.0 m/s · Heating on')
  assert.equal(faceOf({}).asideWords, null)
})

test('before the first reading there is nothing to show but the source', () => {
  const face = faceWith({ reading: null, receivedAt: null, sensor: unplugged }, 0)
  assert.equal(face.state, 'none')
  assert.equal(face.isStale, false)
  assert.equal(face.ageWords, null)
  assert.equal(face.source, 'serial')
})
