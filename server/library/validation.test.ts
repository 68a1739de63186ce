// Messages that wait for an application's schema are counted, and refused over the limits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { KeptJson, parsed } from '../log/kept-json.ts'
import type { StandardSchema } from './standard-schema.ts'
import { Validation } from './validation.ts'

const { limits } = defaultEngine

/** 1 MB as JSON, over 20 MB parsed. */
const large = Array.from({ length: 349_525 }, () => ({}))

function draftOf(n: number, data: unknown): Draft<'json'> {
  return { id: `w1-${n}`, channel: 'room.1', kind: 'json', from: 'w1', at: 1, body: { data } }
}

const schemaOf = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate },
})

/** `run` returns how a message ends: `waits`, `stored`, or the code of its refusal. */
function openValidation() {
  const time = createManualTime()
  const failures: unknown[] = []
  const validation = new Validation({ limits, timers: time, onFailure: (error) => failures.push(error) })
  const finishing: (() => void)[] = []
  const slow = schemaOf((value) => new Promise((resolve) => finishing.push(() => resolve({ value }))))
  async function run(draft: Draft<'json'>, account: unknown, schema = slow): Promise<string> {
    try {
      const completed = validation.run(draft, schema, account)
      const done = await Promise.race([completed, new Promise((resolve) => setImmediate(resolve))])
      return done ? 'stored' : 'waits'
    } catch (error) {
      return error instanceof Refusal ? error.code : assert.fail(String(error))
    }
  }
  return { time, failures, validation, finishing, slow, run }
}

const countOf = (ends: readonly string[], end: string) => ends.filter((one) => one === end).length

for (const [says, accountOf] of [
  ['by one user', () => 'eve'],
  ['by as many connections', () => ({})],
] as const)
  test(`270 large messages ${says} hold no more than the limits while they wait`, async () => {
    const { validation, finishing, run } = openValidation()
    const ends: string[] = []
    for (let n = 1; n <= 270; n += 1) ends.push(await run(draftOf(n, large), accountOf()))
    const waiting = countOf(ends, 'waits')
    assert.ok(waiting >= 1 && waiting <= 6, `${waiting} wait`)
    assert.equal(countOf(ends, 'too-much-begun'), 270 - waiting)
    assert.equal(finishing.length, waiting)
    assert.ok(validation.waitingBytes <= limits.unfinishedBytes, `${validation.waitingBytes} bytes`)
    // A healthy user beside them.
    assert.equal(await run(draftOf(271, { text: 'Hello' }), 'ann'), 'waits')
    for (const finish of finishing) finish()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(validation.waitingBytes, 0)
    assert.equal(await run(draftOf(272, large), 'eve'), 'waits')
  })

test('after its time the sender is refused, but the memory counts until the application has finished', async () => {
  const { time, failures, validation, finishing, slow } = openValidation()
  const refused = assert.rejects(async () => validation.run(draftOf(1, large), slow, 'eve'), {
    code: 'bad-shape',
    id: 'w1-1',
    message: 'The data could not be checked: the schema of channel "room.1" failed on it.',
  })
  time.advance(limits.bodySeconds * 1000)
  await refused
  assert.deepEqual(failures.map(String), [
    'Error: validate, of channel "room.1", took longer than 30 s (limits.bodySeconds).',
  ])
  assert.ok(validation.waitingBytes > 20_000_000)
  for (const finish of finishing) finish()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([validation.waitingBytes, time.pending(), failures.length], [0, 0, 1])
})

test('a schema that answers at once is never refused for what waits for another one', async () => {
  const { run } = openValidation()
  for (let n = 1; n <= 20; n += 1) await run(draftOf(n, large), {})
  const atOnce = schemaOf((value) => ({ value }))
  for (const n of [21, 22]) assert.equal(await run(draftOf(n, large), 'ann', atOnce), 'stored')
})

test('the application may wait for its own schema as long as it likes', async () => {
  const { time, failures, validation, slow, finishing } = openValidation()
  const waiting = Array.from({ length: 10 }, (_nothing, n) => validation.run(draftOf(n, large), slow, null))
  time.advance(600_000)
  for (const finish of finishing) finish()
  for (const { body } of await Promise.all(waiting)) assert.ok(body instanceof KeptJson)
  assert.deepEqual([failures, validation.waitingBytes], [[], 0])
})

for (const [says, answer, stored] of [
  ['the same bytes', (value: unknown) => value, { bytes: 'AQID' }],
  ['other bytes', () => Uint8Array.of(4), { bytes: 'BA==', digest: 'stored' }],
  ['text', () => 'AQID', { data: 'AQID', digest: 'stored' }],
] as const)
  test(`a schema gets bytes as bytes; it may return ${says}`, async () => {
    const { validation } = openValidation()
    const given: unknown[] = []
    const schema = schemaOf((value) => ({ value: answer(given[given.push(value) - 1]) }))
    const draft = { ...draftOf(1, null), body: { bytes: 'AQID' } }
    const { body } = await validation.run(draft, schema, null)
    const { digest, ...content } = parsed(body)
    assert.deepEqual(given, [Uint8Array.of(1, 2, 3)])
    assert.deepEqual({ ...content, ...(digest && { digest: 'stored' }) }, stored)
  })

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test('a schema’s result may be nested 100 levels deep; a deeper one is its failure, with a sentence', async () => {
  for (const [levels, end] of [
    [100, 'stored'],
    [101, 'bad-shape'],
    [3000, 'bad-shape'],
    [200_000, 'bad-shape'],
  ] as const)
    for (const answer of [(value: unknown) => ({ value }), async (value: unknown) => ({ value })]) {
      const { failures, run } = openValidation()
      const schema = schemaOf(() => answer(nested(levels)))
      assert.equal(await run(draftOf(1, 'x'), 'ann', schema), end)
      const [failure = ''] = failures.map(String)
      if (end === 'stored') assert.equal(failure, '')
      else
        assert.match(
          failure,
          /^TypeError: validate, of channel "room\.1": data is nested more than 100 levels deep/,
        )
    }
})
