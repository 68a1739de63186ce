// A connection is ended in time and in the right way, on a manual clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heartbeatMs, requestMs, watching } from './connection-testing.ts'
import { keepAliveMs } from './server-options.ts'

test('a session that answers its PINGs is never ended', () => {
  const { time, done } = watching()
  time.advance(keepAliveMs * 3)
  assert.deepEqual(done, [])
})

test('a session that does not answer its PINGs is cut after one and a half heartbeat intervals', () => {
  const { time, done } = watching(false)
  time.advance(heartbeatMs * 2.5)
  assert.deepEqual(done, [])
  time.advance(heartbeatMs / 2)
  assert.equal(done[0], 'cut')
})

test('a PING behind moving bytes gets the time that they need', () => {
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

test('bytes that do not move for two and a half heartbeat intervals end the connection', () => {
  const { time, done, stream } = watching()
  stream.bufferSize = 100
  time.advance(heartbeatMs * 2.5)
  assert.deepEqual(done, [])
  time.advance(heartbeatMs)
  assert.equal(done[0], 'cut')
})

test('a flow-control window update counts as movement', () => {
  const { time, done, stream, session } = watching()
  stream.bufferSize = 100
  for (let look = 0; look < 20; look += 1) {
    session.state.remoteWindowSize += 1
    time.advance(heartbeatMs / 4)
  }
  assert.deepEqual(done, [])
})

test('one stuck stream among others that flow is closed alone, later', () => {
  const { time, done, stream, socket } = watching()
  stream.bufferSize = 100
  for (let look = 0; look < 44; look += 1) {
    socket.bytesWritten += 10_000
    time.advance(heartbeatMs / 4)
    if (look < 40) assert.deepEqual(done, [])
  }
  assert.equal(done[0], 'stream closed')
})

test('without TLS, or without a request, a connection is cut after the time for a request', () => {
  for (const change of [{ secure: null, session: null }, { streams: new Set() }]) {
    const { time, done, connection } = watching()
    Object.assign(connection, change)
    time.advance(requestMs)
    assert.deepEqual(done, [])
    time.advance(heartbeatMs)
    assert.equal(done[0], 'cut')
  }
})

test('an unused session is closed, and cut if the other side does not follow', () => {
  const { time, done, connection } = watching()
  Object.assign(connection, { streams: new Set(), idleSince: time.now() })
  time.advance(keepAliveMs + heartbeatMs / 4)
  assert.deepEqual(done, ['closed'])
  time.advance(heartbeatMs * 1.5)
  assert.equal(done[1], 'cut')
})

test('more than a hundred PINGs at a time end the session', () => {
  const { time, done, connection } = watching()
  for (let count = 0; count < 100; count += 1) connection.countControlFrame()
  time.advance(heartbeatMs / 4)
  for (let count = 0; count < 100; count += 1) connection.countControlFrame()
  assert.deepEqual(done, [])
  connection.countControlFrame()
  assert.deepEqual(done, ['goaway', 'destroyed'])
})

test('each stream may be reset once at a time', () => {
  const { done, connection } = watching()
  for (let count = 0; count < 10; count += 1) connection.countReset()
  assert.deepEqual(done, [])
  for (let count = 0; count < 5; count += 1) connection.countReset()
  assert.deepEqual(done, ['goaway', 'destroyed'])
})
