import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Presence } from '../../protocol/messages.ts'
import { createManualTime } from '../../protocol/testing.ts'
import {
  countTo,
  createFakeConnection,
  type FakePlace,
  identityOf,
  jsonFraming,
  streamsOf,
} from './hub-testing.ts'
import { type Client, Registry } from './registry.ts'
import { Subscriber } from './subscriber.ts'

function gather(maxDepartures = 10) {
  const time = createManualTime()
  const registry = new Registry(time, maxDepartures)
  let visits = 0

  function enter(place: FakePlace) {
    const fail = () => assert.fail('no window overflows or fails here')
    const connection = createFakeConnection(place)
    const window = new Subscriber(connection.joining, streamsOf({ omitted: fail, ended: fail, failed: fail }))
    return { connection, window, joined: registry.join(window) }
  }

  return {
    time,
    registry,
    enter,
    ask: (place: FakePlace) => registry.polled(identityOf(place)),
    on: (channel: string) => [...registry.streamsOn(channel)],
    pollers: () => [...registry.all()].filter(({ stream }) => !stream).length,
    /** A stream that has caught up, and the presence it receives. */
    visit(place: FakePlace = {}) {
      visits += 1
      const { connection, window } = enter({ id: `w${visits}`, ...place })
      window.begin(0)
      registry.presenceChanged()
      const client = registry.find(window.identity)
      assert.ok(client)
      const said = () => connection.frames as Presence[]
      /** The counts it received: windows, and its browser’s streams. */
      const told = () => said().map(({ windows, browserHttp1Streams }) => [windows, browserHttp1Streams])
      return { window, client, told, said }
    },
  }
}

test('finds its windows by id and by channel', () => {
  const { registry, enter, on } = gather()
  const { window: one } = enter({ id: 'w1', channels: ['main', 'wind'] })
  const { window: two } = enter({ id: 'w2', channels: ['other', 'wind'] })
  assert.deepEqual([on('main'), on('wind'), on('nowhere')], [[one], [one, two], []])
  assert.deepEqual([registry.named('w2')?.stream, registry.named('w3'), registry.size], [two, undefined, 2])
})

test('forgets a stream that leaves on all its channels, once, and keeps no channel without streams', () => {
  const { registry, enter, on } = gather()
  const { window: one } = enter({ id: 'w1', channels: ['main', 'wind'] })
  const { window: two } = enter({ id: 'w2', channels: ['wind'] })
  for (const _twice of [1, 2]) registry.leave(one)
  assert.deepEqual([on('main'), on('wind'), registry.size], [[], [two], 1])
  registry.leave(two)
  const nobody = registry.streamsOn('nowhere')
  for (const channel of ['main', 'wind']) assert.equal(registry.streamsOn(channel), nobody)
})

test('a newer stream replaces an older one, on the newer one’s channels', () => {
  const { registry, enter, on } = gather()
  const { window: older } = enter({ opening: 1, channels: ['main'] })
  const { window: newer, joined } = enter({ opening: 2, channels: ['other'] })
  assert.equal(joined?.replaced, older)
  assert.deepEqual([on('main'), on('other'), registry.size], [[], [newer], 1])
})

test('the later of two streams with the same opening stays: a browser that reconnects by itself repeats its opening', () => {
  const { enter, on } = gather()
  const { window: first } = enter({ opening: 1 })
  const { window: again, joined } = enter({ opening: 1 })
  assert.deepEqual([joined?.replaced, on('main')], [first, [again]])
})

test('an older stream that arrives late replaces nothing', () => {
  const { registry, enter, on } = gather()
  const { window: newer } = enter({ opening: 2 })
  const { window: late, joined } = enter({ opening: 1, channels: ['other'] })
  assert.equal(joined, null)
  registry.leave(late)
  assert.deepEqual([on('main'), on('other'), registry.size], [[newer], [], 1])
})

test('when a replaced stream leaves, the newer one stays', () => {
  const { registry, enter, on } = gather()
  const { window: older } = enter({ opening: 1 })
  const { window: newer } = enter({ opening: 2 })
  registry.leave(older)
  assert.deepEqual([on('main'), registry.named('w1')?.stream, registry.size], [[newer], newer, 1])
})

