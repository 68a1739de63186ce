// Frames are read back as they were measured: every format and unit, calm and fault.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrameReading } from '../readings.ts'
import { toMetresPerSecond } from '../wind-units.ts'
import { type FrameValues, writeFrame } from '../windsonic-frame.ts'
import { Measurement } from './measurement.ts'
import { WindSonicSettings } from './windsonic-settings.ts'
import { readingsIn } from './windsonic-testing.ts'

const messages = ['M1', 'M2', 'M3', 'M4', 'M5', 'M12', 'M14', 'M15', 'M16']
const units = ['U1', 'U2', 'U3', 'U4', 'U5']
const ways = ['O1 L1', 'O2 L2']
const stylesOf = (message: string) => units.flatMap((unit) => ways.map((way) => `${message} ${unit} ${way}`))

/** Up to the limit where ft/min still fits its field. */
const speeds = [0, 0.012, 0.049, 0.05, 0.051, 0.3, 1, 4.9]
const directions = [0, 0.4, 89.6, 90, 135.5, 180, 270, 359.4, 359.6]
const winds = speeds.flatMap((speedMetresPerSecond) =>
  directions.map((directionDegrees) => ({ speedMetresPerSecond, directionDegrees })),
)

function sent(configuration: string) {
  const settings = WindSonicSettings.parse(configuration)
  const measurement = new Measurement()
  return (wind: (typeof winds)[number], status = '00') => {
    const values = measurement.values(wind, status, settings)
    const bytes = writeFrame(values, settings.message)
    const [reading, ...others] = readingsIn(Buffer.from(bytes).toString('latin1'))
    assert.ok(reading && others.length === 0, `${configuration}: ${JSON.stringify(values)}`)
    return { values, reading }
  }
}

/** The wind that a frame of this format reports; -0 is 0. */
function said({ axes, speed, directionDegrees }: Said, format: FrameReading['format'], isCalm: boolean) {
  if (format === 'uv') return JSON.stringify([axes?.u, axes?.v])
  if (format === 'tunnel') return JSON.stringify(axes?.u)
  return JSON.stringify([isCalm ? null : directionDegrees, speed])
}

type Said = Pick<FrameValues, 'axes' | 'speed' | 'directionDegrees'>

function isReadBack(configuration: string): void {
  const send = sent(configuration)
  const { format } = WindSonicSettings.parse(configuration).message
  for (const wind of winds) {
    const { values, reading } = send(wind)
    const isCalm = reading.state === 'calm'
    assert.equal(reading.format, format)
    assert.equal(reading.unit, values.unit)
    assert.equal(reading.node, format === 'nmea' ? null : 'Q')
    assert.equal(said(reading, format, isCalm), said(values, format, isCalm), configuration)
  }
}

function showsFaults(configuration: string, message: string): void {
  const send = sent(configuration)
  for (const status of ['01', '02', '04']) {
    const { reading } = send({ speedMetresPerSecond: 3, directionDegrees: 10 }, status)
    const { state, directionDegrees, speed, axes } = reading
    assert.deepEqual([state, directionDegrees, speed, axes], ['fault', null, null, null], configuration)
    assert.equal(reading.status, message === 'M5' || message === 'M14' ? 'V' : status)
  }
}

for (const message of messages) {
  test(`${message} is read back, in every unit and both ways`, () => stylesOf(message).forEach(isReadBack))
  test(`${message} shows a fault as a fault`, () => {
    for (const configuration of stylesOf(message)) showsFaults(configuration, message)
  })
}

test('wind and axes agree: from the south +U, from the east +V', () => {
  const send = sent('M1')
  const axesFrom = (directionDegrees: number) =>
    send({ speedMetresPerSecond: 5, directionDegrees }).values.axes
  assert.deepEqual(axesFrom(180), { u: 5, v: 0 })
  assert.deepEqual(axesFrom(90), { u: -0, v: 5 })
  assert.deepEqual(axesFrom(225), { u: 3.54, v: -3.54 })
})

test('below the threshold O1 leaves the direction empty, O2 repeats the last one', () => {
  const raws = (configuration: string) => {
    const send = sent(configuration)
    return [
      [0.05, 100],
      [0.04, 200],
      [0.06, 300],
      [0.01, 20],
    ].map(
      ([speed = 0, direction = 0]) =>
        send({ speedMetresPerSecond: speed, directionDegrees: direction }).reading.raw,
    )
  }
  assert.deepEqual(raws('O1'), [
    'Q,100,000.05,M,00,',
    'Q,,000.04,M,00,',
    'Q,300,000.06,M,00,',
    'Q,,000.01,M,00,',
  ])
  assert.deepEqual(raws('O2'), [
    'Q,100,000.05,M,00,',
    'Q,100,000.04,M,00,',
    'Q,300,000.06,M,00,',
    'Q,300,000.01,M,00,',
  ])
  assert.deepEqual(raws('K100'), ['Q,,000.05,M,00,', 'Q,,000.04,M,00,', 'Q,,000.06,M,00,', 'Q,,000.01,M,00,'])
})

test('the threshold applies to the speed in the unit that is sent', () => {
  for (const unit of units) {
    const send = sent(unit)
    for (let thousandths = 40; thousandths <= 60; thousandths++) {
      const { values, reading } = send({ speedMetresPerSecond: thousandths / 1000, directionDegrees: 77 })
      const said = toMetresPerSecond(Number(values.speed), values.unit)
      assert.equal(reading.state, said < 0.05 - 1e-9 ? 'calm' : 'measured', `${unit} ${thousandths}`)
      assert.equal(values.directionDegrees, reading.state === 'calm' ? null : 77)
    }
  }
})

test('a fault is empty with O1 and nines with O2', () => {
  const raw = (configuration: string) =>
    sent(configuration)({ speedMetresPerSecond: 3, directionDegrees: 10 }, '04').reading.raw
  assert.equal(raw('O1'), 'Q,,,M,04,')
  assert.equal(raw('O2'), 'Q,999,999.99,M,04,')
  assert.equal(raw('M1 O1'), 'Q,,,M,04,')
  assert.equal(raw('M5 O2'), 'IIMWV,999,R,999.99,M,V')
})

test('a value that the sensor cannot measure or its field cannot hold is a fault, never a number', () => {
  const state = (configuration: string, speedMetresPerSecond: number) =>
    sent(configuration)({ speedMetresPerSecond, directionDegrees: 10 }).reading.state
  assert.equal(state('U1', 60), 'measured')
  assert.equal(state('U1', 60.01), 'fault')
  assert.equal(state('U5', 5.07), 'measured')
  assert.equal(state('U5', 5.09), 'fault')
})
