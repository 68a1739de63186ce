// JSON in pieces equals the JSON of the whole, and no piece is large or empty.

import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { type Answering, type AnswerParts, answerParts, jsonPieces } from './answers.ts'
import { Budget } from './budget.ts'

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

test('no empty part is written', async () => {
  const budget = new Budget(defaultEngine.limits, createManualTime())
  async function* later() {
    yield* ['', 'one', Buffer.alloc(0), Buffer.from('two'), '']
  }
  const given: (() => AnswerParts)[] = [later, () => ['one', '', 'two', '']]
  for (const parts of given) {
    const req = new IncomingMessage(new Socket())
    const ctx: Answering = { req, res: new ServerResponse(req) }
    answerParts(ctx, budget, 100_000, parts)
    const written = await Array.fromAsync(ctx.body as AsyncIterable<string | Buffer>, String)
    assert.deepEqual(written, ['one', 'two'])
  }
})