test('a window that polls, then opens a stream, then polls again, is one window all along', () => {
  const { registry, enter, ask, on, pollers } = gather()
  ask({ id: 'w1' })
  assert.deepEqual([registry.size, pollers(), on('main')], [1, 1, []])
  const { window, joined } = enter({ id: 'w1' })
  assert.deepEqual([joined?.replaced, registry.size, pollers(), on('main')], [null, 1, 0, [window]])
  assert.equal(ask({ id: 'w1' }), null, 'a late poll does not replace the stream')
  registry.dismiss(window.identity)
  assert.equal(registry.named('w1')?.stream, window)
  registry.leave(window)
  assert.equal(ask({ id: 'w1' })?.stream, null)
  assert.deepEqual([registry.size, pollers(), on('main')], [1, 1, []])
})

test('a window that polls again keeps its state', () => {
  const { time, registry, ask } = gather()
  const client = ask({ id: 'w1' })
  assert.ok(client)
  client.carries = new Map([['main', 3]])
  const told = { type: 'presence', windows: 1, browserHttp1Streams: 0 } as const
  client.lastPresence = told
  time.advance(500)
  const again = ask({ id: 'w1', channels: ['other'] })
  assert.deepEqual([again?.carries, again?.lastPresence, again?.heardAt], [client.carries, told, time.now()])
  assert.deepEqual([...(registry.named('w1')?.identity.channels ?? [])], ['other'])
})

test('a stream with a free name never replaces another, however new it is', () => {
  const { registry, enter, on } = gather()
  const { window: one } = enter({ opening: 1, owner: null })
  const { window: other, joined } = enter({ opening: 9, owner: null })
  const { window: owned } = enter({ opening: 1 })
  assert.deepEqual([joined?.replaced, on('main'), registry.size], [null, [one, other, owned], 3])
  assert.deepEqual([registry.find(one.identity)?.stream, registry.find(other.identity)?.stream], [one, other])
  for (const _twice of [1, 2]) registry.leave(one)
  assert.equal(registry.named('w1')?.stream, owned)
  assert.deepEqual(on('main'), [other, owned])
})

test('polls with one free name and the same channels are one window, and do not hold up a stream of that name', () => {
  const { time, registry, enter, ask, pollers } = gather()
  const place = { id: 'p1', owner: null }
  const { window } = enter(place)
  const held = registry.polled(identityOf(place), 5000)
  assert.ok(held)
  for (const channels of [['main'], ['other'], ['main']]) assert.ok(ask({ ...place, channels }))
  assert.deepEqual([registry.size, pollers(), registry.find(window.identity)?.stream], [3, 2, window])
  registry.left('p1', 99)
  assert.equal(pollers(), 2, 'nobody leaves for it')
  time.advance(6000)
  registry.forgetSilent(1000)
  assert.equal(pollers(), 1, 'the one on the other channel is gone; here a request is held')
})

test('remembers leave requests of known windows, up to a limit', () => {
  const { registry, ask } = gather(2)
  for (const id of ['w1', 'w2', 'w3']) {
    ask({ id })
    registry.left(id, 0)
    assert.equal(registry.size, 0)
  }
  for (let n = 0; n < 1000; n += 1) registry.left(`nobody${n}`, 9)
  assert.deepEqual([ask({ id: 'w2' }), ask({ id: 'w3' })], [null, null])
  assert.ok(ask({ id: 'w1' }), 'the oldest is forgotten')
  assert.ok(ask({ id: 'nobody1' }), 'unknown windows are not remembered')
})

test('a late leave request of an earlier opening does not undo a later one', () => {
  const { registry, ask } = gather()
  ask({ id: 'w1', opening: 3 })
  registry.left('w1', 3)
  registry.left('w1', 2)
  assert.equal(ask({ id: 'w1', opening: 3 }), null)
})

test('a poll that arrives after its window left does not bring it back, but one of a later opening does', () => {
  const { time, registry, ask } = gather()
  ask({ id: 'w1', opening: 3 })
  registry.left('w1', 3)
  assert.deepEqual(
    [ask({ id: 'w1', opening: 3 }), ask({ id: 'w1', opening: 2 }), registry.size],
    [null, null, 0],
  )
  assert.ok(ask({ id: 'w1', opening: 4 }))
  registry.left('w1', 4)
  time.advance(1001)
  registry.forgetSilent(1000)
  assert.ok(ask({ id: 'w1', opening: 4 }), 'a departure is remembered as long as silence is tolerated')
})

