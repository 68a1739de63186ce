// The peers' own clients get the same answers as the lean ones: the number of pings, or a file.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Socket as EngineIo } from 'engine.io-client'
import { io } from 'socket.io-client'
import { WebSocket } from 'ws'
import { startServerProcess } from '../lab/server-process.ts'
import { answeringPeers } from '../load/load-client.ts'
import { createSharedClock } from '../load/load-process.ts'
import { startRamp } from '../load/ramp.ts'

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
  const [socketIo, ws] = [await startPeer(t, 'socket.io', '3000'), await startPeer(t, 'ws', '3000', '2')]
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

for (const client of answeringPeers)
  for (const bytes of [0, 2000])
    test(`${client}: the lean client gets an answer to each ping${bytes > 0 ? ', a file' : ''}`, async (t) => {
      const origin = await startPeer(t, client.replace('-websocket', ''), String(bytes))
      const clock = createSharedClock()
      const ramp = startRamp(
        {
          target: { client, http: '1.1', origin, fileChannel: null, polling: { intervalMs: 0, holdMs: 0 } },
          ...{ windows: 3, windowsPerSecond: 60, perBrowser: 1, perPage: 1, meanPeriodMs: 100, holdMs: 600 },
          ...{ patienceMs: 5000, seed: 2, startAt: clock(), share: { place: 0, of: 1 } },
        },
        clock,
      )
      t.after(ramp.close)
      const { opened, dropped, due, sent, missing, repeated, reasons } = await ramp.tally
      assert.deepEqual(
        { opened, dropped, missing, repeated, reasons },
        { opened: 3, dropped: 0, missing: 0, repeated: 0, reasons: {} },
      )
      assert.ok(due >= 6 && sent === due, `${sent} of ${due}`)
      assert.ok(ramp.receivedBytes() > bytes * due)
    })
