// Messages that wait for an application's schema are counted, and refused over the limits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bodies, Draft } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { KeptJson, keptAsText, parsed } from '../log/kept-json.ts'
import type { StandardSchema } from './standard-schema.ts'
import { type Before, isSameAsSent, type Publication, Validation } from './validation.ts'

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

const stored = async (validation: Validation, before: Before, data: unknown = { text: 'a' }) =>
  parsed((await validation.before(keptAsText(draftOf(1, data)), before, 'ann')).body as Bodies['json'])

test('`before` may replace the data; what it returns is stored with a digest of what was sent', async () => {
  const { validation } = openValidation()
  const given: Publication[] = []
  const before: Before = (message) => {
    given.push(message)
    return { data: { text: 'b' } }
  }
  const { data, digest } = await stored(validation, before)
  assert.deepEqual(data, { text: 'b' })
  assert.equal(typeof digest, 'string')
  assert.deepEqual(given, [
    { channel: 'room.1', data: { text: 'a' }, id: 'w1-1', from: 'w1', user: null, at: 1 },
  ])
})

test('`before` that returns nothing, or the same, leaves the message as it is, even if it changed its copy', async () => {
  const { validation } = openValidation()
  const changesItsCopy: Before<{ text: string }> = ({ data }) => {
    Object.assign(data, { text: 'b' })
  }
  for (const before of [async () => undefined, changesItsCopy as Before, () => ({ data: { text: 'a' } })])
    assert.deepEqual(await stored(validation, before), { data: { text: 'a' } })
})

test('a refusal of `before` names the draft; after another error the client sends again', async () => {
  const { failures, validation } = openValidation()
  const refusing = () => {
    throw new Refusal('declined', 'Not here.')
  }
  await assert.rejects(stored(validation, refusing), { code: 'declined', message: 'Not here.', id: 'w1-1' })
  assert.deepEqual(failures, [])
  for (const [before, sentence] of [
    [() => Promise.reject(new Error('no database')), 'Error: no database'],
    [
      () => false,
      'TypeError: before, of channel "room.1", returned false; it must return { data }, or nothing, or throw a Refusal.',
    ],
    [
      () => ({ data: 1, text: 2 }),
      'Error: What before, of channel "room.1", returned has no text; it has data.',
    ],
    [() => ({ data: 1n }), 'TypeError: before, of channel "room.1": data is 1n, which JSON does not have.'],
  ] as const) {
    await assert.rejects(stored(validation, before as Before), {
      code: 'application-failed',
      message: 'The application failed on this message (before, of channel "room.1"); send it again.',
      id: 'w1-1',
      retryAfterMs: 1000,
    })
    assert.deepEqual(failures.splice(0).map(String), [sentence])
  }
})

test('`before` that hangs costs its sender a time limit and its share of the budget, and others nothing', async () => {
  const { time, failures, validation } = openValidation()
  const finishing: (() => void)[] = []
  const hanging = () => new Promise<undefined>((resolve) => finishing.push(() => resolve(undefined)))
  const before = (n: number, account: string) =>
    validation.before(keptAsText(draftOf(n, large)), hanging, account)
  const first = assert.rejects(before(1, 'eve'), { code: 'application-failed', id: 'w1-1' })
  await assert.rejects(before(2, 'eve'), { code: 'too-much-begun', retryAfterMs: 1000 })
  assert.deepEqual(await stored(validation, () => undefined), { data: { text: 'a' } })
  time.advance(limits.bodySeconds * 1000)
  await first
  assert.deepEqual(failures.map(String), [
    'Error: before, of channel "room.1", took longer than 30 s (limits.bodySeconds).',
  ])
  assert.ok(validation.waitingBytes > 20_000_000)
  for (const finish of finishing) finish()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([validation.waitingBytes, time.pending()], [0, 0])
})

test('two bodies are the same if they were the same when sent, whatever was made of each', async () => {
  const { validation } = openValidation()
  const sent = { data: { text: 'a' } }
  const first = await stored(validation, () => ({ data: 1 }))
  const second = await stored(validation, () => ({ data: 2 }))
  for (const [one, other] of [
    [first, second],
    [first, sent],
    [sent, first],
  ] as const)
    assert.ok(isSameAsSent(one, other))
  assert.ok(isSameAsSent({ data: { a: 1, b: 2 } }, { data: { b: 2, a: 1 } }))
  assert.ok(!isSameAsSent(first, { data: 1 }))
  assert.ok(!isSameAsSent(sent, { data: { text: 'b' } }))
})

test('`before` gets bytes as bytes and, of a change, the number of its message', async () => {
  const { validation } = openValidation()
  const given: Publication[] = []
  const before: Before = (publication) => {
    given.push(publication)
    return { data: Uint8Array.of(4) }
  }
  const change = {
    ...draftOf(2, null),
    kind: 'change',
    body: { seq: 7, bytes: 'AQID', user: 'ann' },
  } as const
  const { body } = await validation.before(change, before, 'ann')
  assert.deepEqual(given, [
    {
      channel: 'room.1',
      data: Uint8Array.of(1, 2, 3),
      id: 'w1-2',
      from: 'w1',
      user: 'ann',
      at: 1,
      changes: 7,
    },
  ])
  const { digest, ...rest } = body as Bodies['change']
  assert.deepEqual([rest, typeof digest], [{ seq: 7, bytes: 'BA==', user: 'ann' }, 'string'])
  assert.ok(isSameAsSent(body, change.body))
})