test('a leave request removes only a polling window, once', () => {
  const { registry, enter, ask } = gather()
  ask({ id: 'w1' })
  enter({ id: 'w2' })
  for (const id of ['w1', 'w1', 'w2', 'w3']) registry.left(id, 0)
  assert.deepEqual([registry.size, registry.named('w1')], [1, undefined])
})

test('forgets silent polling windows, but no streams', () => {
  const { time, registry, enter, ask, pollers } = gather()
  const { window } = enter({ id: 'w1' })
  const client = registry.named('w1')
  assert.ok(client)
  client.heardAt = time.now()
  ask({ id: 'w2' })
  ask({ id: 'w3' })
  time.advance(600)
  ask({ id: 'w3' })
  time.advance(400)
  registry.forgetSilent(1000)
  assert.equal(registry.size, 3)
  time.advance(1)
  registry.forgetSilent(1000)
  assert.deepEqual([registry.named('w2'), registry.named('w1')?.stream, pollers()], [undefined, window, 1])
})

test('a polling window counts as silent only after its held request ends', () => {
  const { time, registry, ask } = gather()
  const client = registry.polled(identityOf({ id: 'w1' }), 5000)
  assert.ok(client)
  time.advance(6000)
  registry.forgetSilent(1000)
  assert.equal(registry.size, 1)
  client.quietUntil = null
  registry.forgetSilent(1000)
  assert.equal(registry.size, 0)
  ask({ id: 'w1' })
  registry.forgetSilent(1000)
  assert.equal(registry.size, 1)
})

test('a closed registry is empty', () => {
  const { registry, enter, ask, on } = gather()
  enter({ id: 'w1' })
  ask({ id: 'w2' })
  registry.close()
  assert.deepEqual([registry.size, [...registry.all()], on('main')], [0, [], []])
})

test('many presence changes are sent once, after a delay', () => {
  const { time, visit } = gather()
  const told = countTo(20).map(() => visit().told)
  time.advance(49)
  assert.ok(told.every((frames) => frames().length === 0))
  time.advance(50)
  assert.ok(told.every((frames) => JSON.stringify(frames()) === '[[20,0]]'))
  time.advance(10_000)
  assert.ok(told.every((frames) => frames().length === 1))
})

test('a thousand windows that join within a second cause only a few presence frames each', () => {
  const { time, visit } = gather()
  const first = visit()
  for (const _n of countTo(999)) {
    visit()
    time.advance(1)
  }
  time.advance(2000)
  assert.ok(first.told().length <= 6, `${first.told().length} frames`)
  assert.deepEqual(first.told().at(-1), [1000, 0])
})

test('a stream that leaves changes presence, but one that had left already does not', () => {
  const { time, registry, visit } = gather()
  const { told } = visit()
  const { window } = visit()
  time.advance(100)
  registry.leave(window)
  time.advance(100)
  registry.leave(window)
  time.advance(100)
  assert.deepEqual(told(), [
    [2, 0],
    [1, 0],
  ])
})

test('the more windows there are, the longer presence is delayed', () => {
  const { time, visit } = gather()
  const { told } = visit()
  for (const _n of countTo(999)) visit()
  time.advance(60)
  const before = told().length
  visit()
  time.advance(1000)
  assert.equal(told().length, before)
  time.advance(51)
  assert.equal(told().length, before + 1)
})

test('a window receives presence only when its own counts change, not when others join another channel', () => {
  const { time, visit } = gather()
  const { told } = visit({ channels: ['main'] })
  time.advance(100)
  visit({ channels: ['other'] })
  time.advance(100)
  assert.deepEqual(told(), [[1, 0]])
  visit({ channels: ['main'] })
  time.advance(100)
  assert.deepEqual(told(), [
    [1, 0],
    [2, 0],
  ])
})

test('windows of one channel share one presence frame, which is encoded once', () => {
  const { time, visit } = gather()
  const encoded: string[] = []
  const framing = {
    encode(...[frame, cursor]: Parameters<typeof jsonFraming.encode>) {
      encoded.push(frame.type)
      return jsonFraming.encode(frame, cursor)
    },
  }
  for (const n of countTo(300)) visit({ framing, channels: [n % 3 === 0 ? 'other' : 'main', 'wind'] })
  time.advance(1000)
  assert.equal(encoded.length, 2)
})

