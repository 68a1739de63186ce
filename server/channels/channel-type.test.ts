import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processTimers } from '../../scripts/process.ts'
import { defaultConfig } from '../config/config.ts'
import { admitDraft } from '../hub/admission.ts'
import { openHub, refusalOf, settled } from '../hub/hub-testing.ts'
import { Channels } from '../library/channels.ts'
import { type ChannelType, fits, typesByName } from './channel-type.ts'
import { number, object } from './shapes.ts'

declare module '../wire/messages.ts' {
  interface Bodies {
    count: { readonly total: number }
  }
}

/** A type that nobody else knows: of its totals only the newest matters. */
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

test('an application declares a channel of which only the newest message matters', async () => {
  const rules = { price: { kind: 'json', latest: true }, chat: { kind: 'json' } } as const
  const channels = new Channels(rules, defaultConfig.limits, processTimers, assert.ifError)
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
