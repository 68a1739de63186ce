import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Presence } from '../wire/frames.ts'
import { createManualTime } from '../wire/manual-time.ts'
import { createCrowd } from './crowd.ts'
import { createPresence } from './presence.ts'
import { countTo, createFakeConnection, type FakePlace, jsonFraming } from './testing.ts'
import { createWindow } from './window.ts'

function setUp() {
  const time = createManualTime()
  const crowd = createCrowd(time)
  const presence = createPresence(crowd, time)
  let entered = 0
  return {
    time,
    crowd,
    presence,
    enter(place: FakePlace = {}) {
      entered += 1
      const connection = createFakeConnection({ id: `w${entered}`, ...place })
      const fail = () => assert.fail('no window overflows or fails here')
      const window = createWindow(connection.joining, 100_000, { onOverflow: fail, onFailure: fail })
      window.begin(0)
      crowd.join(window)
      presence.changed()
      const said = () => connection.frames as Presence[]
      /** What it was told: windows, and streams of its browser. */
      const told = () => said().map(({ windows, browserHttp1Streams }) => [windows, browserHttp1Streams])
      const guest = crowd.find(window.id)
      assert.ok(guest)
      return { window, guest, told, said }
    },
    ask(place: FakePlace = {}) {
      const guest = crowd.polled(createFakeConnection(place).joining)
      assert.ok(guest)
      return guest
    },
  }
}

test('many changes are told once, a while after the first', () => {
  const { time, enter } = setUp()
  const told = countTo(20).map(() => enter().told)
  time.advance(49)
  assert.ok(told.every((frames) => frames().length === 0))
  time.advance(50)
  assert.ok(told.every((frames) => JSON.stringify(frames()) === '[[20,0]]'))
  time.advance(10_000)
  assert.ok(told.every((frames) => frames().length === 1))
})

test('a thousand that come one after the other within a second are told of now and then', () => {
  const { time, enter } = setUp()
  const first = enter()
  for (const _n of countTo(999)) {
    enter()
    time.advance(1)
  }
  time.advance(2000)
  assert.ok(first.told().length <= 6, `${first.told().length} frames`)
  assert.deepEqual(first.told().at(-1), [1000, 0])
})

test('the more windows, the longer it waits', () => {
  const { time, presence, enter } = setUp()
  const { told } = enter()
  for (const _n of countTo(999)) enter()
  time.advance(60)
  const before = told().length
  presence.changed()
  time.advance(1000)
  assert.equal(told().length, before)
  time.advance(50)
  assert.equal(told().length, before + 1)
})

test('windows of one page are told by one frame, which is put into bytes once', () => {
  const { time, enter } = setUp()
  const encoded: string[] = []
  const framing = {
    encode(...[frame, cursor]: Parameters<typeof jsonFraming.encode>) {
      encoded.push(frame.type)
      return jsonFraming.encode(frame, cursor)
    },
  }
  for (const n of countTo(300)) enter({ framing, channels: [n % 3 === 0 ? 'other' : 'main', 'wind'] })
  time.advance(1000)
  assert.equal(encoded.length, 2)
})

test('counts the windows of each page, which is the first channel that a window names', () => {
  const { time, enter, ask } = setUp()
  const main = [1, 2].map(() => enter({ channels: ['main', 'wind'] }).told)
  const other = enter({ channels: ['other', 'wind'] }).told
  ask({ id: 'p1', channels: ['other'] })
  time.advance(100)
  assert.deepEqual(
    [...main, other].map((told) => told()),
    [[[2, 0]], [[2, 0]], [[2, 0]]],
  )
})

test('counts scarce streams for each browser, of whatever page, in the modes that have a limit', () => {
  const { time, enter, ask } = setUp()
  const told = [
    enter({ browser: 'b1', mode: 'sse/1.1' }),
    enter({ browser: 'b1', mode: 'sse/1.1', channels: ['other'] }),
    enter({ browser: 'b1', mode: 'sse/2' }),
    enter({ browser: 'b1', mode: 'websocket/1.1' }),
    enter({ browser: 'b2', mode: 'sse/1.1' }),
    enter({ browser: 'b3', mode: 'websocket/1.1' }),
    enter({ browser: null, mode: 'sse/1.1' }),
  ]
  ask({ id: 'p1', browser: 'b1', mode: 'long-polling/1.1' })
  ask({ id: 'p2', browser: 'b1', mode: 'polling/1.1' })
  time.advance(100)
  assert.deepEqual(
    told.map((one) => one.told()[0]?.[1]),
    [3, 3, 3, 3, 1, 0, 0],
  )
})

test('a stream that carries several windows counts for all of them, and is told of each of its pages', () => {
  const { time, enter } = setUp()
  const carrier = enter({ channels: ['main', 'other', 'wind'] })
  const single = enter({ channels: ['main'] })
  carrier.guest.carries = new Map([
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

test('a polling window is told when it asks, of what is new to it', () => {
  const { time, presence, enter, ask } = setUp()
  const guest = ask({ id: 'p1' })
  assert.equal(presence.newsFor(guest), null, 'nobody has counted yet')
  enter()
  time.advance(100)
  const news = presence.newsFor(guest)
  assert.deepEqual(news?.frame, { type: 'presence', windows: 2, browserHttp1Streams: 0 })
  assert.equal(presence.newsFor(guest), null)
  enter()
  time.advance(100)
  assert.ok(presence.newsFor(guest))
})

test('stopped, it tells nobody', () => {
  const { time, presence, enter } = setUp()
  const { told } = enter()
  presence.stop()
  time.advance(1000)
  assert.deepEqual([told(), time.pending()], [[], 0])
})
