// JSON in pieces equals the JSON of the whole, and no piece is large.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonPieces } from './answers.ts'

test('pieces of JSON concatenate to the JSON of the whole, and none is large', () => {
  for (const value of [
    {},
    [],
    [[], {}],
    { a: undefined, b: null, c: [undefined, null], d: { e: [] } },
    { text: 'short', number: 1.5, yes: true },
    [1, 'two', { three: ['"', '\\', '\n\u2028'] }],
  ])
    assert.deepEqual(JSON.parse([...jsonPieces(value)].join('')), JSON.parse(JSON.stringify(value)))
  const messages = Array.from({ length: 500 }, (_, seq) => ({ seq, body: { update: 'x'.repeat(seq) } }))
  // Surrogate pairs at every place where a string is cut.
  const html = `x${'💨'.repeat(500_000)}`
  const pieces = [...jsonPieces({ messages, html })]
  assert.deepEqual(JSON.parse(Buffer.from(pieces.join('')).toString()), { messages, html })
  assert.ok(Math.max(...pieces.map(({ length }) => length)) < 200_000)
})
