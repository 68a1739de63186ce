// What the wind panel shows in each state: calm has no direction, a fault has no number.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadingBody, SensorBody } from '../../server/wire/reading.ts'
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

function faceOf(change: Partial<ReadingBody>, now = 1000) {
  return windFace({ reading: { ...measured, ...change }, receivedAt: 1000, sensor: null }, now)
}

test('a measured wind has a speed and comes from somewhere', () => {
  const face = faceOf({})
  assert.equal(face.speed?.number, '2.7')
  assert.equal(face.directionDegrees, 229)
  assert.equal(face.directionWords, 'from the south-west')
  assert.equal(face.speedBeside, null)
  assert.equal(face.isStale, false)
})

test('another unit is shown as sent, with m/s beside it', () => {
  const face = faceOf({ unit: 'N', speed: 5.33 })
  assert.equal(face.speed?.unit, 'kn')
  assert.equal(face.speedBeside?.number, '2.7')
})

test('calm comes from nowhere', () => {
  const face = faceOf({ state: 'calm', directionDegrees: null, speed: 0.02, speedMetresPerSecond: 0.02 })
  assert.equal(face.word, 'Calm')
  assert.equal(face.directionDegrees, null)
  assert.doesNotMatch(face.directionWords, /north/)
})

test('a fault shows no number, even if the reading has one', () => {
  const face = faceOf({ state: 'fault', status: '04' })
  assert.equal(face.speed, null)
  assert.equal(face.directionDegrees, null)
  assert.match(face.directionWords, /status 04/)
})

test('goes stale, and speaks of the sensor only when it is in trouble', () => {
  assert.equal(faceOf({}, 4000).isStale, true)
  const wind = { reading: measured, receivedAt: 1000, sensor: unplugged }
  assert.equal(windFace(wind, 1000).trouble, 'The cable is out.')
  assert.equal(windFace({ ...wind, sensor: { ...unplugged, state: 'connected' } }, 1000).trouble, null)
})

test('before the first reading there is nothing to show but the source', () => {
  const face = windFace({ reading: null, receivedAt: null, sensor: unplugged }, 0)
  assert.equal(face.state, 'none')
  assert.equal(face.isStale, false)
  assert.equal(face.ageWords, null)
  assert.equal(face.source, 'serial')
})
