// Checks each vector of the facts sheet: its sum, what it is read as, and that it is refused with any other sum.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'
import { vectors, wireOf } from './testing.ts'
import { checksum } from './windsonic-frame.ts'

const rounded = (value: number | null) => (value === null ? null : Math.round(value * 1000) / 1000)
const split = (wire: string) => createFrameSplitter().push(Buffer.from(wire, 'latin1'), 0)

for (const { body, sum, format, state, directionDegrees, speed } of vectors) {
  test(`${body} with ${sum} is ${state}, ${format}`, () => {
    assert.equal(checksum(body), sum)
    const [first, ...more] = split(wireOf(body, '\r\n', sum))
    assert.deepEqual(more, [])
    assert.ok(first?.kind === 'frame')
    const { reading } = first
    assert.deepEqual([reading.raw, reading.format, reading.state], [body, format, state])
    assert.deepEqual([rounded(reading.directionDegrees), rounded(reading.speed)], [directionDegrees, speed])
    assert.equal(reading.node, format === 'nmea' ? null : body.charAt(0))
  })
}

test('of the 256 sums one is right, written in two upper-case digits', () => {
  for (const { body, sum } of vectors) {
    const sums = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
    const taken = sums.filter((other) => split(wireOf(body, '\r', other.toUpperCase()))[0]?.kind === 'frame')
    assert.deepEqual(taken, [sum.toLowerCase()])
    if (/[A-F]/.test(sum)) assert.notEqual(split(wireOf(body, '\r', sum.toLowerCase()))[0]?.kind, 'frame')
  }
})

test('sums that the manual prints against its own rule are refused', () => {
  const misprints = [
    ['Q,,000.03,M,00,', '1C'],
    ['Q,,,M,04,', '24'],
    ['Q,999,999.99,M,04,', '0A'],
    ['Q,+001.59,-002.74,M,00,', '2D'],
    ['Q,001.59,1,00,M,', '2D'],
    ['IIMWV,120,R,002.10,M,A', '5D'],
  ] as const
  for (const [body, sum] of misprints) {
    const [first] = split(wireOf(body, '\r\n', sum))
    assert.deepEqual(first, { kind: 'refused', code: 'checksum', at: 0 })
  }
})
