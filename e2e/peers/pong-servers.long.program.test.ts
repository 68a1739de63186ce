// The peers' own clients get the same answers as the lean ones: the number of pings, or a file.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Socket as EngineIo } from 'engine.io-client'
import { io } from 'socket.io-client'
import { WebSocket } from 'ws'
import { startServerProcess } from '../lab/server-process.ts'
import { openBrowser } from '../load/lean-http.ts'
import { answeringPeers, openClient } from '../load/load-client.ts'

const insecure = { rejectUnauthorized: false }

async function startPeer(t: TestContext, ...args: readonly string[]): Promise<string> {
  const server = await startServerProcess(join(import.meta.dirname, 'pong-servers.ts'), args)
  t.after(server.kill)
  return server.origin['1.1']
}

test('pings are counted over all connections', async (t) => {
  const origin = await startPeer(t, 'engine.io')
  for (const expected of ['1', '2']) {
    const socket = new EngineIo(origin, insecure)
    const upgraded = new Promise((resolve) => socket.on('upgrade', resolve))
    const pong = new Promise((resolve) => socket.on('message', resolve))
    await upgraded
    socket.send('ping')
    assert.equal(await pong, expected)
    socket.close()
  }
})

test('a file is a buffer of that size', async (t) => {
  const socketIo = await startPeer(t, 'socket.io', '3000')
  const ws = await startPeer(t, 'ws', '3000', '2')
  const socket = io(socketIo, { ...insecure, reconnection: false })
  t.after(() => void socket.close())
  socket.emit('ping')
  const pong = await new Promise<Buffer>((resolve) => socket.on('pong', resolve))
  assert.equal(pong.length, 3000)
  const plain = new WebSocket(ws.replace('https', 'wss'), insecure)
  t.after(() => plain.terminate())
  await once(plain, 'open')
  plain.send('ping')
  const [data] = await once(plain, 'message')
  assert.equal((data as Buffer).length, 3000)
})

for (const [server, clients] of Map.groupBy(answeringPeers, (client) => client.replace('-websocket', '')))
  for (const bytes of [0, 2000])
    test(`${server}: a lean client gets one answer to each ping${bytes > 0 ? ', a file' : ''}`, async (t) => {
      const origin = await startPeer(t, server, String(bytes))
      for (const client of clients) {
        const browser = await openBrowser(origin, '1.1')
        const answers = new EventEmitter()
        let pongs = 0
        const opened = await openClient(
          { client, http: '1.1', origin, polling: { intervalMs: 0, holdMs: 0 } },
          {
            browser,
            query: new URLSearchParams(),
            onPong() {
              pongs += 1
              answers.emit('pong')
            },
            onEnd: (why) => answers.emit('error', new Error(`${client}: ${why}`)),
          },
        )
        for (const pings of [1, 2, 3]) {
          const answered = once(answers, 'pong')
          opened.ping()
          await answered
          assert.equal(pongs, pings, client)
        }
        assert.ok(browser.receivedBytes() > 3 * bytes)
        opened.close()
        browser.close()
      }
    })
