// A type of channel that an application declares: all of it stands here, for its server and its clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChannelType } from '../../server/index.ts'
import { Refusal } from '../../server/index.ts'
import { countTo, settled } from '../../server/log/log-testing.ts'
import { start } from './testing.ts'

declare module '../../protocol/bodies.ts' {
  interface Bodies {
    guests: Guests
    /** Whether more may come, as the server says. */
    door: { readonly isOpen: boolean }
  }
}

/** Guests that have come in. */
interface Guests {
  readonly names: readonly string[]
  readonly user?: string
}

const isNames = (given: unknown) => Array.isArray(given) && given.every((one) => typeof one === 'string')

/** A guest book: older messages are joined into one with all names, and nobody comes in while the door is shut. */
const guests: ChannelType = {
  name: 'guests',
  kinds: {
    guests: {
      body: (given) => (isNames((given as Guests).names) ? null : { path: 'names', must: 'a list of texts' }),
      fold: (messages) => ({ names: [...new Set(messages.flatMap(({ body }) => body.names))] }),
    },
    door: { drop: 'superseded' },
  },
  refuse({ kind, channel, id }, { newest }) {
    if (kind !== 'guests' || newest('door')?.body.isOpen !== false) return null
    return new Refusal('read-only-channel', `"${channel}" is shut.`, id)
  },
  showsWindows: false,
}

const channels = { 'guests.*': guests, 'room.*': { kind: 'json' } } as const
const hall = 'guests.hall'

test('a type is declared in one place for the server, and used in one place by a client', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  const ann = open()
  const bob = open()
  const book = ann.channel<Guests>(hall, { kind: 'guests' })
  const heard: Guests[] = []
  const three = Promise.withResolvers<void>()
  book.on('message', ({ data }) => {
    heard.push(data)
    if (heard.length === 3) three.resolve()
  })
  await book.publish({ names: ['ann'] })
  await bob.channel<Guests>(hall, { kind: 'guests' }).publish({ names: ['bob', 'eve'] })
  await crosswind.publish(hall, { names: ['zoe'] }, { user: 'porter' })
  await three.promise
  assert.deepEqual(heard, [{ names: ['ann'] }, { names: ['bob', 'eve'] }, { names: ['zoe'], user: 'porter' }])

  await assert.rejects(book.publish({ names: 1 } as never), {
    code: 'bad-shape',
    message: /body\.names must be a list of texts/,
  })
  await assert.rejects(bob.channel('guests.yard', { kind: 'door' }).publish({ isOpen: true }), {
    code: 'bad-shape',
    message: /kind must be "guests": channel "guests\.yard" is of the type guests/,
  })
  await crosswind.publish(hall, { isOpen: false }, { kind: 'door' })
  await assert.rejects(book.publish({ names: ['late'] }), { code: 'read-only-channel', message: /is shut/ })
})

test('a folded channel is read as a whole, by a later client and on the server', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  for (const n of countTo(2500)) await crosswind.publish(hall, { names: [`g${n}`] })
  // They are joined in turns of their own.
  for (const _turn of [1, 2, 3]) await settled()
  const isAll = (data: readonly Guests[]) => new Set(data.flatMap(({ names }) => names)).size === 2500
  const read = await Array.fromAsync(crosswind.read(hall))
  assert.ok(isAll(read.map(({ data }) => data as Guests)))
  assert.ok(read.every(({ kind }) => kind === 'guests'))
  assert.ok(read.length < 2500, `${read.length} messages were not joined`)

  const late: Guests[] = []
  const whole = Promise.withResolvers<void>()
  open()
    .channel<Guests>(hall, { kind: 'guests', from: 'start' })
    .on('message', ({ data }) => {
      late.push(data)
      if (isAll(late)) whole.resolve()
    })
  await whole.promise
  const [last] = read.slice(-1)
  assert.deepEqual(await Array.fromAsync(crosswind.read(hall, { after: last?.seq ?? 0 })), [])
})

test('after a restart that lost everything a client is told of a gap, and gets the new whole', async (t) => {
  const first = await start(t, { channels })
  const heard: string[] = []
  const begun = Promise.withResolvers<void>()
  const anew = Promise.withResolvers<void>()
  const book = first.open().channel<Guests>(hall, { kind: 'guests', from: 'start' })
  book.on('gap', () => heard.push('gap'))
  book.on('message', ({ data }) => {
    heard.push(...data.names)
    if (data.names.includes('eve')) begun.resolve()
    if (data.names.includes('zoe')) anew.resolve()
  })
  for (const name of ['ann', 'bob', 'eve']) await first.crosswind.publish(hall, { names: [name] })
  await begun.promise
  await first.stop()
  const second = await start(t, { channels, port: Number(new URL(first.origin).port) })
  await second.crosswind.publish(hall, { names: ['zoe'] })
  await anew.promise
  assert.deepEqual(heard, ['ann', 'bob', 'eve', 'gap', 'zoe'])
})

