// Connections are ended in time and in the right way, on a manual clock.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createManualTime } from '../../protocol/testing.ts'
import type { PortServer } from '../node-internals.ts'
import { Connections, GuestConnections } from './connections.ts'
import { Connection } from './http-connection.ts'
import { keepAliveMs } from './server-options.ts'

const heartbeatMs = 1000
const requestMs = 4000

/**
 * A session with one stream, checked four times per heartbeat interval; answers PINGs if `answers`.
 */
function watching(answers = true) {
  const time = createManualTime()
  /** Events on the connection, in order. */
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
  const check = () => {
    connection.check(time.now())
    time.later(check, heartbeatMs / 4)
  }
  time.later(check, heartbeatMs / 4)
  return { time, done, socket, stream, session, connection }
}

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

/** An application's server with a session that has requested nothing below our path. */
function watchingGuest() {
  const watched = watching()
  const server = new EventEmitter()
  const session = Object.assign(new EventEmitter(), watched.session, {
    socket: { off: () => watched.socket },
    setLocalWindowSize: () => undefined,
    destroy: () => void watched.done.push('destroyed'),
  })
  const time = createManualTime()
  const limits = { heartbeatMs, bodySeconds: 4, streamsPerSession: 10, maxConnections: 1, maxSockets: 1 }
  const guests = new GuestConnections(limits, time)
  guests.watch(server)
  server.emit('session', session)
  const stream = Object.assign(new EventEmitter(), { bufferSize: 100, close: watched.stream.close, session })
  const ask = () => guests.of({ stream } as unknown as Http2ServerRequest)
  return { time, done: watched.done, session, stream, ask, guests, server }
}

test('an application’s session must begin in time, and may not ask endlessly', () => {
  const silent = watchingGuest()
  silent.time.advance(requestMs + heartbeatMs)
  assert.equal(silent.done[0], 'cut')
  const asking = watchingGuest()
  for (let count = 0; count <= 100; count += 1) asking.session.emit('ping')
  assert.deepEqual(asking.done, ['goaway', 'destroyed'])
})

test('an application’s own streams may wait as long as it likes; ours are closed', () => {
  const { time, done, session, stream, ask } = watchingGuest()
  session.emit('stream', stream)
  time.advance(heartbeatMs * 20)
  assert.deepEqual(done, [])
  ask()
  time.advance(heartbeatMs * 4)
  assert.equal(done[0], 'cut')
})

test('an application’s own responses over HTTP/1.1 may wait as long as it likes; ours, and WebSockets, are cut', () => {
  for (const [headers, requestQueue, expected] of [
    [{}, null, []],
    [{}, { isBusy: false }, []],
    [{}, { isBusy: true }, ['cut']],
    [{ upgrade: 'websocket' }, null, ['cut']],
  ] as const) {
    const { time, done, guests } = watchingGuest()
    // A response is open, and its reader has stopped.
    const socket = Object.assign(new EventEmitter(), {
      bytesRead: 0,
      bytesWritten: 0,
      writableLength: 100,
      writableEnded: true,
      destroy: () => {
        done.push('cut')
        socket.emit('close')
      },
    })
    done.length = 0
    const connection = guests.of({ socket, headers } as unknown as IncomingMessage)
    Object.assign(connection ?? {}, { requestQueue })
    time.advance(heartbeatMs * 3.5)
    assert.deepEqual(done, expected)
  }
})

test('an application’s request whose connection has ended while it waited takes no place', () => {
  const { guests } = watchingGuest()
  const ask = (destroyed: boolean) =>
    guests.of({
      socket: Object.assign(new EventEmitter(), { destroyed, bytesWritten: 0 }),
      headers: {},
    } as unknown as IncomingMessage)
  assert.equal(ask(true), undefined)
  assert.equal(ask(false)?.isOverLimit, false)
  assert.equal(ask(false)?.isOverLimit, true)
})

test('after stop, an application’s sessions are left alone', () => {
  const { done, session, guests, server } = watchingGuest()
  const later = Object.assign(new EventEmitter(), session)
  guests.stopWatching()
  server.emit('session', later)
  for (const one of [session, later]) for (let count = 0; count < 1000; count += 1) one.emit('ping')
  assert.deepEqual(done, [])
})

test('after stop, connections are no longer checked', () => {
  const time = createManualTime()
  const settings = { heartbeatMs, bodySeconds: 4, streamsPerSession: 10, maxConnections: 1, handshakeMs: 1 }
  const connections = new Connections(settings, time)
  time.advance(heartbeatMs)
  assert.equal(time.pending(), 1)
  connections.stopWatching()
  assert.equal(time.pending(), 0)
})

test('a few of many connections begin TLS in a turn, once their first byte is there', async () => {
  const settings = { heartbeatMs, bodySeconds: 4, streamsPerSession: 10, maxConnections: 9, handshakeMs: 1 }
  const server = new EventEmitter()
  const begun: object[] = []
  server.on('connection', (socket) => begun.push(socket))
  const acceptor = new Connections(settings, createManualTime()).acceptFor(server as PortServer)
  const sockets = Array.from({ length: 5 }, () =>
    Object.assign(new PassThrough(), { setTimeout: () => undefined }),
  )
  for (const socket of sockets) acceptor.emit('connection', socket)
  assert.deepEqual(begun, [])
  // The content type of a handshake (RFC 8446, section 5.1).
  for (const socket of sockets) socket.write(Buffer.from([22]))
  for (const count of [2, 4, 5]) {
    await nextTurn()
    assert.deepEqual(begun, sockets.slice(0, count))
  }
})
