import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createPresence } from './presence.ts'
import { createFakeConnection, type FakePlace } from './testing.ts'
import { createWindow, type Window } from './window.ts'

function setUp() {
  const time = createManualTime()
  const windows = new Set<Window>()
  const presence = createPresence(windows, time)
  return {
    time,
    presence,
    windows,
    enter(place: FakePlace = {}) {
      const connection = createFakeConnection(place)
      const fail = () => assert.fail('no window overflows or fails here')
      const window = createWindow(connection.joining, 100_000, { onOverflow: fail, onFailure: fail })
      window.begin([], 0)
      windows.add(window)
      presence.changed()
      /** What it was told: windows, and streams of its browser. */
      const told = () =>
        connection.frames.map((frame) =>
          frame.type === 'presence' ? [frame.windows, frame.browserHttp1Streams] : assert.fail(frame.type),
        )
      return { window, told }
    },
  }
}

test('many changes are told once, a while after the first', () => {
  const { time, enter } = setUp()
  const told = Array.from({ length: 20 }, () => enter().told)
  time.advance(49)
  assert.ok(told.every((frames) => frames().length === 0))
  time.advance(50)
  assert.ok(told.every((frames) => JSON.stringify(frames()) === '[[20,0]]'))
  time.advance(10_000)
  assert.ok(told.every((frames) => frames().length === 1))
})

test('the more windows, the longer it waits', () => {
  const { time, presence, enter } = setUp()
  const { told } = enter()
  for (let n = 0; n < 999; n += 1) enter()
  time.advance(60)
  const before = told().length
  presence.changed()
  time.advance(1000)
  assert.equal(told().length, before)
  time.advance(50)
  assert.equal(told().length, before + 1)
})

test('counts the windows of each page, which is the first channel that a window names', () => {
  const { time, enter } = setUp()
  const main = [1, 2].map(() => enter({ channels: ['main', 'wind'] }).told)
  const other = enter({ channels: ['other', 'wind'] }).told
  time.advance(100)
  assert.deepEqual(
    [...main, other].map((told) => told()),
    [[[2, 0]], [[2, 0]], [[1, 0]]],
  )
})

test('counts scarce streams for each browser, of whatever page, in the modes that have a limit', () => {
  const { time, enter } = setUp()
  const told = [
    enter({ browser: 'b1', mode: 'sse/1.1' }),
    enter({ browser: 'b1', mode: 'sse/1.1', channels: ['other'] }),
    enter({ browser: 'b1', mode: 'sse/2' }),
    enter({ browser: 'b1', mode: 'websocket/1.1' }),
    enter({ browser: 'b2', mode: 'sse/1.1' }),
    enter({ browser: 'b3', mode: 'websocket/1.1' }),
    enter({ browser: null, mode: 'sse/1.1' }),
  ]
  time.advance(100)
  assert.deepEqual(
    told.map((one) => one.told()[0]?.[1]),
    [2, 2, 2, 2, 1, 0, 0],
  )
})

test('stopped, it tells nobody', () => {
  const { time, presence, enter } = setUp()
  const { told } = enter()
  presence.stop()
  time.advance(1000)
  assert.deepEqual([told(), time.pending()], [[], 0])
})
