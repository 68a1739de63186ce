// Parses responses by hand, however their bytes are split.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { openBrowser, parseHead, readUntil } from './lean-http.ts'
import { startTls } from './testing.ts'

async function browserAt(t: TestContext, onSocket: (socket: TLSSocket) => void) {
  const browser = await openBrowser(await startTls(t, onSocket), '1.1')
  t.after(browser.close)
  return browser
}

async function writeByteByByte(socket: TLSSocket, text: string): Promise<void> {
  for (const byte of Buffer.from(text)) {
    socket.write(Buffer.of(byte))
    await new Promise(setImmediate)
  }
}

test('a head is read once it is complete, and the rest is left', async () => {
  const stream = new PassThrough()
  let isRead = false
  const reading = readUntil(stream, parseHead).finally(() => {
    isRead = true
  })
  const head = Buffer.from('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\n')
  for (const byte of head.subarray(0, -1)) {
    stream.write(Buffer.of(byte))
    await new Promise(setImmediate)
    assert.equal(isRead, false)
  }
  stream.write(Buffer.concat([head.subarray(-1), Buffer.from('rest')]))
  const { status, length, rest } = await reading
  assert.equal(status, 101)
  assert.equal(length, 4)
  assert.equal(rest.toString(), 'rest')
  assert.equal(stream.isPaused(), true)
})

test('a connection that closes or breaks within the head is an error', async () => {
  for (const error of [undefined, new Error('reset')]) {
    const stream = new PassThrough()
    stream.write('HTTP/1.1 200 OK\r\n')
    const reading = readUntil(stream, parseHead)
    stream.destroy(error)
    await assert.rejects(reading, error ?? /closed before the response was complete/)
  }
})

test('a response is complete with its last byte', async (t) => {
  const browser = await browserAt(t, (socket) => {
    socket.once('data', () => writeByteByByte(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc'))
  })
  assert.deepEqual(await browser.get('/'), { status: 200, body: Buffer.from('abc') })
})

test('a response without a length has no body, and its connection is reused', async (t) => {
  let opened = 0
  const asked: string[] = []
  const browser = await browserAt(t, (socket) => {
    opened += 1
    socket.on('data', (request) => {
      asked.push(String(request))
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  assert.equal((await browser.get('/first')).status, 204)
  assert.equal((await browser.post('/second', 'text/plain', 'Böe')).status, 204)
  assert.equal(opened, 1)
  assert.match(asked[0] ?? '', /^GET \/first HTTP\/1\.1\r\nHost: localhost:\d+\r\n\r\n$/)
  assert.match(asked[1] ?? '', /\r\nContent-Type: text\/plain\r\nContent-Length: 4\r\n\r\nBöe$/)
})

test('a chunked response is complete with its last chunk, and its connection is reused', async (t) => {
  const browser = await browserAt(t, (socket) => {
    socket.on('data', () =>
      writeByteByByte(
        socket,
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nB\r\n0\r\n\r\ndefghi\r\n0\r\n\r\n',
      ),
    )
  })
  for (let times = 0; times < 2; times += 1)
    assert.deepEqual(await browser.get('/'), { status: 200, body: Buffer.from('abc0\r\n\r\ndefghi') })
})

test('posts do not wait for each other, and a connection that closes is an error', async (t) => {
  const sockets: TLSSocket[] = []
  const browser = await browserAt(t, (socket) => {
    socket.once('data', () => {
      sockets.push(socket)
      if (sockets.length === 2) for (const each of sockets) each.destroy()
    })
  })
  const posts = [1, 2].map(() => browser.post('/', 'text/plain', ''))
  await Promise.all(posts.map((post) => assert.rejects(post, /closed before the response was complete/)))
})
