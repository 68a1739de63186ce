// `before`: the application sees each message of a client before it is stored, and refuses or changes it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { modes } from '../../protocol/modes.ts'
import { type CrosswindOptions, type Publication, Refusal } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Said, start, texts } from './testing.ts'

type Channels = CrosswindOptions['channels']

const dataOf = async (messages: AsyncIterable<{ readonly data: unknown }>) =>
  Array.fromAsync(messages, ({ data }) => data)

test('it refuses with a code and a sentence, or changes the data, in every mode', async (t) => {
  const channels: Channels = {
    'room.*': {
      kind: 'json',
      validate: z.object({ text: z.string().trim() }),
      async before({ data, user, channel }: Publication<Said>) {
        await new Promise(setImmediate)
        if (data.text === 'spam') throw new Refusal('declined', 'No advertisements.')
        return { data: { text: `${user} on ${channel}: ${data.text}` } }
      },
    },
  }
  const authorize = () => ({ user: 'ada', read: ['*'], write: ['*'] })
  const { open, crosswind } = await start(t, { channels, authorize, isSecure: true })
  for (const { name } of modes) {
    const room = open({ modes: [name] }).channel<Said>(`room.${name.replace('/', '-')}`)
    const heard = texts(room, 1)
    await assert.rejects(room.publish({ text: ' spam' }), { code: 'declined', message: 'No advertisements.' })
    await room.publish({ text: ' hello' })
    const text = `ada on ${room.name}: hello`
    assert.deepEqual(await heard, [text])
    assert.deepEqual(await dataOf(crosswind.read(room.name)), [{ text }])
  }
})

for (const { name } of modes)
  test(`a slow one keeps each client's order over ${name}, also when it fails at first`, async (t) => {
    const failures: unknown[] = []
    let calls = 0
    const channels: Channels = {
      numbers: {
        kind: 'json',
        async before({ data }: Publication<number>) {
          calls += 1
          for (let turns = 20 - data; turns > 0; turns -= 1) await new Promise(setImmediate)
          if (calls === 3) throw new Error('no database')
        },
      },
    }
    const { open, crosswind } = await start(t, {
      channels,
      isSecure: true,
      onFailure: (error) => failures.push(error),
    })
    const room = open({ modes: [name] }).channel('numbers')
    await Promise.all(Array.from({ length: 20 }, (_nothing, n) => room.publish(n)))
    assert.deepEqual(
      await dataOf(crosswind.read('numbers')),
      Array.from({ length: 20 }, (_nothing, n) => n),
    )
    assert.deepEqual(failures.map(String), ['Error: no database'])
  })

test('it is not called for what the application publishes', async (t) => {
  const channels: Channels = { 'room.*': { kind: 'json', before: () => assert.fail('it is called') } }
  const { crosswind } = await start(t, { channels })
  await crosswind.publish('room.1', { text: 'hello' })
  assert.deepEqual(await dataOf(crosswind.read('room.1')), [{ text: 'hello' }])
})

test('it sees messages that a route publishes for its caller', async (t) => {
  const channels: Channels = { 'room.*': { kind: 'json', before: ({ from }) => ({ data: `by ${from}` }) } }
  const { crosswind, origin } = await start(t, {
    channels,
    async application(request, response) {
      const caller = await crosswind.caller(request)
      const place = { id: 'c1-1', from: 'c1', channel: 'room.1', at: 1 }
      await caller.publish(caller.draft({ ...place, kind: 'json', body: { data: 1 } }))
      response.end()
    },
  })
  await fetch(`${origin}/publish`, { method: 'POST' })
  assert.deepEqual(await dataOf(crosswind.read('room.1')), ['by c1'])
})

async function startPosting(t: Parameters<typeof start>[0], before: (message: Publication) => unknown) {
  const channels = { 'room.*': { kind: 'json', before } } as Channels
  const { origin, crosswind } = await start(t, { channels })
  const post = async (data: unknown, id = 'c1-1') => {
    const client = connectHttp('1.1', origin, null)
    const { body } = await client.ask({
      method: 'POST',
      path: '/realtime/messages',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, channel: 'room.1', kind: 'json', from: 'c1', at: 0, body: { data } }),
    })
    const { seq, code } = JSON.parse(await textOf(body))
    client.close()
    return seq ?? code
  }
  return { crosswind, post }
}

test('a repeat of a stored message is answered without another call, whatever was made of the first', async (t) => {
  let calls = 0
  const { crosswind, post } = await startPosting(t, () => {
    calls += 1
    return { data: { calls } }
  })
  assert.deepEqual([await post({ a: 1 }), await post({ a: 1 }), await post({ a: 2 })], [1, 1, 'id-taken'])
  assert.equal(calls, 1)
  assert.deepEqual(await dataOf(crosswind.read('room.1')), [{ calls: 1 }])
})

test('repeats that arrive while it runs share one call', async (t) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const { promise: called, resolve: begin } = Promise.withResolvers<void>()
  let calls = 0
  const { post } = await startPosting(t, async () => {
    calls += 1
    begin()
    await answered
    return { data: calls }
  })
  const first = post('x')
  await called
  const repeat = post('x')
  assert.equal(await post('y'), 'id-taken')
  answer()
  assert.deepEqual([await first, await repeat, calls], [1, 1, 1])
})

test('one that waits holds up its sender, and nobody else', async (t) => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { crosswind, post } = await startPosting(t, ({ id }) => (id === 'c1-1' ? ended : undefined))
  const waiting = post('x')
  assert.equal(await post('y', 'c1-2'), 1)
  assert.deepEqual(await dataOf(crosswind.read('room.1')), ['y'])
  end()
  assert.equal(await waiting, 2)
})

test('only channels of the kind json have it', async (t) => {
  for (const [rule, sentence] of [
    [{ kind: 'yjs', before: () => undefined }, /of the kind yjs, has no before; it has kind and owners/],
    [{ kind: 'json', before: true }, /channels\['a'\]\.before is true; it must be a function/],
  ] as const)
    await assert.rejects(start(t, { channels: { a: rule as never } }), { message: sentence })
})
