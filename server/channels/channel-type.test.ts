import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../protocol/refusal.ts'
import { processTimers } from '../../scripts/process.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { admitDraft } from '../hub/admission.ts'
import { RecentDeliveries } from '../hub/delivery.ts'
import { openHub, refusalOf, settled } from '../hub/hub-testing.ts'
import { Channels } from '../library/channels.ts'
import { ampleLimits, idsOf } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { type ChannelType, fits, type Gate, typesByName } from './channel-type.ts'
import { number, object } from './shapes.ts'

declare module '../../protocol/bodies.ts' {
  interface Bodies {
    count: { readonly total: number }
  }
}

/** A type that no other layer knows: only the newest of its totals matters. */
const counter: ChannelType = {
  name: 'counter',
  kinds: { count: { body: object({ total: number }), drop: 'superseded' } },
  showsWindows: false,
}

const typeOf = typesByName([['count.*', counter]])

test('a prefix and * names all channels that begin so; without it, one', () => {
  assert.deepEqual(
    ['room.1', 'room.', 'room', '*'].map((channel) => [fits('room.*', channel), fits('room.1', channel)]),
    [
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ],
  )
  assert.ok(fits('*', 'anything'))
})

const total = (n: number) => ({
  id: `w1-${n}`,
  channel: 'count.visits',
  kind: 'count' as const,
  from: 'w1',
  at: n,
  body: { total: n },
})

test('a client may send what a type declares, and nothing else', async () => {
  assert.deepEqual(admitDraft(total(1), typeOf), total(1))
  for (const [given, named] of [
    [{ ...total(1), body: { total: 'one' } }, 'body.total must be a number'],
    [{ ...total(1), body: {} }, 'body.total must be a number'],
    [{ ...total(1), kind: 'json' }, 'kind must be "count": channel "count.visits" is of the type counter'],
  ] as const) {
    const { code, message } = await refusalOf(() => admitDraft(given, typeOf))
    assert.equal(code, 'bad-shape')
    assert.ok(message.startsWith(`Invalid message: ${named}`), message)
  }
})

test('a slow reader gets the newest of a kind that conflates, and no window is shown there', async () => {
  const { hub, enter } = openHub({ typeOf })
  const { connection, window } = enter({ id: 'w2', channels: ['count.visits'] })
  await settled()
  connection.isFull = true
  for (const n of [1, 2, 3, 4]) await hub.publish(total(n))
  connection.isFull = false
  window.drained()
  const got = connection.frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.body] : []))
  assert.deepEqual(got, [{ total: 1 }, { total: 4 }])
  const { code } = await refusalOf(() => hub.show(window, { state: { x: 1 } }))
  assert.equal(code, 'read-only-channel')
})

test('two conflated kinds do not replace each other', async () => {
  const both = { ...counter, kinds: { ...counter.kinds, figure: { drop: 'superseded' } } } as const
  const { hub, enter } = openHub({ typeOf: typesByName([['count.*', both]]) })
  const { connection, window } = enter({ id: 'w2', channels: ['count.visits'] })
  await settled()
  connection.isFull = true
  await hub.publish(total(1))
  await hub.publish({ ...total(2), kind: 'figure', body: { value: 2 } })
  await hub.publish({ ...total(3), kind: 'figure', body: { value: 3 } })
  await hub.publish(total(4))
  connection.isFull = false
  window.drained()
  const got = connection.frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.body] : []))
  assert.deepEqual(got, [{ total: 1 }, { value: 3 }, { total: 4 }])
})

test('a base is not mistaken for its newest message, whose number it has', () => {
  const sum: ChannelType = { ...counter, kinds: { count: { fold: () => ({ total: 0 }) } } }
  const recent = new RecentDeliveries(typesByName([['count.*', sum]]))
  const message = { ...total(3), seq: 3, acceptedAt: 3 }
  const head = { epoch: 'life1', seq: 3 }
  recent.add(message, 'life1:3')
  const bodiesOf = (body: { readonly total: number }) =>
    recent.deliveriesOf({ messages: [{ ...message, body }], head }).map(({ frame }) => frame)
  assert.deepEqual(bodiesOf({ total: 6 }), [{ type: 'message', message: { ...message, body: { total: 6 } } }])
})

test('an application declares a channel whose newest message alone matters', async () => {
  const rules = { price: { kind: 'json', latest: true }, chat: { kind: 'json' } } as const
  const channels = new Channels({
    rules,
    settings: defaultEngine,
    timers: processTimers,
    log: () => assert.fail('no message is intercepted'),
    onFailure: assert.ifError,
  })
  const { hub, enter } = openHub({ typeOf: channels.typeOf })
  const { connection, window } = enter({ id: 'w2', channels: ['price', 'chat'] })
  await settled()
  connection.isFull = true
  for (const n of [1, 2, 3])
    for (const channel of ['price', 'chat'])
      await hub.publish({
        id: `w1-${channel}${n}`,
        channel,
        kind: 'json',
        from: 'w1',
        at: n,
        body: { data: n },
      })
  connection.isFull = false
  window.drained()
  const got = connection.frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.id] : []))
  assert.deepEqual(got, ['w1-price1', 'w1-chat1', 'w1-chat2', 'w1-price3', 'w1-chat3'])
})

function openLog(change: Partial<ChannelType>) {
  return createMemoryLog({
    epoch: 'life1',
    limits: ampleLimits,
    typeOf: typesByName([['count.*', { ...counter, ...change }]]),
    now: () => 1,
    onFailure: (error) => assert.fail(String(error)),
  })
}

test('every draft passes the gate of its channel’s type, which may refuse it or let it wait', async () => {
  const opened = Promise.withResolvers<void>()
  const gate: Gate = {
    pass(draft, acceptedAt, store) {
      if (draft.at === 1) return opened.promise.then(() => store(draft, acceptedAt))
      if (draft.at === 2) return Promise.reject(new Refusal('bad-shape', 'Not two.', draft.id))
      return store(draft, acceptedAt)
    },
  }
  const log = openLog({ gate })
  const first = log.append(total(1), 1)
  await assert.rejects(async () => log.append(total(2), 1), { code: 'bad-shape' })
  assert.equal(log.append(total(3), 1), 1)
  assert.equal(log.append({ ...total(2), channel: 'another' }, 1), 2)
  opened.resolve()
  assert.equal(await first, 3)
})

test('a type completes a channel before it is read as a whole, past its gate', async () => {
  const gate: Gate = { pass: () => assert.fail() }
  const log = openLog({
    gate,
    prepare: ({ channel, kinds }, messages, store) =>
      kinds.length > 0
        ? null
        : (async () => {
            assert.deepEqual(messages(), [])
            await store({ ...total(7), channel }, 1)
          })(),
  })
  for (const _time of [1, 2]) {
    const { messages, head } = await log.snapshot(new Set(['count.visits', 'another']))
    assert.deepEqual([idsOf(messages), head.seq], [['w1-7'], 1])
  }
  const { messages } = await log.read(null, new Set(['count.more']))
  assert.deepEqual(idsOf(messages), ['w1-7'])
  const { recovered } = await log.read({ epoch: 'life1', seq: 1 }, new Set(['count.new']))
  assert.equal(recovered, true)
})
