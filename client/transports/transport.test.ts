// How refusals and acknowledgements arrive as frames.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft, Refused } from '../../protocol/messages.ts'
import { closingFrom, createAnswers } from './transport.ts'

const refused = (code: string): Refused => ({ type: 'refused', id: null, code, message: 'No.' })

test('a window that is not admitted is refused; a server that does not know a frame keeps the stream', () => {
  assert.equal(closingFrom(refused('bad-query'), 0)?.code, 'refused')
  assert.equal(closingFrom(refused('bad-frame'), 0), null)
})

test('two windows of one stream that send the same draft both get an answer', async () => {
  const draft: Draft = { id: 'w1-1', channel: 'main', kind: 'edit', from: 'w1', at: 1, body: { html: '' } }
  const answers = createAnswers()
  const both = [answers.expect(draft, 1), answers.expect(draft, 1)]
  const stored = { type: 'stored', id: 'w1-1', seq: 7 } as const
  answers.handle(stored)
  answers.handle(stored)
  assert.deepEqual([await Promise.all(both), answers.size()], [[stored, stored], 0])
})
