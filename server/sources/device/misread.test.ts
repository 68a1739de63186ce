// Checks that bytes are misread as a serial port misreads them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { misread } from './misread.ts'

const frame = Buffer.from('\x02Q,229,002.74,M,00,\x0316\r\n', 'latin1')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('from the beginning and at the same rate nothing is misread', () => {
  assert.equal(hex(misread(frame, { startBits: 0, ratio: 1 })), hex(frame))
  assert.equal(hex(misread(frame, { startBits: 30, ratio: 1 })), hex(frame.subarray(3)))
})

test('single bytes, worked out by hand', () => {
  const misheard = (byte: number, startBits: number, ratio: number) =>
    hex(misread(Uint8Array.of(byte), { startBits, ratio }))
  // 0 10000010 1 on the line; from the third bit on: start 0, then 0000 1 0, the stop bit and idle: 1 1.
  assert.equal(misheard(0x41, 2, 1), 'd0')
  // Four times as fast the start bit is a start bit and three zeros.
  assert.equal(misheard(0xff, 0, 4), 'f8')
  // Half as fast the nine low bits are a start bit and three zeros, and a half that nobody looks at.
  assert.equal(misheard(0x00, 0, 0.5), 'f8')
  // Half as fast a start bit alone is over before it is looked at again.
  assert.equal(misheard(0xff, 0, 0.5), '')
})

test('from the middle of a character come bytes that no frame has, as in the field', () => {
  const seen = new Set<number>()
  for (let startBits = 1; startBits < 40; startBits++)
    for (const byte of misread(frame, { startBits, ratio: 1 })) seen.add(byte)
  for (const known of [0x82, 0x92, 0x8a]) assert.ok(seen.has(known), known.toString(16))
  assert.ok([...seen].filter((byte) => byte >= 0x80).length > 10)
})

test('a pause realigns it', () => {
  const idle = Uint8Array.of(0xff, 0xff)
  const bytes = Uint8Array.from([...frame, ...idle, ...frame])
  const heard = hex(misread(bytes, { startBits: 5, ratio: 1 }))
  assert.ok(heard.endsWith(hex(frame)), heard)
})

test('a wrong baud rate is steady garbage, fast or slow', () => {
  for (const ratio of [8, 4, 2, 0.5, 0.25]) {
    const heard = misread(frame, { startBits: 0, ratio })
    assert.ok(heard.length > 0)
    assert.ok(!heard.includes(0x51), `a Q at ${ratio}`)
  }
})
