// Checks what tunnel bodies say: wind from the north or from the south.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read, refusal } from './testing.ts'

test('polarity 1 is from the south and +U, 0 from the north and -U', () => {
  const south = read('Q,001.59,1,00,M,')
  assert.deepEqual(south, {
    format: 'tunnel',
    raw: 'Q,001.59,1,00,M,',
    node: 'Q',
    state: 'measured',
    directionDegrees: 180,
    speed: 1.59,
    unit: 'M',
    speedMetresPerSecond: 1.59,
    axes: { u: 1.59, v: null },
    status: '00',
  })
  const north = read('Q,001.59,0,00,M,')
  assert.deepEqual([north.directionDegrees, north.speed, north.axes], [0, 1.59, { u: -1.59, v: null }])
})

test('a sign is kept as sent, and the direction is still by the polarity', () => {
  for (const [body, direction, u] of [
    ['Q,+001.59,1,00,M,', 180, 1.59],
    ['Q,-001.59,0,00,M,', 0, -1.59],
    ['Q,+001.59,0,00,M,', 0, 1.59],
  ] as const) {
    const { directionDegrees, speed, axes } = read(body)
    assert.deepEqual([directionDegrees, speed, axes], [direction, 1.59, { u, v: null }], body)
  }
})

test('below the threshold it is calm and comes from nowhere', () => {
  for (const body of ['Q,000.04,1,00,M,', 'Q,000.17,0,00,K,', 'Q,000.00,0,00,M,', 'Q,000.04,,00,M,']) {
    const { state, directionDegrees } = read(body)
    assert.deepEqual([state, directionDegrees], ['calm', null], body)
  }
  assert.deepEqual(read('Q,000.00,0,00,M,').axes, { u: 0, v: null })
})

test('a fault has no number, whatever stands in the fields', () => {
  for (const body of [
    'Q,001.59,1,01,M,',
    'Q,,,04,M,',
    'Q,,,00,M,',
    'Q,999.99,9,04,M,',
    'Q,-999.99,9,00,M,',
  ]) {
    const { format, state, directionDegrees, speed, axes } = read(body)
    assert.deepEqual(
      [format, state, directionDegrees, speed, axes],
      ['tunnel', 'fault', null, null, null],
      body,
    )
  }
})

test('what no tunnel frame says is refused though its sum is right', () => {
  for (const body of [
    'Q,001.59,2,00,M,',
    'Q,001.59,9,00,M,',
    'Q,,1,00,M,',
    'Q,001.59,1,M,00,',
    'Q,01.59,1,00,M,',
  ])
    assert.equal(refusal(body), 'layout', body)
  assert.equal(refusal('Q,075.01,1,00,M,'), 'range')
  assert.equal(refusal('Q,005.01,,00,M,'), 'range')
})