test('counts a window on the first channel that it names', () => {
  const { time, visit, ask } = gather()
  const main = [1, 2].map(() => visit({ channels: ['main', 'wind'] }).told)
  const other = visit({ channels: ['other', 'wind'] }).told
  ask({ id: 'p1', channels: ['other'] })
  time.advance(100)
  assert.deepEqual(
    [...main, other].map((told) => told()),
    [[[2, 0]], [[2, 0]], [[2, 0]]],
  )
})

test('counts scarce streams per browser over all channels, in the modes that have a limit', () => {
  const { time, visit, ask } = gather()
  const told = [
    visit({ owner: 'b1', mode: 'sse/1.1' }),
    visit({ owner: 'b1', mode: 'sse/1.1', channels: ['other'] }),
    visit({ owner: 'b1', mode: 'sse/2' }),
    visit({ owner: 'b1', mode: 'websocket/1.1' }),
    visit({ owner: 'b2', mode: 'sse/1.1' }),
    visit({ owner: 'b3', mode: 'websocket/1.1' }),
    visit({ owner: null, mode: 'sse/1.1' }),
  ]
  ask({ id: 'p1', owner: 'b1', mode: 'long-polling/1.1' })
  ask({ id: 'p2', owner: 'b1', mode: 'polling/1.1' })
  time.advance(100)
  assert.deepEqual(
    told.map((one) => one.told()[0]?.[1]),
    [3, 3, 3, 3, 1, 0, 0],
  )
})

test('a stream that carries several windows counts for all of them, and receives counts for each of their channels', () => {
  const { time, visit } = gather()
  const carrier = visit({ channels: ['main', 'other', 'wind'] })
  const single = visit({ channels: ['main'] })
  carrier.client.carries = new Map([
    ['main', 3],
    ['other', 2],
    ['__proto__', 1],
  ])
  time.advance(100)
  assert.deepEqual(single.said(), [{ type: 'presence', windows: 4, browserHttp1Streams: 0 }])
  const [told] = carrier.said()
  assert.deepEqual(Object.entries(told?.channels ?? {}), [
    ['main', 4],
    ['other', 2],
    ['__proto__', 1],
  ])
})

test('a polling window receives presence with a poll, if it has changed', () => {
  const { time, registry, visit, ask } = gather()
  const client = ask({ id: 'p1' })
  assert.ok(client)
  assert.equal(registry.presenceNewsFor(client), null, 'nobody has counted yet')
  visit()
  time.advance(100)
  const news = registry.presenceNewsFor(client)
  assert.deepEqual(news?.frame, { type: 'presence', windows: 2, browserHttp1Streams: 0 })
  assert.equal(registry.presenceNewsFor(client), null)
  visit()
  time.advance(100)
  assert.ok(registry.presenceNewsFor(client))
})

test('a closed registry sends nothing', () => {
  const { time, registry, visit } = gather()
  const { told } = visit()
  registry.close()
  time.advance(1000)
  assert.deepEqual([told(), time.pending()], [[], 0])
})

test('tells which channels a client begins and ceases to read, also when a stream takes over from another', () => {
  const { registry, enter, ask, time } = gather()
  const moves: string[] = []
  const start = time.now()
  const add =
    (movement: string) =>
    (channel: string, { identity, since }: Client) =>
      moves.push(`${identity.id} ${movement} ${channel} ${since - start}`)
  registry.moves = { joined: add('joined'), left: add('left') }
  const seen = () => moves.splice(0)
  enter({ id: 'w1', channels: ['main', 'wind'], opening: 1 })
  assert.deepEqual(seen(), ['w1 joined main 0', 'w1 joined wind 0'])
  time.advance(500)
  enter({ id: 'w1', channels: ['wind', 'notes'], opening: 2 })
  assert.deepEqual(seen(), ['w1 left main 0', 'w1 joined notes 0'])
  const { window } = enter({ id: 'w1', channels: ['notes'], opening: 3, user: 'ada' })
  assert.deepEqual(seen(), ['w1 left wind 0', 'w1 left notes 0', 'w1 joined notes 0'])
  for (const _twice of [1, 2]) registry.leave(window)
  assert.deepEqual(seen(), ['w1 left notes 0'])
  for (const _twice of [1, 2]) ask({ id: 'w2', channels: ['main'] })
  assert.deepEqual(seen(), ['w2 joined main 500'])
  registry.close()
  assert.deepEqual(seen(), ['w2 left main 500'])
})
