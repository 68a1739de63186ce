import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import type { Connection } from './connections.ts'
import { keepAliveMs } from './settings.ts'
import { watchConnections } from './watch.ts'

const heartbeatMs = 1000
const requestMs = 4000

interface Fake {
  readonly socket: { bytesRead: number; bytesWritten: number; destroy: () => void }
  readonly stream: { bufferSize: number; close: () => void }
  readonly session: {
    closed: boolean
    destroyed: boolean
    state: { remoteWindowSize: number }
    ping: () => void
    close: () => void
    destroy: () => void
    goaway: () => void
  }
  readonly connection: Connection
  /** What was done to it, in order. */
  readonly done: string[]
}

/** A session with one stream; it answers PINGs when `answers`. */
function fakeSession(openedAt: number, answers: boolean): Fake {
  const done: string[] = []
  const socket = { bytesRead: 0, bytesWritten: 0, destroy: () => void done.push('cut') }
  const stream = { bufferSize: 0, close: () => void done.push('stream closed') }
  const session = {
    closed: false,
    destroyed: false,
    state: { remoteWindowSize: 65_535 },
    ping() {
      if (answers) socket.bytesRead += 17
    },
    goaway: () => void done.push('goaway'),
    close() {
      session.closed = true
      done.push('closed')
    },
    destroy() {
      session.destroyed = true
      done.push('destroyed')
    },
  }
  const parts = { socket, session, secure: {}, streams: new Set([stream]), openedAt, idleSince: null }
  return { socket, stream, session, connection: parts as unknown as Connection, done }
}

function watching(answers = true) {
  const time = createManualTime()
  const fake = fakeSession(time.now(), answers)
  const watch = watchConnections({
    connections: () => [fake.connection],
    timers: time,
    heartbeatMs,
    requestMs,
    streamsPerSession: 10,
  })
  return { time, watch, ...fake }
}

test('a session that answers its PINGs is left alone, for ever', () => {
  const { time, done } = watching()
  time.advance(keepAliveMs * 3)
  assert.deepEqual(done, [])
})

test('one that does not is cut one and a half beats after it was asked', () => {
  const { time, done } = watching(false)
  time.advance(heartbeatMs * 2.5)
  assert.deepEqual(done, [])
  time.advance(heartbeatMs / 2)
  assert.equal(done[0], 'cut')
})

test('a PING behind bytes that move is given the time that they need', () => {
  const { time, done, stream, socket } = watching(false)
  stream.bufferSize = 1_000_000
  for (let look = 0; look < 100; look += 1) {
    socket.bytesWritten += 160_000
    time.advance(heartbeatMs / 4)
    stream.bufferSize += 1
    if (look % 8 === 0) stream.bufferSize = 1_000_000
  }
  assert.deepEqual(done, [])
})

test('bytes that wait and do not move for two and a half beats end the connection', () => {
  const { time, done, stream } = watching()
  stream.bufferSize = 100
  time.advance(heartbeatMs * 2.5)
  assert.deepEqual(done, [])
  time.advance(heartbeatMs)
  assert.equal(done[0], 'cut')
})

test('a window that the other side gives is a movement', () => {
  const { time, done, stream, session } = watching()
  stream.bufferSize = 100
  for (let look = 0; look < 20; look += 1) {
    session.state.remoteWindowSize += 1
    time.advance(heartbeatMs / 4)
  }
  assert.deepEqual(done, [])
})

test('one stream that is stuck among others that flow is closed by itself, later', () => {
  const { time, done, stream, socket } = watching()
  stream.bufferSize = 100
  for (let look = 0; look < 44; look += 1) {
    socket.bytesWritten += 10_000
    time.advance(heartbeatMs / 4)
    if (look < 40) assert.deepEqual(done, [])
  }
  assert.equal(done[0], 'stream closed')
})

test('without TLS, or without a request, it is cut after the time of a request', () => {
  for (const change of [{ secure: null, session: null }, { streams: new Set() }]) {
    const { time, done, connection } = watching()
    Object.assign(connection, change)
    time.advance(requestMs)
    assert.deepEqual(done, [])
    time.advance(heartbeatMs)
    assert.equal(done[0], 'cut')
  }
})

test('a session that is not used any more is closed in peace, and cut when the other side does not follow', () => {
  const { time, done, connection } = watching()
  Object.assign(connection, { streams: new Set(), idleSince: time.now() })
  time.advance(keepAliveMs + heartbeatMs / 4)
  assert.deepEqual(done, ['closed'])
  time.advance(heartbeatMs * 1.5)
  assert.equal(done[1], 'cut')
})

test('a hundred PINGs at a time are more than anybody needs', () => {
  const { time, done, watch, connection } = watching()
  for (let count = 0; count < 100; count += 1) watch.countControlFrame(connection)
  time.advance(heartbeatMs / 4)
  for (let count = 0; count < 100; count += 1) watch.countControlFrame(connection)
  assert.deepEqual(done, [])
  watch.countControlFrame(connection)
  assert.deepEqual(done, ['goaway', 'destroyed'])
})

test('each stream may be taken back once at a time', () => {
  const { done, watch, connection } = watching()
  for (let count = 0; count < 10; count += 1) watch.countReset(connection)
  assert.deepEqual(done, [])
  for (let count = 0; count < 5; count += 1) watch.countReset(connection)
  assert.deepEqual(done, ['goaway', 'destroyed'])
})

test('once stopped it looks no more', () => {
  const { time, watch } = watching()
  watch.stop()
  assert.equal(time.pending(), 0)
})
