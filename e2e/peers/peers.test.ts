// `--peers`: valid words, what each peer is compared with, and errors in invalid words.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureCertificate } from '../../certs/certificate.ts'
import { describePeer, faultOf, imitatedModes, readPeers, requirePeers } from './peers.ts'

const peer = (word: string) => {
  const [found] = readPeers([word])
  if (!found) throw new Error(word)
  return found
}

test("a peer by name runs here; one by address gets its endpoint's path", () => {
  assert.deepEqual(readPeers(['bare', 'socket.io']), [{ name: 'bare' }, { name: 'socket.io' }])
  const endpoints = {
    'centrifugo=https://host:8000': 'https://host:8000/connection/websocket',
    'mercure=http://127.0.0.1:3000/': 'http://127.0.0.1:3000/.well-known/mercure',
    'mercure=https://host/hub': 'https://host/hub',
    'hocuspocus=http://localhost:1234': 'http://localhost:1234/',
  }
  for (const [word, address] of Object.entries(endpoints)) assert.equal(peer(word).address, address)
})

test('a bare relay may have a deliberate fault, which its name states', () => {
  assert.deepEqual(readPeers(['bare+2.5ms', 'bare+faults']), [
    { name: 'bare', fault: '2.5ms' },
    { name: 'bare', fault: 'faults' },
  ])
  assert.equal(describePeer(peer('bare+20ms')).label, 'bare+20ms')
  const faults = Array.from({ length: 100 }, (_, place) => faultOf(`name.b-1-${place + 1}`))
  assert.equal(faults.filter((fault) => fault === null).length, 97)
  assert.deepEqual([faults[29], faults[39], faults[49]], ['lost', 'duplicated', 'reordered'])
})

test("bare imitates the modes of its two transports; other peers have their transport's mode", () => {
  const modes = ['sse/2', 'sse/1.1']
  assert.deepEqual(imitatedModes(peer('bare'), [...modes, 'streaming/2', 'websocket/2']), modes)
  assert.deepEqual(imitatedModes(peer('socketcluster'), modes), ['websocket/1.1'])
  assert.deepEqual(imitatedModes(peer('mercure=https://host'), modes), ['sse/2'])
  assert.deepEqual(imitatedModes(peer('mercure=http://localhost'), modes), ['sse/1.1'])
})

test('the report has versions and addresses', () => {
  const { label, serverVersion, clientVersion, address } = describePeer(peer('socket.io'))
  assert.deepEqual([label, address], ['Socket.IO', null])
  for (const version of [serverVersion, clientVersion]) assert.match(version ?? '', /^\d+\.\d+\.\d+/)
  assert.match(describePeer(peer('mercure=http://localhost')).transport, /HTTP\/1\.1, without TLS$/)
})

for (const [words, sentence] of [
  [['sockjs'], /--peers names "sockjs"; there are bare, ws, .*, and by address centrifugo=URL, mercure=URL,/],
  [
    ['mercure'],
    /--peers names "mercure" without its address: write mercure=https:\/\/host:port, where it runs\./,
  ],
  [['ws+5ms'], /only bare has faults, such as bare\+5ms/],
  [['bare+5'], /only bare has faults/],
  [['bare+5ms', 'bare+5ms'], /names bare\+5ms twice/],
  [['centrifugo='], /without its address: write centrifugo=https/],
  [['centrifugo=localhost:8000'], /write its address as centrifugo=https:\/\/host:port/],
  [['ws=https://host'], /ws is started for the run; write only ws/],
  [['hocuspocus=http://host:1234'], /a browser opens http only on its own machine; write hocuspocus=https/],
  [['mercure=https://host/?authorization=secret'], /leave out everything after the path/],
  [['mercure=https://a', 'mercure=https://b'], /--peers names mercure twice/],
] as const) {
  test(`${words.join(',')}: one sentence`, () => assert.throws(() => readPeers(words), sentence))
}

test('a remote peer must answer, and speak HTTP/2 if it is measured over it', async (t) => {
  const { cert, key } = await ensureCertificate({
    directory: join(import.meta.dirname, '../../certs'),
    now: new Date(),
  })
  const server = createServer({ cert, key }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const token = process.env.MERCURE_JWT
  t.after(() => {
    if (token === undefined) delete process.env.MERCURE_JWT
    else process.env.MERCURE_JWT = token
  })
  delete process.env.MERCURE_JWT
  const mercure = readPeers([`mercure=https://127.0.0.1:${port}`])
  await assert.rejects(requirePeers(mercure), /needs a token .*MERCURE_JWT/)
  process.env.MERCURE_JWT = 'token'
  await assert.rejects(requirePeers(mercure), /does not speak HTTP\/2/)
  server.close()
  await assert.rejects(requirePeers(mercure), /nothing answers there \(ECONNREFUSED\)/)
})
