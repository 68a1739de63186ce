// Checks what polar bodies say, in every unit and with every status, and which ones are refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read, refusal } from './testing.ts'
import { checksum } from './windsonic-frame.ts'

test('a measured frame gives every field', () => {
  assert.deepEqual(read('Q,229,002.74,M,00,'), {
    format: 'polar',
    raw: 'Q,229,002.74,M,00,',
    node: 'Q',
    state: 'measured',
    directionDegrees: 229,
    speed: 2.74,
    unit: 'M',
    speedMetresPerSecond: 2.74,
    axes: null,
    status: '00',
  })
})

test('every direction and every hundredth is the number that it says', () => {
  for (let direction = 0; direction < 360; direction++)
    assert.equal(read(`Q,${String(direction).padStart(3, '0')},002.74,M,00,`).directionDegrees, direction)
  for (let hundredths = 0; hundredths <= 7500; hundredths++) {
    const text = (hundredths / 100).toFixed(2).padStart(6, '0')
    assert.equal(read(`Q,229,${text},M,00,`).speed, Number(text))
  }
})

test('all five units are converted to metres per second', () => {
  const inMetresPerSecond = (unit: string) => read(`Q,010,010.00,${unit},00,`).speedMetresPerSecond
  assert.equal(inMetresPerSecond('M'), 10)
  assert.ok(Math.abs(Number(inMetresPerSecond('N')) - 5.144444444) < 1e-9)
  assert.equal(inMetresPerSecond('P'), 4.4704)
  assert.ok(Math.abs(Number(inMetresPerSecond('K')) - 2.777777778) < 1e-9)
  assert.ok(Math.abs(Number(inMetresPerSecond('F')) - 0.0508) < 1e-12)
})

test('an empty direction is calm, and never north', () => {
  const calm = read('Q,,000.04,M,00,')
  assert.deepEqual([calm.state, calm.directionDegrees, calm.speed], ['calm', null, 0.04])
  assert.equal(read('Q,000,000.30,M,00,').directionDegrees, 0)
  assert.equal(read('Q,,004.99,M,00,').state, 'calm', 'the threshold can be set as high')
})

test('a held direction below the threshold is calm, in the unit of the frame', () => {
  const thresholds: ReadonlyArray<readonly [below: string, unit: string, above: string]> = [
    ['000.04', 'M', '000.05'],
    ['000.09', 'N', '000.10'],
    ['000.11', 'P', '000.12'],
    ['000.17', 'K', '000.18'],
    ['009.84', 'F', '009.85'],
  ]
  for (const [below, unit, above] of thresholds) {
    const calm = read(`Q,160,${below},${unit},00,`)
    assert.deepEqual([calm.state, calm.directionDegrees], ['calm', null], unit)
    const measured = read(`Q,160,${above},${unit},00,`)
    assert.deepEqual([measured.state, measured.directionDegrees], ['measured', 160], unit)
  }
})

test('a fault shows its status and never a number', () => {
  const faults = ['Q,,,M,04,', 'Q,999,999.99,M,04,', 'Q,999,999.99,F,00,', 'Q,229,002.74,M,01,', 'Q,,,M,00,']
  for (const body of faults) {
    const { state, directionDegrees, speed, speedMetresPerSecond, axes } = read(body)
    assert.equal(state, 'fault', body)
    assert.deepEqual([directionDegrees, speed, speedMetresPerSecond, axes], [null, null, null, null], body)
  }
})

test('of all statuses good, good with heating and gain at maximum let the values stand', () => {
  const statuses = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'))
  const sound = statuses.filter((status) => {
    const reading = read(`Q,229,002.74,M,${status},`)
    assert.equal(reading.status, status)
    return reading.state === 'measured'
  })
  assert.deepEqual(sound, ['00', '10', '60'])
})

test('a status may be padded with a space', () => {
  for (const status of [' 0', ' 00', '00 ']) {
    const { state, status: read00 } = read(`Q,229,002.74,M,${status},`)
    assert.deepEqual([state, read00], ['measured', '00'], `status "${status}"`)
  }
  assert.equal(read('Q,,,M, 4,').status, '04')
  for (const status of ['0', '0 ', ' ', '', '  0', ' 00 ', '000', '-1'])
    assert.equal(refusal(`Q,229,002.74,M,${status},`), 'layout', `status "${status}"`)
})

test('any node letter is one', () => {
  for (const node of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') assert.equal(read(`${node},229,002.74,M,00,`).node, node)
  for (const node of ['q', '@', '[', '1', ''])
    assert.equal(refusal(`${node},229,002.74,M,00,`), 'layout', `node "${node}"`)
})

test('ranges end at 359 degrees and 75 metres per second', () => {
  assert.equal(read('Q,359,075.00,M,00,').speed, 75)
  assert.equal(read('Q,359,270.00,K,00,').speed, 270)
  const beyond = [
    'Q,360,002.74,M,00,',
    'Q,999,002.74,M,00,',
    'Q,229,075.01,M,00,',
    'Q,229,270.01,K,00,',
    'Q,229,999.99,M,00,',
    'Q,360,000.01,M,00,',
    'Q,,005.01,M,00,',
  ]
  for (const body of beyond) assert.equal(refusal(body), 'range', body)
})

test('feet per minute alone need more digits than three', () => {
  assert.ok(Math.abs(Number(read('Q,229,14763.00,F,00,').speedMetresPerSecond) - 74.996) < 0.001)
  assert.equal(read('Q,229,1000.00,F,00,').speed, 1000)
  assert.equal(refusal('Q,229,14764.00,F,00,'), 'range')
  assert.equal(refusal('Q,229,1000.00,M,00,'), 'range')
  assert.equal(refusal('Q,229,0999.99,F,00,'), 'layout')
  assert.equal(refusal('Q,229,100000.00,F,00,'), 'layout')
})

test('other widths are refused though their sum is right', () => {
  const intact = [
    'Q,29,002.74,M,00,',
    'Q,0229,002.74,M,00,',
    'Q,229,02.74,M,00,',
    'Q,229,002.7,M,00,',
    'Q,229,002.740,M,00,',
    'Q,229,,M,00,',
    'Q,229,-02.74,M,00,',
    'Q,229,002.74,M,00',
    'Q,229,002.74,M,00,,',
    'Q,229,002.74,X,00,',
    'Q,229,002.74,,00,',
    'Q, 29,002.74,M,00,',
    'Q,229,002.74,M,0A,',
    'Q,229;002.74,M,00,',
    'Q,229,002,74,M,00,',
    'QQ,229,002.74,M,00,',
    'Q',
    '',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
})

test('two digits that changed places pass, unless a range catches them: XOR is blind to order', () => {
  assert.equal(checksum('Q,359,002.74,M,00,'), checksum('Q,359,002.47,M,00,'))
  assert.equal(refusal('Q,539,002.74,M,00,'), 'range')
  assert.equal(refusal('Q,359,002.47,M,00,'), 'none')
})
