// What each bound of the listeners answers, over both HTTP versions: a status, a code and one sentence.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import type { Config } from '../../server/config/config.ts'
import { reserve } from '../../server/listeners/settings.ts'
import { startTestServer, type TestServer, testConfig } from '../../server/testing.ts'
import { type HttpVersion, httpVersions, modeNamed } from '../../server/wire/modes.ts'
import { draftOf, type FleetClient, openClient } from '../fleet/client.ts'
import { slowBody, slowHeaders } from '../fleet/floods/bare-floods.ts'
import { slowBodyOverHttp2 } from '../fleet/floods/http2-floods.ts'
import {
  fieldBlock,
  flags,
  frame,
  frameTypes,
  openRawHttp2,
  requestFields,
} from '../fleet/floods/raw-http2.ts'
import { type Answer, connectHttp, type HttpClient, textOf } from '../fleet/http.ts'

const json = { 'content-type': 'application/json' }

async function refusalOf({ status, body }: Answer): Promise<[number, string]> {
  const { type, code, message } = JSON.parse(await textOf(body))
  assert.equal(type, 'refused')
  assert.match(message, /^[^\n]{20,300}\.$/)
  return [status, code]
}

function start(limits: Partial<Config['limits']>, heartbeatMs = 15_000): Promise<TestServer> {
  return startTestServer({ heartbeatMs, limits: { ...testConfig.limits, ...limits } })
}

describe('more connections than limits.maxConnections', () => {
  const most = 2
  let server: TestServer
  let first: HttpClient[]

  before(async () => {
    server = await start({ maxConnections: most })
    first = await Promise.all(httpVersions.map(connect))
  })
  after(async () => {
    for (const http of first) http.close()
    await server.close()
  })

  /** Resolves when it has its place. */
  async function connect(version: HttpVersion): Promise<HttpClient> {
    const http = connectHttp(version, server.origin[version], server.ca)
    const { body } = await http.ask({ path: '/healthz' })
    await textOf(body)
    return http
  }

  for (const version of httpVersions) {
    test(`HTTP/${version}: 503 and when to come back, readable for a page of the other port; then it is closed`, async () => {
      const one = connectHttp(version, server.origin[version], server.ca)
      const origin = server.origin[version === '2' ? '1.1' : '2']
      const answer = await one.ask({ path: '/healthz', headers: { origin } })
      assert.equal(answer.headers['retry-after'], '5')
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.deepEqual(await refusalOf(answer), [503, 'too-many-connections'])
      one.close()
    })
  }

  test('HTTP/2: after the answer comes GOAWAY', async () => {
    const session = http2.connect(server.origin['2'], { ca: server.ca })
    const goaway = once(session, 'goaway')
    const closed = once(session, 'close')
    session.request({ ':path': '/healthz' }).resume()
    assert.equal((await goaway)[0], http2.constants.NGHTTP2_NO_ERROR)
    await closed
  })

  test('WebSocket: 503 instead of the upgrade', async () => {
    const address = `${server.origin['1.1'].replace('https', 'wss')}/api/socket?window=w&channels=c`
    const socket = new WebSocket(address, { ca: server.ca })
    socket.on('error', () => undefined)
    const [, response] = await once(socket, 'unexpected-response')
    assert.deepEqual(await refusalOf({ status: response.statusCode, headers: {}, body: response }), [
      503,
      'too-many-connections',
    ])
  })

  test('past the reserve they are dropped without a word', async () => {
    const sockets = Array.from({ length: most + reserve }, () =>
      net.connect(server.ports['1.1'], '127.0.0.1'),
    )
    for (const socket of sockets) socket.on('error', () => undefined)
    await Promise.race(sockets.map((socket) => once(socket, 'close')))
    assert.ok(sockets.some((socket) => socket.bytesRead === 0 && socket.destroyed))
    for (const socket of sockets) socket.destroy()
  })

  test('who was there is served, and a place that is given up is given away', async () => {
    const [here] = first
    assert.ok(here)
    assert.equal((await here.ask({ path: '/healthz' })).status, 200)
    first.pop()?.close()
    first.push(await placeAgain())
  })

  /** The server hears of a closed connection a moment later than it was closed. */
  async function placeAgain(): Promise<HttpClient> {
    for (;;) {
      const http = connectHttp('1.1', server.origin['1.1'], server.ca)
      const { status, body } = await http.ask({ path: '/healthz' })
      await textOf(body)
      if (status === 200) return http
      http.close()
    }
  }
})

