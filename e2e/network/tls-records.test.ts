import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import tls from 'node:tls'
import { ensureCertificate } from '../../certs/certificate.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { sumTls, TlsConnection, TlsRecords } from './tls-records.ts'

const ccs = 20
const handshake = 22
const application = 23

function record(type: number, body: Buffer | number): Buffer {
  const bytes = typeof body === 'number' ? Buffer.alloc(body, 0xff) : body
  const header = Buffer.from([type, 3, 3, bytes.length >> 8, bytes.length & 0xff])
  return Buffer.concat([header, bytes])
}

/** RFC 8446, 4.1.3, with supported_versions after another extension; null for TLS 1.2, which has none. */
function serverHello(cipher: number, version: number | null): Buffer {
  const known = version === null ? [] : [0, 43, 0, 2, version >> 8, version & 0xff]
  const extensions = Buffer.from([0, 51, 0, 3, 1, 2, 3, ...known])
  const session = Buffer.alloc(32, 7)
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 9),
    Buffer.from([session.length]),
    session,
    Buffer.from([cipher >> 8, cipher & 0xff, 0, 0, extensions.length]),
    extensions,
  ])
  return record(handshake, Buffer.concat([Buffer.from([2, 0, 0, body.length]), body]))
}

const stream = Buffer.concat([
  serverHello(0x1301, 0x0304),
  record(ccs, 1),
  record(application, 300),
  record(application, 17),
  record(application, 0x4000),
])

for (const bytes of [1, 4, 5, 7, 1000, stream.length])
  test(`counts application data alone, in chunks of ${bytes} bytes`, () => {
    const records = new TlsRecords()
    for (let at = 0; at < stream.length; at += bytes) records.take(stream.subarray(at, at + bytes))
    assert.deepEqual(records.counts, { records: 3, bytes: 305 + 22 + 5 + 0x4000 })
    assert.deepEqual(records.suite, { version: 0x0304, cipher: 0x1301 })
  })

function connection(down: Buffer, up = record(application, 100)): TlsConnection {
  const one = new TlsConnection()
  one.down.take(down)
  one.up.take(up)
  return one
}

test('adds up connections, with 22 bytes of TLS in each record', () => {
  const both = [connection(stream), connection(serverHello(0x1303, 0x0304))]
  assert.deepEqual(sumTls(both, 'up'), { records: 2, bytes: 210, overheadBytes: 44 })
  assert.equal(sumTls(both, 'down').overheadBytes, 66)
})

const unknown = {
  'TLS 1.2': [serverHello(0xc02f, null), /version 0x0303 and cipher suite 0xc02f/],
  'a cipher suite with a shorter tag': [serverHello(0x1305, 0x0304), /cipher suite 0x1305/],
  'no ServerHello': [record(application, 3), /no TLS/],
} as const

for (const [what, [down, words]] of Object.entries(unknown))
  test(`refuses ${what}, whose overhead it does not know`, () => {
    assert.throws(() => sumTls([connection(down)], 'up'), words)
  })

test('on a connection of Node, the bytes without the overhead are those that were written', async (t) => {
  const { cert, key } = await ensureCertificate({ directory: temporaryFolder(t), now: new Date() })
  const server = tls.createServer({ cert, key, minVersion: 'TLSv1.3' })
  const target = await openPort(server)
  const counted = new TlsConnection()
  const sockets: Socket[] = []
  const relay = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    sockets.push(near, far)
    near.on('data', (chunk: Buffer) => counted.up.take(chunk)).pipe(far)
    far.on('data', (chunk: Buffer) => counted.down.take(chunk)).pipe(near)
  })
  const port = await openPort(relay)
  const accepted = once(server, 'secureConnection')
  const client = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => {
    for (const socket of [client, ...sockets]) socket.destroy()
    server.close()
    relay.close()
  })
  const [socket] = await accepted
  // The last part of the handshake to the client are the session tickets, before the first answer.
  await exchange(client, socket, 1)
  const before = { up: sumTls([counted], 'up'), down: sumTls([counted], 'down') }
  for (const bytes of [1, 100, 20_000]) await exchange(client, socket, bytes)
  for (const way of ['up', 'down'] as const) {
    const after = sumTls([counted], way)
    const plain = after.bytes - after.overheadBytes - before[way].bytes + before[way].overheadBytes
    assert.equal(plain, 20_101)
    // The largest record has 16,384 bytes.
    assert.equal(after.records - before[way].records, 4)
  }
})

/** So many bytes up, and as many down. */
async function exchange(client: tls.TLSSocket, socket: tls.TLSSocket, bytes: number): Promise<void> {
  client.write(Buffer.alloc(bytes))
  await read(socket, bytes)
  socket.write(Buffer.alloc(bytes))
  await read(client, bytes)
}

function read(socket: tls.TLSSocket, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let left = bytes
    const take = (chunk: Buffer) => {
      left -= chunk.length
      if (left > 0) return
      socket.off('data', take)
      resolve()
    }
    socket.on('data', take)
  })
}
