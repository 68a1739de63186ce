// Headers of WebSocket frames, read by the parser of `ws`.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { PassThrough, type Writable } from 'node:stream'
import { test } from 'node:test'
import * as ws from 'ws'
import { defaultEngine } from '../config/engine-settings.ts'
import { hubAdmission, openHub, settled } from '../hub/hub-testing.ts'
import { openGrant } from '../security/grants.ts'
import { Budget } from './budget.ts'
import type { Mounting, SocketHandler } from './transport.ts'
import { socketFraming, websocket } from './websocket.ts'

/** `ws` exports it; its types do not. */
const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable }

function readByWs(bytes: Buffer): Promise<string> {
  const receiver = new Receiver({ isServer: false })
  return new Promise((resolve, reject) => {
    receiver.on('message', (data: Buffer) => resolve(String(data)))
    receiver.on('error', reject)
    receiver.write(bytes)
  })
}

test('a frame of any length reads as its original text', async () => {
  // Around each change of the header: 125 and 126, 65,535 and 65,536 bytes (RFC 6455, 5.2).
  const around = JSON.stringify({ type: 'refused', id: null, code: 'x', message: '' }).length
  for (const length of [125, 126, 127, 65_535, 65_536, 200_000]) {
    const frame = { type: 'refused', id: null, code: 'x', message: 'm'.repeat(length - around) } as const
    assert.deepEqual(JSON.parse(await readByWs(socketFraming.encode(frame, null))), frame)
  }
})

test('the length of a frame is in bytes, not characters', async () => {
  const frame = { type: 'refused', id: null, code: 'x', message: '💨'.repeat(40) } as const
  assert.deepEqual(JSON.parse(await readByWs(socketFraming.encode(frame, null))), frame)
})

/** A socket that records its writes: a list of texts for each. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  readonly writes: string[][] = []
  readonly drains: (() => void)[] = []
  readonly _sender = {
    sendFrame: ([bytes]: readonly Buffer[], onWritten?: () => void) => {
      const texts: string[] = []
      const receiver = new Receiver({ isServer: false, allowSynchronousEvents: true })
      receiver.on('message', (data: Buffer) => texts.push(String(data)))
      receiver.write(bytes)
      this.writes.push(texts)
      if (onWritten) this.drains.push(onWritten)
    },
  }
  close(): void {
    this.readyState = 2
  }
  readonly pause = () => undefined
  readonly resume = () => undefined
}

async function openSockets(names: readonly string[]) {
  const { hub, time } = openHub()
  let open: SocketHandler = () => undefined
  const limits = { stateBytes: 4096, maxMessageBytes: 1_000_000, channelsPerWindow: 4, bodySeconds: 30 }
  const onSocket = (_path: string, handler: SocketHandler) => {
    open = handler
  }
  const budget = new Budget(defaultEngine.limits, time)
  const router = { get: () => undefined }
  websocket({
    hub,
    timers: time,
    limits,
    budget,
    admission: hubAdmission,
    onSocket,
    router,
  } as unknown as Mounting)
  const sockets = names.map((window) => {
    const socket = new FakeSocket()
    const query = new URLSearchParams({ window, channels: 'main' })
    const source = new PassThrough()
    open(socket as unknown as Parameters<SocketHandler>[0], {
      query,
      http: '1.1',
      grant: openGrant,
      source,
      connection: source,
    })
    return socket
  })
  await settled()
  for (const { writes } of sockets) writes.length = 0
  return sockets
}

const publishing = (n: number, html = '') => {
  const message = { id: `w1-${n}`, channel: 'main', kind: 'edit', from: 'w1', at: 1, body: { html } }
  return Buffer.from(JSON.stringify({ type: 'publish', message }))
}

const typesOf = ({ writes }: FakeSocket) =>
  writes.map((texts) => texts.map((text) => (JSON.parse(text) as { type: string }).type))

test('a message and its answer reach the sender in one write, and others at once', async () => {
  const [one, other] = await openSockets(['w1', 'w2'])
  assert.ok(one && other)
  one.emit('message', publishing(1), false)
  one.emit('message', Buffer.from('{'), false)
  assert.deepEqual(typesOf(one), [['message', 'stored'], ['refused']])
  assert.deepEqual(typesOf(other), [['message']])
})

test('after a write that fills the connection, the next ones wait for the drain', async () => {
  const [one] = await openSockets(['w1'])
  assert.ok(one)
  one.emit('message', publishing(1, 'x'.repeat(100_000)), false)
  one.emit('message', publishing(2), false)
  assert.deepEqual(typesOf(one), [['message']])
  assert.equal(one.drains.length, 1)
  one.drains[0]?.()
  assert.deepEqual(typesOf(one).flat(), ['message', 'stored', 'message', 'stored'])
})