describe('too large, too slow', () => {
  let server: TestServer
  before(async () => {
    server = await start({ bodySeconds: 1, maxMessageBytes: 8192 })
  })
  after(() => server.close())

  for (const version of httpVersions) {
    test(`HTTP/${version}: headers of 20 KB are refused (431), and the server is there`, async () => {
      const http = connectHttp(version, server.origin[version], server.ca)
      const headers = { cookie: 'x'.repeat(20_000) }
      assert.deepEqual(await refusalOf(await http.ask({ path: '/healthz', headers })), [
        431,
        'headers-too-large',
      ])
      http.close()
    })

    test(`HTTP/${version}: a body that is refused half-way is answered (413)`, async () => {
      const http = connectHttp(version, server.origin[version], server.ca)
      const body = JSON.stringify(draftOf('w', 1, 'x'.repeat(9000)))
      const answer = await http.ask({ method: 'POST', path: '/api/messages', headers: json, body })
      assert.deepEqual(await refusalOf(answer), [413, 'too-large'])
      http.close()
    })
  }

  test('HTTP/2: headers of more than twice the limit cost that stream alone', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    const large = fieldBlock([...requestFields('/healthz'), ['x-large', 'y'.repeat(15_000)]])
    const more = fieldBlock([['x-more', 'y'.repeat(15_000)]])
    const last = fieldBlock([['x-last', 'y'.repeat(15_000)]])
    const small = (stream: number) =>
      frame(
        frameTypes.headers,
        flags.endStream | flags.endHeaders,
        stream,
        fieldBlock(requestFields('/healthz')),
      )
    await raw.send(small(1))
    await raw.answered(1)
    await raw.send(
      frame(frameTypes.headers, flags.endStream, 3, large),
      frame(frameTypes.continuation, flags.none, 3, more),
      frame(frameTypes.continuation, flags.endHeaders, 3, last),
      small(5),
    )
    await raw.answered(2)
    assert.deepEqual(raw.soFar(), { goaway: null, resets: { ENHANCE_YOUR_CALM: 1 }, answers: 2 })
    raw.close()
  })

  test('HTTP/1.1: slow headers and slow bodies are told so (408)', async () => {
    for (const answer of await Promise.all([
      slowHeaders(server.ports['1.1'], 50),
      slowBody(server.ports['1.1'], 50),
    ])) {
      assert.match(answer, /^HTTP\/1.1 408 .*"code":"too-slow","message":"[^"]{20,300}\."/s)
    }
  })

  test('HTTP/2: a slow body is answered and its stream closed; the session stays', async () => {
    const ending = await slowBodyOverHttp2(server.ports['2'], 50)
    assert.deepEqual(ending, { goaway: null, resets: { NO_ERROR: 1 }, answers: 1 })
  })
})

describe('a connection that is dead', () => {
  let server: TestServer
  let observer: FleetClient

  before(async () => {
    server = await start({}, 200)
    const mode = modeNamed('sse/1.1')
    assert.ok(mode)
    const query = new URLSearchParams({ window: 'observer', channels: 'main' })
    observer = openClient({ mode, origin: server.origin['1.1'], query, ca: server.ca })
    await observer.next('welcome')
  })
  after(async () => {
    observer.close()
    await server.close()
  })

  async function windowsToBe(count: number): Promise<void> {
    while ((await observer.next('presence')).windows !== count);
  }

  test('an HTTP/2 session that answers no PING is ended, and its window counts no more', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    const block = fieldBlock(requestFields('/api/stream?window=dead&channels=main'))
    await raw.send(frame(frameTypes.headers, flags.endHeaders | flags.endStream, 1, block))
    await windowsToBe(2)
    raw.stopReading()
    await windowsToBe(1)
    raw.close()
  })

  test('one that answers stays for many beats', async () => {
    const mode = modeNamed('sse/2')
    assert.ok(mode)
    const query = new URLSearchParams({ window: 'alive', channels: 'main' })
    const client = openClient({ mode, origin: server.origin['2'], query, ca: server.ca })
    for (let beat = 0; beat < 8; beat += 1) await client.next('heartbeat')
    client.close()
  })
})
