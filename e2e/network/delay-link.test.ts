// Checks the link over real sockets: bytes, ends, resets, handshakes and cleanup.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createSeededRandom, type Timers } from '../../client/wire.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { type Link, lateBetween, startLink } from './delay-link.ts'
import type { Delay, Profile } from './profiles.ts'

const delay: Delay = { floorMs: 10, queueMeanMs: 1, queueSdMs: 1, correlationMs: 100, stalls: null }
const short: Profile = {
  name: 'short',
  down: delay,
  up: delay,
  kilobitsPerSecond: null,
  loss: null,
  source: 'test',
}

interface Stage {
  readonly link: Link
  readonly server: Server
  readonly open: () => Socket
}

async function stage(t: TestContext, given: { profile?: Profile; timers?: Timers } = {}): Promise<Stage> {
  const server = createServer({ allowHalfOpen: true })
  const targetPort = await openPort(server)
  const link = await startLink({ targetPort, profile: short, random: createSeededRandom(1), ...given })
  t.after(() => link.close())
  t.after(() => server.close())
  const open = () => quiet(connect({ port: link.port, host: '127.0.0.1', allowHalfOpen: true }))
  server.on('connection', quiet)
  return { link, server, open }
}

/** Resets what a test leaves open, however it ends. */
function quiet(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

/** Waits until it is true, letting the event loop turn meanwhile. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

const bytesOf = (count: number) =>
  Buffer.from(Array.from({ length: count }, (_, n) => (n * 7 + (n >> 8)) & 0xff))

const rates: readonly (number | null)[] = [null, 80_000]
for (const kilobitsPerSecond of rates) {
  test(`a million bytes arrive both ways in order, at ${kilobitsPerSecond ?? 'any'} kbit/s`, async (t) => {
    const { link, server, open } = await stage(t, { profile: { ...short, kilobitsPerSecond } })
    server.on('connection', (socket) => socket.pipe(socket))
    const sent = bytesOf(1_000_000)
    const client = open()
    client.end(sent)
    assert.ok(sent.equals(await buffer(client)))
    await until(() => link.figures().connections === 0)
    const { opened, upBytes, downBytes } = link.figures()
    assert.deepEqual([opened, upBytes, downBytes], [1, sent.length, sent.length])
  })
}

test('one half may end while the other stays open', async (t) => {
  const { server, open } = await stage(t)
  server.on('connection', (socket) => {
    const heard: Buffer[] = []
    socket.on('data', (chunk: Buffer) => heard.push(chunk))
    socket.on('end', () => socket.end(`heard ${Buffer.concat(heard)}`))
  })
  const client = open()
  client.end('the question')
  assert.equal(String(await buffer(client)), 'heard the question')
})

test("a client's reset reaches the server, after its data", async (t) => {
  const { server, open } = await stage(t)
  const client = open()
  client.write('first')
  const socket = await connectionOf(server)
  const heard = once(socket, 'data')
  assert.equal(String((await heard)[0]), 'first')
  client.resetAndDestroy()
  const [error] = await once(socket, 'error')
  assert.equal(error.code, 'ECONNRESET')
})

test("a server's reset reaches the client", async (t) => {
  const { server, open } = await stage(t)
  server.on('connection', (socket) => socket.once('data', () => socket.resetAndDestroy()))
  const client = open()
  client.write('x')
  const [error] = await once(client, 'error')
  assert.equal(error.code, 'ECONNRESET')
})

test('without a server, the client is reset', async (t) => {
  const { link, server, open } = await stage(t)
  server.close()
  const [error] = await once(open(), 'error')
  assert.equal(error.code, 'ECONNRESET')
  await until(() => link.figures().connections === 0)
})

/** A link with a delay of 100 ms each way, on manual time. */
async function stageOfManualTime(t: TestContext) {
  const time = createManualTime()
  const way = { ...delay, queueMeanMs: 0, floorMs: 100 }
  return { time, ...(await stage(t, { profile: { ...short, up: way, down: way }, timers: time })) }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
}

test('a handshake takes a round trip: the server accepts after one and a half, and the first bytes are there', async (t) => {
  const { time, link, server, open } = await stageOfManualTime(t)
  const accepted: Socket[] = []
  server.on('connection', (socket) => accepted.push(socket))
  open().write('hello')
  await until(() => link.figures().opened === 1)
  time.advance(190)
  await someTurns()
  assert.equal(link.figures().upBytes, 0)
  time.advance(10)
  await until(() => link.figures().upBytes === 5)
  time.advance(90)
  await someTurns()
  assert.deepEqual(accepted, [])
  const connection = connectionOf(server)
  time.advance(10)
  assert.equal(String((await once(await connection, 'data'))[0]), 'hello')
})

test('accepts no more than one window before data leaves, and all of it in the end', async (t) => {
  const { time, link, server, open } = await stageOfManualTime(t)
  const sent = bytesOf(3_000_000)
  server.on('connection', (socket) => socket.end(sent))
  const client = open()
  await until(() => link.figures().opened === 1)
  time.advance(300)
  await until(() => link.figures().downBytes > 256 * 1024)
  await someTurns()
  const taken = link.figures().downBytes
  assert.ok(taken < 512 * 1024, `${taken} bytes were accepted`)
  const received = buffer(client)
  await until(() => {
    time.advance(20)
    return link.figures().connections === 0 || client.readableEnded
  })
  assert.ok(sent.equals(await received))
})

test('closing ends every connection and leaves no timer', async (t) => {
  const { time, link, server, open } = await stageOfManualTime(t)
  const sockets = [open(), open(), open()]
  server.on('connection', (socket) => sockets.push(socket))
  await until(() => link.figures().opened === 3)
  time.advance(300)
  await until(() => sockets.length === 6)
  for (const socket of sockets) socket.write('still under way')
  await until(() => link.figures().upBytes > 0 && link.figures().downBytes > 0)
  assert.equal(time.pending(), 2)
  const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)))
  await link.close()
  await Promise.all(closed)
  assert.deepEqual([link.figures().connections, time.pending()], [0, 0])
})

async function connectionOf(server: Server): Promise<Socket> {
  const [socket] = await once(server, 'connection')
  return socket
}

function figures(up: readonly [n: number, meanMs: number], down: readonly [n: number, meanMs: number]) {
  const way = ([n, meanMs]: readonly [number, number]) => ({ n, meanMs, p99Ms: 9, maxMs: 9 })
  return { connections: 1, opened: 1, upBytes: 0, downBytes: 0, up: way(up), down: way(down) }
}

test('lateness before the count began does not count', () => {
  const before = figures([10, 50], [20, 80])
  // 10 more by 1 ms and 30 more by 3 ms.
  const after = figures([20, (500 + 10) / 20], [50, (1600 + 90) / 50])
  assert.ok(Math.abs(lateBetween(before, after) - 2.5) < 1e-9)
})

test('a direction without traffic has no mean, and is left out', () => {
  const before = figures([0, Number.NaN], [0, Number.NaN])
  assert.equal(lateBetween(before, figures([0, Number.NaN], [4, 0.5])), 0.5)
  assert.equal(lateBetween(before, before), 0)
})
