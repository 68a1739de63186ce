// Checks which connections are ended, when and how, on a clock that is moved by hand.

import assert from 'node:assert/strict'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { createManualTime } from '../wire/testing.ts'
import { Connection, Connections, keepAliveMs } from './connections.ts'

const heartbeatMs = 1000
const requestMs = 4000

/** A session with one stream, looked at four times a heartbeat; it answers PINGs when `answers`. */
function watching(answers = true) {
  const time = createManualTime()
  /** What was done to it, in order. */
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
  const limits = { heartbeatMs, bodySeconds: requestMs / 1000, streamsPerSession: 10 }
  const connection = new Connection(socket as unknown as Socket, limits, time.now())
  connection.streams.add(stream as unknown as ServerHttp2Stream)
  Object.assign(connection, { session, secure: {} })
  const look = () => {
    connection.look(time.now())
    time.later(look, heartbeatMs / 4)
  }
  time.later(look, heartbeatMs / 4)
  return { time, done, socket, stream, session, connection }
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
  const { time, done, connection } = watching()
  for (let count = 0; count < 100; count += 1) connection.countControlFrame()
  time.advance(heartbeatMs / 4)
  for (let count = 0; count < 100; count += 1) connection.countControlFrame()
  assert.deepEqual(done, [])
  connection.countControlFrame()
  assert.deepEqual(done, ['goaway', 'destroyed'])
})

test('each stream may be taken back once at a time', () => {
  const { done, connection } = watching()
  for (let count = 0; count < 10; count += 1) connection.countReset()
  assert.deepEqual(done, [])
  for (let count = 0; count < 5; count += 1) connection.countReset()
  assert.deepEqual(done, ['goaway', 'destroyed'])
})

test('once stopped they are looked at no more', () => {
  const time = createManualTime()
  const settings = { heartbeatMs, bodySeconds: 4, streamsPerSession: 10, maxConnections: 1, handshakeMs: 1 }
  const connections = new Connections([], settings, time)
  time.advance(heartbeatMs)
  assert.equal(time.pending(), 1)
  connections.stopWatching()
  assert.equal(time.pending(), 0)
})
