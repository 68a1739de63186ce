// Checks what NMEA bodies say, with both heads and with both kinds of status.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read, refusal } from './testing.ts'

test('both heads and both kinds of status are read, and there is no node letter', () => {
  for (const [body, status] of [
    ['IIMWV,284,R,001.26,K,A', 'A'],
    ['WIMWV,284,R,001.26,K,A', 'A'],
    ['IIMWV,284,R,001.26,K,00', '00'],
    ['WIMWV,284,R,001.26,K,60', '60'],
    ['WIMWV,284,R,001.26,K, 0', '00'],
  ] as const) {
    const { speedMetresPerSecond, ...rest } = read(body)
    assert.ok(Math.abs(Number(speedMetresPerSecond) - 0.35) < 1e-9)
    const wind = { state: 'measured', directionDegrees: 284, speed: 1.26, unit: 'K', axes: null }
    assert.deepEqual(rest, { format: 'nmea', raw: body, node: null, ...wind, status })
  }
})

test('calm and fault are what they are in polar frames', () => {
  for (const [body, state] of [
    ['IIMWV,,R,000.04,M,A', 'calm'],
    ['IIMWV,170,R,000.04,M,A', 'calm'],
    ['IIMWV,,R,,M,V', 'fault'],
    ['IIMWV,999,R,999.99,M,V', 'fault'],
    ['IIMWV,284,R,001.26,K,V', 'fault'],
    ['WIMWV,284,R,001.26,K,04', 'fault'],
    ['WIMWV,,R,,K,04', 'fault'],
  ] as const) {
    const reading = read(body)
    assert.deepEqual([reading.state, reading.directionDegrees], [state, null], body)
    if (state === 'fault') assert.equal(reading.speed, null)
  }
})

test('what no WindSonic says is refused though its sum is right', () => {
  const intact = [
    'IIMWV,284,T,001.26,K,A',
    'IIMWV,284.0,R,001.26,K,A',
    'IIMWV,284,R,1.26,K,A',
    'IIMWV,284,R,001.26,K,B',
    'IIMWV,284,R,001.26,K,AV',
    'IIMWV,284,R,001.26,K,A,',
    'IIMWV,284,R,001.26,K,',
    'IIMWV,284,R,001.26,K',
    'IIMWV,284,R,,K,A',
    'IIMWV,284,,001.26,K,A',
    'IIMWV,',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
  assert.equal(refusal('IIMWV,360,R,001.26,K,A'), 'range')
  assert.equal(refusal('IIMWV,284,R,075.01,M,A'), 'range')
})