test('no client can set another user, and an id belongs to one message', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  const book = open().channel(hall, { kind: 'guests' })
  const names = ['ann']
  await assert.rejects(book.publish({ names, user: 'boss' }), { code: 'bad-shape', message: /without user/ })
  await assert.rejects(crosswind.publish(hall, { names, user: {} }), { code: 'bad-shape' })
  await assert.rejects(crosswind.publish(hall, null), {
    code: 'bad-shape',
    message: /body must be an object/,
  })
  await assert.rejects(crosswind.publish(hall, {}, { kind: 'guest' as 'guests' }), {
    code: 'bad-shape',
    message: /kind must be "guests" or "door"/,
  })
  const { seq } = await crosswind.publish(hall, { names }, { id: 'a' })
  assert.deepEqual(await crosswind.publish(hall, { names }, { id: 'a', user: 'ann' }), { seq })
  await assert.rejects(crosswind.publish(hall, { names: ['bob'] }, { id: 'a' }), { code: 'id-taken' })
})

test('a callback that throws is reported, and the message is stored and heard all the same', async (t) => {
  const failures: string[] = []
  const throwing = () => {
    throw new Error('Not today.')
  }
  const { crosswind } = await start(t, {
    channels: { 'guests.*': { ...guests, expiry: throwing } },
    onFailure: (error) => failures.push(String(error)),
  })
  await crosswind.publish(hall, { names: ['ann'] })
  assert.equal((await Array.fromAsync(crosswind.read(hall))).length, 1)
  assert.match(failures.join(), /expiry of the channel type guests failed/)
  assert.equal(await crosswind.deleteChannel(hall), true)
})

test('a channel can be deleted, whatever its type refuses', async (t) => {
  const once: ChannelType = {
    ...guests,
    gate: { pass: (draft, at, store) => ('names' in draft.body ? store(draft, at) : assert.fail()) },
    refuse: ({ id }, { kinds }) =>
      kinds.length > 0 ? new Refusal('read-only-channel', 'It has begun.', id) : null,
  }
  const { crosswind } = await start(t, { channels: { 'guests.*': once } })
  await crosswind.publish(hall, { names: ['ann'] })
  await assert.rejects(crosswind.publish(hall, { names: ['bob'] }), { code: 'read-only-channel' })
  assert.equal(await crosswind.deleteChannel(hall), true)
})

test('a server does not start with a type that does not fit, and says which part and what it must be', async (t) => {
  const wrong = (change: object) => start(t, { channels: { 'guests.*': { ...guests, ...change } } })
  for (const [change, says] of [
    [{ kinds: {} }, /channels\['guests\.\*'\]\.kinds is empty; a type has at least one kind/],
    [{ kinds: undefined }, /kinds is undefined; it must name the kinds of messages/],
    [{ kinds: { erasure: {} } }, /kinds has "erasure"; a kind is/],
    [{ kinds: { guests: null } }, /kinds\['guests'\] is null; it must be such as \{\}/],
    [
      { kinds: { guests: { drop: 'newest' } } },
      /kinds\['guests'\]\.drop is "newest"; it must be "oldest" or/,
    ],
    [{ kinds: { guests: { folds: 1 } } }, /kinds\['guests'\] has no folds; did you mean fold/],
    [{ name: undefined }, /channels\['guests\.\*'\]\.name is missing/],
    [{ refuse: true }, /refuse is true; it must be of the type function/],
    [{ gate: {} }, /gate\.pass is undefined; it must be a function/],
    [{ yjs: {}, gate: { pass: () => 1 } }, /gate stands beside yjs/],
    [{ yjs: { owner: true } }, /yjs has no owner; did you mean owners/],
    [{ yjs: {}, kinds: { update: {} } }, /kinds has "update", which a document has by yjs/],
    [{ keep: { hours: -1 } }, /keep\.hours is -1; it must be a number above 0/],
    [{ validate: 1 }, /channels\['guests\.\*'\] has no validate/],
  ] as const)
    await assert.rejects(wrong(change), says)
})

test('a document and a channel that is joined are not read backwards, and a channel takes its own kinds', async (t) => {
  const { crosswind } = await start(t, { channels: { ...channels, 'doc.*': { kind: 'yjs' } } })
  await assert.rejects(Array.fromAsync(crosswind.read('doc.1')), { code: 'bad-channel' })
  await assert.rejects(crosswind.readBack('doc.1'), { code: 'bad-channel', message: /by document\(\)/ })
  await assert.rejects(crosswind.readBack(hall), { code: 'bad-query', message: /is read as a whole/ })
  await assert.rejects(crosswind.publish('room.1', {}, { kind: 'guests' }), {
    code: 'bad-shape',
    message: /kind must be "json"/,
  })
})
