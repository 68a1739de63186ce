// Checks that marks are found in any framing, however the bytes are cut.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMarkReader, markedHtml } from './mark.ts'

function marksIn(chunks: readonly Buffer[]): number[] {
  const marks: number[] = []
  const read = createMarkReader((mark) => marks.push(mark))
  for (const chunk of chunks) read(chunk)
  return marks
}

const messages = [0, 7, 10, 12345].map((mark) =>
  JSON.stringify({ id: `w-${mark}`, body: { html: markedHtml(mark) } }),
)
const whole = Buffer.from(`42${JSON.stringify(messages[0])}data: ${messages.slice(1).join('\n\ndata: ')}`)

test('the content has some 60 bytes', () => {
  assert.ok(Math.abs(markedHtml(123).length - 60) <= 3)
})

test('marks are found in JSON, and in JSON within JSON', () => {
  assert.deepEqual(marksIn([whole]), [0, 7, 10, 12345])
})

test('marks are found once wherever the bytes are cut', () => {
  for (let at = 1; at < whole.length; at += 1) {
    assert.deepEqual(marksIn([whole.subarray(0, at), whole.subarray(at)]), [0, 7, 10, 12345], `cut at ${at}`)
  }
  assert.deepEqual(marksIn(Array.from(whole, (byte) => Buffer.from([byte]))), [0, 7, 10, 12345])
})

test('what only resembles a mark is none', () => {
  assert.deepEqual(marksIn([Buffer.from('<p>1</p><p><p'), Buffer.from('>#5# <p> #6# <')]), [5])
})
