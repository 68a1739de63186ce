import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateLength, type Message } from '../../protocol/messages.ts'
import { collectGarbage } from '../../scripts/garbage.ts'
import {
  bodyFrom,
  draftText,
  jsonOfBody,
  KeptJson,
  keptAsText,
  keptBody,
  messageText,
  parsed,
} from './kept-json.ts'
import { draft } from './log-testing.ts'

const json = { ...draft('w1-1'), kind: 'json', body: { data: ['é€💨', { a: 1 }], user: 'ann' } } as const

test('a kept body is the same body', () => {
  const { body } = keptAsText<Message<'json'>>({ ...json, seq: 1, acceptedAt: 2 })
  assert.ok(body instanceof KeptJson)
  assert.deepEqual(
    [body.data, body.user, body.digest, body.writer],
    [json.body.data, 'ann', undefined, 'ann'],
  )
  assert.deepEqual([parsed(body), JSON.parse(JSON.stringify(body))], [json.body, json.body])
  assert.equal(body.size, Buffer.byteLength(JSON.stringify(json.body)))
  assert.equal(estimateLength(body), body.size)
  assert.equal(jsonOfBody(body), JSON.stringify(json.body))
})

test('a body is kept once, and other kinds as they are', () => {
  const kept = keptAsText(json)
  assert.equal(keptAsText(kept), kept)
  const edit = draft('w1-1')
  assert.equal(keptAsText(edit), edit)
  assert.deepEqual(bodyFrom('edit', '{"html":"x"}', null), { html: 'x' })
  assert.ok(bodyFrom('json', '{"data":1}', null) instanceof KeptJson)
})

test('a body is made of its parts as JSON', () => {
  for (const rest of [{}, { user: 'ann' }, { digest: 'd' }, { user: 'a"b', digest: 'd' }]) {
    const body = keptBody('{"data":[1,"x"]}', { user: undefined, digest: undefined, ...rest })
    assert.deepEqual(parsed(body), { data: [1, 'x'], ...rest })
  }
})

test('a message and a draft are the same JSON, whether their bodies are kept or not', () => {
  for (const one of [json, draft('w1-1', '"é\n')]) {
    const message = { ...one, seq: 7, acceptedAt: 2.5 }
    assert.deepEqual(JSON.parse(messageText(keptAsText<Message>(message))), message)
    assert.deepEqual(JSON.parse(messageText(message)), message)
    assert.deepEqual(JSON.parse(draftText(keptAsText(one), 2.5)), { ...one, acceptedAt: 2.5 })
  }
})

test('a small body keeps no memory of others', () => {
  const heldBytes = () => {
    // The second call completes the work that the first began on another thread.
    collectGarbage()
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const before = heldBytes()
  const kept = Array.from({ length: 1000 }, () => {
    const one = keptAsText(json)
    // Others take from the same pool.
    Buffer.allocUnsafe(3000)
    return one
  })
  assert.ok(heldBytes() - before < 1_000_000)
  assert.equal(kept.length, 1000)
})
