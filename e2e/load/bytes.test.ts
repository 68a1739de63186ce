// Checks the bytes that load clients write and read by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeAnswer } from './http1-client.ts'
import { cursorOf } from './poll-window.ts'
import { parseHead } from './tls-line.ts'
import { maskedText } from './websocket-bytes.ts'

function unmasked(frame: Buffer): string {
  const at = (frame[1] ?? 0) === (0x80 | 126) ? 4 : 2
  const mask = frame.subarray(at, at + 4)
  return Buffer.from(frame.subarray(at + 4).map((byte, index) => byte ^ (mask[index & 3] ?? 0))).toString()
}

test('a text is masked in one final frame', () => {
  const short = maskedText('Böe')
  assert.deepEqual([...short.subarray(0, 2)], [0x81, 0x80 | 4])
  assert.equal(unmasked(short), 'Böe')
  const long = maskedText('x'.repeat(126))
  assert.deepEqual([...long.subarray(0, 4)], [0x81, 0x80 | 126, 0, 126])
  assert.equal(unmasked(long), 'x'.repeat(126))
  assert.throws(() => maskedText('x'.repeat(65_536)), /65535/)
})

test('a head is parsed once it is complete, and the rest is left', () => {
  const bytes = Buffer.from('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nX: a: b\r\n\r\nrest')
  for (let end = 0; end < bytes.length - 4; end += 1) assert.equal(parseHead(bytes.subarray(0, end)), null)
  const head = parseHead(bytes)
  assert.equal(head?.status, 101)
  assert.equal(head?.headers.get('x'), 'a: b')
  assert.equal(head?.rest.toString(), 'rest')
})

test('an answer is whole with its last byte', () => {
  const bytes = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc')
  assert.equal(wholeAnswer(bytes.subarray(0, -1)), null)
  assert.deepEqual(wholeAnswer(bytes), { status: 200, body: Buffer.from('abc') })
  assert.equal(wholeAnswer(Buffer.from('HTTP/1.1 204 No Content\r\n\r\n'))?.status, 204)
})

test("a poll's cursor is read off its beginning", () => {
  assert.equal(cursorOf(Buffer.from('{"cursor":"a1:42","frames":[]}')), 'a1:42')
  assert.throws(() => cursorOf(Buffer.from('{"frames":[]}')), /begin with its cursor/)
})
