// The silence watchdog of a connection.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { Connection } from './connection.ts'
import { createFakeTransports, mode } from './testing.ts'
import type { Closing } from './transports/transport.ts'

function watch() {
  const time = createManualTime()
  const startAt = time.now()
  const { streams, transports } = createFakeTransports()
  const closings: [code: string, atMs: number][] = []
  const opening = {
    base: 'https://localhost:1',
    mode: mode('sse/2'),
    query: new URLSearchParams(),
    polling: { intervalMs: 1000, holdMs: 1000 },
    onFrame: () => undefined,
    onClose: ({ code }: Closing) => void closings.push([code, time.now() - startAt]),
  }
  const connection = new Connection(transports.sse, opening, time)
  const [stream = assert.fail('nothing was opened')] = streams
  return { time, connection, stream, closings }
}

test('reports silence once if nothing is ever received', () => {
  const { time, stream, closings } = watch()
  time.advance(60_000)
  assert.deepEqual([closings, stream.isClosed(), time.pending()], [[['silent', 20_000]], true, 0])
})

test('measures silence from the last frame', () => {
  const { time, stream, closings } = watch()
  for (let n = 0; n < 5; n += 1) {
    time.advance(15_000)
    stream.heartbeat()
  }
  assert.deepEqual(closings, [])
  time.advance(60_000)
  assert.deepEqual(closings, [['silent', 95_000]])
})

test('a client that reads a long backlog shows that it lives: heartbeats arrive behind it', () => {
  const { time, stream } = watch()
  stream.frame({ type: 'presence', windows: 1, browserHttp1Streams: 0 })
  assert.equal(stream.beats(), 0, 'not before the welcome')
  stream.welcome({ heartbeatMs: 2000 })
  for (let n = 0; n < 100; n += 1) {
    time.advance(100)
    stream.frame({ type: 'presence', windows: 1, browserHttp1Streams: 0 })
  }
  assert.equal(stream.beats(), 5, 'one at the welcome, then one in 2.5 s')
  stream.heartbeat()
  stream.heartbeat()
  assert.equal(stream.beats(), 7, 'each of the server’s is answered at once')
  time.advance(60_000)
  assert.equal(stream.beats(), 7, 'nothing was read')
})

test('received frames set no timers: one timer serves them all', () => {
  const { time, stream } = watch()
  for (let n = 0; n < 1000; n += 1) stream.heartbeat()
  assert.equal(time.pending(), 1)
})

for (const [heartbeatMs, silentAtMs] of [
  [16_000, 40_500],
  [40, 600],
] as const) {
  test(`with a heartbeat every ${heartbeatMs} ms, the server may be silent for two and a half of them`, () => {
    const { time, stream, closings } = watch()
    time.advance(500)
    stream.welcome({ heartbeatMs })
    time.advance(60_000)
    assert.deepEqual(closings, [['silent', silentAtMs]])
  })
}

test('after leaving, reports no silence, even if it had already checked', () => {
  const { time, connection, stream, closings } = watch()
  time.advance(15_000)
  stream.heartbeat()
  time.advance(15_000)
  connection.leave()
  time.advance(60_000)
  assert.deepEqual([closings, stream.isClosed(), time.pending()], [[], true, 0])
})
