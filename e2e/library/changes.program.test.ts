// Messages that their senders, or the server, change and erase.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Room } from '../../client/connect.ts'
import { modes } from '../../protocol/modes.ts'
import { type Said, start, texts } from './testing.ts'

const channels = {
  'room.*': { kind: 'json', changes: true },
  'rules.*': { kind: 'json', changes: 'server' },
  'news.*': { kind: 'json' },
} as const

/** The next `count` changes, as `number: text`, or `number: erased`. */
function changesIn(room: Room<Said>, count: number): Promise<string[]> {
  const seen: string[] = []
  return new Promise((resolve) => {
    room.on('change', ({ changes, data }) => {
      if (seen.push(`${changes}: ${data?.text ?? 'erased'}`) === count) resolve(seen)
    })
  })
}

for (const { name } of modes)
  test(`over ${name}, all hear that a message was changed and erased, and later readers get it so`, async (t) => {
    const { open, crosswind } = await start(t, { channels, isSecure: true })
    const room = open({ modes: [name] }).channel<Said>('room.1')
    const other = open({ modes: [name] }).channel<Said>('room.1', { from: 'start' })
    const seen = changesIn(other, 3)
    const first = texts(other, 2)
    const one = await room.publish({ text: 'helo' })
    const two = await room.publish({ text: 'secret' })
    assert.deepEqual(await first, ['helo', 'secret'])
    await room.change(one.seq, { text: 'hello' })
    await room.erase(two.seq)
    await crosswind.change('room.1', one.seq, { text: 'Hello' })
    assert.deepEqual(await seen, [`${one.seq}: hello`, `${two.seq}: erased`, `${one.seq}: Hello`])
    const late = open({ modes: [name] }).channel<Said>('room.1', { from: 'start' })
    const read: unknown[] = []
    for await (const { data, changedAt } of late) if (read.push([data?.text, typeof changedAt]) === 2) break
    assert.deepEqual(read, [
      ['Hello', 'number'],
      [undefined, 'number'],
    ])
  })

test('only its sender and the server may change a message, as far as the channel declares it', async (t) => {
  const { open, crosswind } = await start(t, { channels })
  const room = open().channel<Said>('room.1')
  const other = open().channel<Said>('room.1')
  const { seq } = await room.publish({ text: 'mine' })
  await assert.rejects(other.erase(seq), {
    code: 'not-your-message',
    message: `Only its sender may change message ${seq} of channel "room.1".`,
  })
  const rules = open().channel<Said>('rules.1')
  const rule = await rules.publish({ text: 'rule' })
  await assert.rejects(rules.change(rule.seq, { text: 'none' }), {
    code: 'not-your-message',
    message: 'Only the server may change messages of channel "rules.1".',
  })
  const news = open().channel<Said>('news.1')
  const published = await news.publish({ text: 'news' })
  const undeclared = {
    code: 'not-your-message',
    message: 'Messages of channel "news.1" cannot be changed: declare `changes` in its rule.',
  }
  await assert.rejects(news.change(published.seq, { text: 'fake' }), undeclared)
  await assert.rejects(crosswind.erase('news.1', published.seq), undeclared)
  await crosswind.erase('room.1', seq)
  await crosswind.erase('rules.1', rule.seq)
  await assert.rejects(room.change(seq, { text: 'again' }), { code: 'not-found' })
  await assert.rejects(crosswind.erase('rules.1', 99), { code: 'not-found' })
  assert.doesNotMatch(JSON.stringify(await Array.fromAsync(crosswind.read('room.1'))), /mine/)
})

test('reading back leaves out changes, on the server and in a client, and what follows has them', async (t) => {
  const { open, crosswind } = await start(t, { channels })
  const { seq } = await crosswind.publish('room.1', { text: 'one' })
  await crosswind.publish('room.1', { text: 'other' })
  for (const text of ['two', 'three', 'four']) await crosswind.change('room.1', seq, { text })
  const client = open()
  const room = client.channel<Said>('room.1')
  const textsIn = ({ messages }: { readonly messages: readonly { readonly data: unknown }[] }) =>
    messages.map(({ data }) => Object(data).text)
  const newest = await room.readBack({ limit: 1 })
  assert.deepEqual([textsIn(newest), newest.hasEarlier], [['other'], true])
  await crosswind.change('room.1', seq, { text: 'five' })
  const first = await room.readBack({ limit: 1, before: newest.messages[0]?.seq })
  assert.deepEqual([textsIn(first), first.hasEarlier], [['five'], false])
  const heard: string[] = []
  await new Promise<void>((resolve) => {
    client.subscribe<Said>('room.1', {
      from: newest.cursor,
      onChange: ({ changes, data }) => heard.push(`${changes}: ${data?.text}`),
      onMessage({ data }) {
        heard.push(data.text)
        resolve()
      },
    })
    void crosswind.publish('room.1', { text: 'last' })
  })
  assert.deepEqual(heard, [`${seq}: five`, 'last'])
  const whole = await crosswind.readBack('room.1', { limit: 3 })
  assert.deepEqual([textsIn(whole), whole.hasEarlier], [['five', 'other', 'last'], false])
})

test('a user changes own messages from any of its clients, and a schema checks the new data', async (t) => {
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof Object(value).text === 'string' ? { value } : { issues: [{ message: 'no text', path: [] }] },
    },
  } as const
  const { open, crosswind } = await start(t, {
    channels: { 'room.*': { kind: 'json', changes: true, validate } },
    authorize: ({ token }) => ({ user: token ?? '', read: ['*'], write: ['*'] }),
  })
  const as = (user: string) => open({ token: () => user }).channel<Said>('room.1')
  const { seq } = await as('ann').publish({ text: 'one' })
  await assert.rejects(as('bob').erase(seq), { code: 'not-your-message' })
  await assert.rejects(as('ann').change(seq, {} as Said), { code: 'bad-shape' })
  await as('ann').change(seq, { text: 'two' })
  const isAsNow = ({ user, data }: { readonly user: string | undefined; readonly data: unknown }) => [
    user,
    data,
  ]
  const { messages } = await crosswind.readBack('room.1')
  for (const read of [await Array.fromAsync(crosswind.read('room.1')), messages])
    assert.deepEqual(read.map(isAsNow), [['ann', { text: 'two' }]])
})
