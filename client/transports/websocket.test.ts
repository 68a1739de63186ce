// Browsers delay WebSockets after a failed one by up to a minute, so an outage must fail none.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { mode } from '../testing.ts'
import { browser, type Closing, type Opening, type Platform } from './transport.ts'
import { websocket } from './websocket.ts'

let tries = 0

const counting: Platform = {
  ...browser,
  openSocket(address) {
    tries += 1
    return browser.openSocket(address)
  },
}

/** Opens once, as opening number `opening`, and resolves when it has ended. */
function openOnce(port: number, opening: number, name = 'websocket/1.1'): Promise<Closing> {
  return new Promise((onClose) => {
    const asked: Opening = {
      base: `http://127.0.0.1:${port}`,
      mode: mode(name),
      query: new URLSearchParams({ opening: String(opening) }),
      polling: { intervalMs: 1000, holdMs: 1000 },
      onFrame: () => undefined,
      onClose,
    }
    websocket.open(asked, counting)
  })
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('while the server is away no WebSocket is opened, and none fails', async () => {
  const server = createServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  tries = 0
  for (const opening of [2, 3, 40]) assert.equal((await openOnce(port, opening)).code, 'lost')
  assert.equal((await openOnce(port, 1, 'websocket/2')).code, 'lost')
  assert.equal(tries, 0)
  await openOnce(port, 1)
  assert.equal(tries, 1)
})

/** A socket that stays as `readyState` says. */
function openSlow(readyState: number) {
  const listeners = new Map<string, () => void>()
  let closed = 0
  const platform: Platform = {
    ...browser,
    openSocket: () =>
      ({
        readyState,
        addEventListener: (type: string, listener: () => void) => void listeners.set(type, listener),
        removeEventListener: (type: string) => void listeners.delete(type),
        send: () => undefined,
        close() {
          closed += 1
        },
      }) as unknown as WebSocket,
  }
  const opening: Opening = {
    base: 'http://127.0.0.1:1',
    mode: mode('websocket/1.1'),
    query: new URLSearchParams({ opening: '1' }),
    onFrame: () => assert.fail('a frame after the end'),
    onClose: () => assert.fail('a second end'),
  }
  websocket.open(opening, platform).close()
  return {
    closed: () => closed,
    tell: (type: string, event?: object) =>
      (listeners.get(type) as ((event?: object) => void) | undefined)?.(event),
  }
}

test('a socket that is left while it connects is closed once it is open, and delivers nothing', () => {
  const { closed, tell } = openSlow(WebSocket.CONNECTING)
  assert.equal(closed(), 0)
  tell('message', { data: '{"type":"bye"}' })
  tell('open')
  assert.equal(closed(), 1)
  assert.equal(openSlow(WebSocket.OPEN).closed(), 1)
})

test('one that does not open in a second is closed all the same, so that it holds back no other', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { closed } = openSlow(WebSocket.CONNECTING)
  t.mock.timers.tick(1000)
  assert.equal(closed(), 1)
})

test('opens the WebSocket if the probe gets any answer, or is kept waiting', async (t) => {
  let answered = 0
  const server = createServer((request, response) => {
    answered += 1
    // The second request waits for a connection, as in a browser whose connections are all in use.
    if (answered !== 2) response.writeHead(401).end(request.url)
  })
  server.on('upgrade', (_request, socket) => socket.destroy())
  const port = await listen(server)
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  tries = 0
  await openOnce(port, 2)
  assert.equal(tries, 1)
  await openOnce(port, 3)
  assert.deepEqual([tries, answered], [2, 2])
})
