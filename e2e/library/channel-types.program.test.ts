// A type of channel that an application declares: all of it stands here, for its server and its clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChannelType } from '../../server/index.ts'
import { Refusal } from '../../server/index.ts'
import { settled } from '../../server/log/log-testing.ts'
import { start } from './testing.ts'

declare module '../../server/wire/bodies.ts' {
  interface Bodies {
    /** How many visitors have come since the message before. */
    visits: Visits
    /** How many may come, as the server says. */
    most: { readonly most: number }
  }
}

interface Visits {
  readonly more: number
  readonly user?: string
}

const isCount = (given: unknown) => Number.isInteger(given) && Number(given) > 0

/** Counts visitors: older messages are joined into their sum, and nobody comes in any more when it is full. */
const visits: ChannelType = {
  name: 'visits',
  kinds: {
    visits: {
      body: (given) =>
        isCount((given as Visits).more) ? null : { path: 'more', must: 'a whole number above 0' },
      fold: (messages) => ({ more: messages.reduce((sum, { body }) => sum + body.more, 0) }),
    },
    most: { drop: 'superseded' },
  },
  refuse({ kind, channel, id }, { newest }) {
    if (kind !== 'visits' || newest('most')?.body.most !== 0) return null
    return new Refusal('read-only-channel', `"${channel}" is full.`, id)
  },
  showsWindows: false,
}

const channels = { 'visits.*': visits, 'room.*': { kind: 'json' } } as const

test('a type is declared in one place for the server, and used in one place by a client', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  const ann = open()
  const bob = open()
  const counted = ann.channel<Visits>('visits.hall', { kind: 'visits' })
  const heard: number[] = []
  const three = Promise.withResolvers<void>()
  counted.on('message', ({ data }) => {
    heard.push(data.more)
    if (heard.length === 3) three.resolve()
  })
  await counted.publish({ more: 2 })
  await bob.channel<Visits>('visits.hall', { kind: 'visits' }).publish({ more: 3 })
  await crosswind.publish('visits.hall', { more: 5 }, { user: 'door' })
  await three.promise
  assert.deepEqual(heard, [2, 3, 5])

  await assert.rejects(counted.publish({ more: 0 }), {
    code: 'bad-shape',
    message: /body\.more must be a whole number above 0/,
  })
  await assert.rejects(bob.channel('visits.yard', { kind: 'most' }).publish({ most: 9 }), {
    code: 'bad-shape',
    message: /kind must be "visits": channel "visits\.yard" is of the type visits/,
  })
  await crosswind.publish('visits.hall', { most: 0 }, { kind: 'most' })
  await assert.rejects(counted.publish({ more: 1 }), { code: 'read-only-channel', message: /is full/ })
})

test('what its messages come to is read as a whole, by a client that comes later and on the server', async (t) => {
  const { crosswind, open } = await start(t, { channels })
  for (let n = 1; n <= 2500; n += 1) await crosswind.publish('visits.hall', { more: n })
  // They are joined in turns of their own.
  for (const _turn of [1, 2, 3]) await settled()
  const isSum = (data: readonly Visits[]) => data.reduce((sum, { more }) => sum + more, 0) === 3_126_250
  const read = await Array.fromAsync(crosswind.read('visits.hall'))
  assert.ok(isSum(read.map(({ data }) => data as Visits)))
  assert.ok(read.every(({ kind }) => kind === 'visits'))
  assert.ok(read.length < 2500, `${read.length} messages were not joined`)

  const late: Visits[] = []
  const whole = Promise.withResolvers<void>()
  open()
    .channel<Visits>('visits.hall', { kind: 'visits', from: 'start' })
    .on('message', ({ data }) => {
      late.push(data)
      if (isSum(late)) whole.resolve()
    })
  await whole.promise
})

test('a server does not start with a type that does not fit, and says which part and what it must be', async (t) => {
  const wrong = (change: object) => start(t, { channels: { 'visits.*': { ...visits, ...change } } })
  for (const [change, says] of [
    [{ kinds: {} }, /channels\['visits\.\*'\]\.kinds is empty; a type has at least one kind/],
    [{ kinds: { erasure: {} } }, /kinds has "erasure"; a kind is/],
    [
      { kinds: { visits: { drop: 'newest' } } },
      /kinds\['visits'\]\.drop is "newest"; it must be "oldest" or/,
    ],
    [{ kinds: { visits: { folds: 1 } } }, /kinds\['visits'\] has no folds; did you mean fold/],
    [{ name: undefined }, /channels\['visits\.\*'\]\.name is missing/],
    [{ refuse: true }, /refuse is true; it must be of the type function/],
    [{ gate: {} }, /gate\.pass is undefined; it must be a function/],
    [{ keep: { hours: -1 } }, /keep\.hours is -1; it must be a number above 0/],
    [{ validate: 1 }, /channels\['visits\.\*'\] has no validate/],
  ] as const)
    await assert.rejects(wrong(change), says)
})

test('what is no type and no document is read by the ways of its kind', async (t) => {
  const { crosswind } = await start(t, { channels: { ...channels, 'doc.*': { kind: 'yjs' } } })
  await assert.rejects(Array.fromAsync(crosswind.read('doc.1')), { code: 'bad-channel' })
  await assert.rejects(crosswind.readBack('doc.1'), { code: 'bad-channel', message: /by document\(\)/ })
  await assert.rejects(crosswind.publish('room.1', {}, { kind: 'visits' }), {
    code: 'bad-shape',
    message: /kind must be "json"/,
  })
})
