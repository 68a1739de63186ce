// Checks that frames are written byte for byte as the facts sheet has them, and that what fits no field throws.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read, vectors, wireOf } from './testing.ts'
import { type FrameStyle, type FrameValues, writeFrame } from './write-frame.ts'

const style: FrameStyle = { format: 'polar', ending: '\r\n', talker: 'II', hasGillStatus: false }
const values: FrameValues = {
  node: 'Q',
  directionDegrees: 229,
  speed: 2.74,
  axes: { u: 1.59, v: -2.74 },
  unit: 'M',
  status: '00',
}
const emptyFault = { directionDegrees: null, speed: null, axes: null, status: '04' }
const filledFault = { directionDegrees: 999, speed: 999.99, axes: null, status: '04' }

function written(some: Partial<FrameValues>, other: Partial<FrameStyle> = {}): string {
  return Buffer.from(writeFrame({ ...values, ...some }, { ...style, ...other })).toString('latin1')
}

test('each format has its fields, its sum and its length', () => {
  for (const [other, body, length] of [
    [{ format: 'polar' }, 'Q,229,002.74,M,00,', 24],
    [{ format: 'uv' }, 'Q,+001.59,-002.74,M,00,', 29],
    [{ format: 'tunnel' }, 'Q,001.59,1,00,M,', 22],
    [{ format: 'nmea' }, 'IIMWV,229,R,002.74,M,A', 28],
    [{ format: 'nmea', talker: 'WI' }, 'WIMWV,229,R,002.74,M,A', 28],
    [{ format: 'nmea', talker: 'WI', hasGillStatus: true }, 'WIMWV,229,R,002.74,M,00', 29],
  ] as const) {
    assert.equal(written({}, other), wireOf(body))
    assert.equal(written({}, other).length, length)
    assert.equal(written({}, { ...other, ending: '\r' }), wireOf(body, '\r'))
  }
})

test('the vectors are written as they are read', () => {
  for (const { body, sum } of vectors) {
    const { state, format, node, directionDegrees, speed, axes, unit, status } = read(body)
    if (state !== 'measured') continue
    const some = { node: node ?? '', directionDegrees, speed, axes, unit, status: status.replace('A', '00') }
    assert.equal(written(some, { format }), wireOf(body, '\r\n', sum))
  }
})

test('calm and fault of format O1 are empty, those of O2 held and filled', () => {
  assert.equal(written({ directionDegrees: null, speed: 0.04 }), wireOf('Q,,000.04,M,00,', '\r\n', '2A'))
  assert.equal(written({ directionDegrees: null, speed: 0.04 }).length, 21)
  assert.equal(written({ directionDegrees: 160, speed: 0.04 }), wireOf('Q,160,000.04,M,00,', '\r\n', '1D'))
  assert.equal(written(emptyFault), wireOf('Q,,,M,04,', '\r\n', '34'))
  assert.equal(written(emptyFault).length, 15)
  assert.equal(written(filledFault), wireOf('Q,999,999.99,M,04,', '\r\n', '1A'))
  for (const [format, empty, filled] of [
    ['uv', 'Q,,,M,04,', 'Q,+999.99,+999.99,M,04,'],
    ['tunnel', 'Q,,,04,M,', 'Q,999.99,9,04,M,'],
    ['nmea', 'IIMWV,,R,,M,V', 'IIMWV,999,R,999.99,M,V'],
  ] as const) {
    assert.equal(written(emptyFault, { format }), wireOf(empty))
    assert.equal(written(filledFault, { format }), wireOf(filled))
  }
})

test('tunnel: wind from the south is polarity 1, and no wind is 0', () => {
  const polarity = (u: number) => written({ axes: { u, v: null } }, { format: 'tunnel' }).slice(3, 11)
  assert.deepEqual([1.59, -1.59, 0, 0.001].map(polarity), ['001.59,1', '001.59,0', '000.00,0', '000.00,0'])
})

test('a zero is positive, from whichever side it was rounded', () => {
  const frame = written({ axes: { u: -0.004, v: -0 } }, { format: 'uv' })
  assert.equal(frame, wireOf('Q,+000.00,+000.00,M,00,'))
})

test('NMEA says A where the values stand, V where not', () => {
  const last = (status: string) => written({ status }, { format: 'nmea' }).at(-6)
  assert.deepEqual(['00', '60', '10', '01', '04', '08'].map(last), ['A', 'A', 'A', 'V', 'V', 'V'])
})

test('what does not fit its field throws and is named', () => {
  for (const [some, message] of [
    [{ directionDegrees: 12.5 }, /directionDegrees is 12\.5/],
    [{ directionDegrees: 360 }, /directionDegrees is 360/],
    [{ directionDegrees: 999 }, /directionDegrees is 999/],
    [{ directionDegrees: -1 }, /directionDegrees is -1/],
    [{ speed: -1 }, /speed is -1/],
    [{ speed: 999.996 }, /speed is 999\.996/],
    [{ speed: Number.NaN }, /speed is NaN/],
    [{ speed: null }, /speed is null/],
    [{ node: 'QQ' }, /node is "QQ"/],
    [{ status: '4' }, /status is "4"/],
  ] as const) {
    assert.throws(() => written(some), { name: 'RangeError', message })
  }
  assert.throws(() => written({ axes: { u: 1, v: null } }, { format: 'uv' }), /axes\.v is null/)
  assert.throws(() => written({ axes: { u: 1, v: -1e4 } }, { format: 'uv' }), /axes\.v is -10000/)
  assert.throws(() => written({ axes: null }, { format: 'uv' }), /axes is null/)
})
