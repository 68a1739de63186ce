// Checks what UV bodies say: the raw axes, and the wind made of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axesOf } from './axes.ts'
import { read, refusal } from './testing.ts'
import { writeFrame } from './write-frame.ts'

const style = { format: 'uv', ending: '\r\n', talker: 'II', hasGillStatus: false } as const
const common = { node: 'Q', unit: 'M', status: '00' } as const
const hundredths = (value: number) => Math.round(value * 100) / 100

test('a measured frame keeps its axes as sent, beside the wind made of them', () => {
  const { directionDegrees, speed, speedMetresPerSecond, ...rest } = read('B,-003.00,+004.00,N,60,')
  assert.deepEqual(rest, {
    format: 'uv',
    raw: 'B,-003.00,+004.00,N,60,',
    node: 'B',
    state: 'measured',
    unit: 'N',
    axes: { u: -3, v: 4 },
    status: '60',
  })
  assert.equal(speed, 5)
  assert.ok(Math.abs(Number(directionDegrees) - 53.1301) < 1e-4)
  assert.ok(Math.abs(Number(speedMetresPerSecond) - 2.5722) < 1e-4)
})

test('written and read, every wind of the circle comes back as near as hundredths allow', () => {
  for (let tenths = 0; tenths < 3600; tenths++) {
    const sent = axesOf(tenths / 10, 10)
    const axes = { u: hundredths(sent.u), v: hundredths(sent.v) }
    const bytes = writeFrame({ ...common, directionDegrees: null, speed: null, axes }, style)
    const reading = read(Buffer.from(bytes).toString('latin1', 1, bytes.length - 5))
    assert.deepEqual(reading.axes, { u: axes.u + 0, v: axes.v + 0 })
    const direction = Number(reading.directionDegrees)
    assert.ok(direction >= 0 && direction < 360)
    const apart = Math.abs(direction - tenths / 10)
    assert.ok(Math.min(apart, 360 - apart) < 0.05, `${tenths / 10} came back as ${direction}`)
    assert.ok(Math.abs(Number(reading.speed) - 10) < 0.01)
  }
})

test('calm is below the threshold of the two together, in the unit of the frame', () => {
  assert.equal(read('Q,+000.03,-000.04,M,00,').state, 'measured')
  assert.equal(read('Q,+000.03,-000.03,M,00,').state, 'calm')
  assert.equal(read('Q,+000.03,-000.04,K,00,').state, 'calm')
  const still = read('Q,-000.00,+000.00,M,00,')
  assert.deepEqual([still.state, still.directionDegrees, still.speed], ['calm', null, 0])
  assert.deepEqual(still.axes, { u: 0, v: 0 })
})

test('a fault has no number, whatever stands in the fields', () => {
  const faults = [
    'Q,+001.59,-002.74,M,01,',
    'Q,+999.99,+999.99,M,04,',
    'Q,-999.99,+999.99,M,00,',
    'Q,,-002.74,M,01,',
    'Q,+001.59,,M,02,',
  ]
  for (const body of faults) {
    const { format, state, directionDegrees, speed, axes } = read(body)
    assert.deepEqual([format, state, directionDegrees, speed, axes], ['uv', 'fault', null, null, null], body)
  }
  assert.equal(read('Q,,,M,04,').format, 'polar', 'nothing tells the two apart')
})

test('the range is that of the two together', () => {
  assert.equal(read('Q,-060.00,+045.00,M,00,').speed, 75)
  assert.equal(refusal('Q,-060.00,+045.01,M,00,'), 'range')
  assert.equal(refusal('Q,+999.99,+001.00,M,00,'), 'range')
})

test('other widths and missing signs are refused though their sum is right', () => {
  const intact = [
    'Q,001.59,-002.74,M,00,',
    'Q,+001.59,002.74,M,00,',
    'Q,+01.59,-002.74,M,00,',
    'Q,+001.59,-002.7,M,00,',
    'Q,+-01.59,-002.74,M,00,',
    'Q,+001.59,,M,00,',
    'Q,,-002.74,M,00,',
    'Q,+001.59,-002.74,M,00',
    'Q,+001.59,-002.74,00,M,',
    'Q, +001.59,-002.74,M,00,',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
})
