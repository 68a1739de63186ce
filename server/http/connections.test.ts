// Connections of our own ports and of an application's servers: those watched, and their limits.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createManualTime } from '../../protocol/testing.ts'
import type { PortServer } from '../node-internals.ts'
import { heartbeatMs, requestMs, watching } from './connection-testing.ts'
import { Connections, GuestConnections } from './connections.ts'

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

test('an application’s session must begin in time, and may not send PINGs without end', () => {
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
