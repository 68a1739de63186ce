// Each limit answers with a status, a code and one sentence, on our own and an application's servers.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { PassThrough, type Writable } from 'node:stream'
import { after, before, describe, type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { WebSocket } from 'ws'
import type { Config } from '../../app/config/config.ts'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import type { Draft } from '../../protocol/messages.ts'
import { type HttpVersion, httpVersions, modeNamed } from '../../protocol/modes.ts'
import { reserve } from '../../server/http/open-files.ts'
import { draftOf as editOf } from '../clients/client.ts'
import {
  type Answer,
  connectHttp,
  type HttpClient,
  type HttpRequest,
  textOf,
} from '../clients/http-client.ts'
import { webSocketFrame } from '../load/lean-http.ts'
import { startApplication } from './application.ts'
import { type ContractClient, contentOf, openClient } from './contract-client.ts'
import { startFloodedServer } from './flood-processes.ts'
import { fieldBlock, frames, openRawHttp2, requestFields, settings, streamAt } from './raw-http2.ts'

const json = { 'content-type': 'application/json' }

async function refusalOf({ status, body }: Answer): Promise<[number, string]> {
  const { type, code, message } = JSON.parse(await textOf(body))
  assert.equal(type, 'refused')
  assert.match(message, /^[^\n]{20,300}\.$/)
  return [status, code]
}

type Server = Pick<TestServer, 'origin' | 'ports' | 'ca' | 'close'>

interface Subject {
  readonly isApplication: boolean
  readonly start: (limits: Partial<Config['limits']>, heartbeatMs?: number) => Promise<Server>
  readonly draftOf: (from: string, count: number, text: string, channel?: string) => Draft
}

function subject(isApplication: boolean): Subject {
  return {
    isApplication,
    start(given, heartbeatMs = 15_000) {
      const limits = { ...testConfig.limits, ...given }
      if (isApplication) return startApplication({ heartbeatMs, limits })
      return startTestServer({ heartbeatMs, limits })
    },
    draftOf: (from, count, text, channel) => ({
      ...editOf(from, count, '', channel),
      ...contentOf(isApplication, text),
    }),
  }
}

const subjects: Readonly<Record<string, Subject>> = {
  'a server of our own': subject(false),
  'an application’s servers': subject(true),
}

/** Limits that an application's servers do not have, and why. */
const differences = {
  'past the reserve, the oldest that have no place are closed without an answer':
    'how many connections it accepts is the application’s to say',
  'HTTP/1.1: headers of 20 KB are refused (431)':
    'Node answers 431 without a sentence: what is no request is the application’s to answer',
} as const

const skipFor = ({ isApplication }: Subject, what: string) => ({
  skip: isApplication && (differences[what as keyof typeof differences] ?? false),
})

/** On both at once: most of the time they wait. */
function describeBoth(what: string, define: (subject: Subject) => void): void {
  describe(what, { concurrency: true }, () => {
    for (const [name, subject] of Object.entries(subjects))
      describe(name, { concurrency: false, ...skipFor(subject, what) }, () => define(subject))
  })
}

function testBoth(what: string, run: (t: TestContext, subject: Subject) => Promise<void>): void {
  describe(what, { concurrency: true }, () => {
    for (const [name, subject] of Object.entries(subjects)) test(name, (t) => run(t, subject))
  })
}

describeBoth('more connections than limits.maxConnections', (subject) => {
  const { start, isApplication } = subject
  const most = 2
  let server: Server
  let first: HttpClient[]

  before(async () => {
    server = await start({ maxConnections: most })
    first = await Promise.all(httpVersions.map(connect))
  })
  after(async () => {
    for (const http of first) http.close()
    await server.close()
  })

  /** Resolves when the server has accepted the connection. */
  async function connect(version: HttpVersion): Promise<HttpClient> {
    const http = connectHttp(version, server.origin[version], server.ca)
    const { body } = await http.ask({ path: '/api/clock' })
    await textOf(body)
    return http
  }

  for (const version of httpVersions) {
    test(`HTTP/${version}: 503 with Retry-After, readable for a page of the server, ours at either port`, async () => {
      const one = connectHttp(version, server.origin[version], server.ca)
      const other = version === '2' ? '1.1' : '2'
      const origin = server.origin[isApplication ? version : other]
      const answer = await one.ask({ path: '/api/clock', headers: { origin } })
      assert.equal(answer.headers['retry-after'], '5')
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.deepEqual(await refusalOf(answer), [503, 'too-many-connections'])
      one.close()
    })
  }

  test('HTTP/2: GOAWAY follows the answer', async () => {
    const session = http2.connect(server.origin['2'], { ca: server.ca })
    const goaway = once(session, 'goaway')
    const closed = once(session, 'close')
    session.request({ ':path': '/api/clock' }).resume()
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

  const past = 'past the reserve, the oldest that have no place are closed without an answer'
  test(past, skipFor(subject, past), async () => {
    const sockets = Array.from({ length: most + reserve }, () =>
      net.connect(server.ports['1.1'], '127.0.0.1'),
    )
    for (const socket of sockets) socket.on('error', () => undefined)
    await Promise.race(sockets.map((socket) => once(socket, 'close')))
    assert.ok(sockets.some((socket) => socket.bytesRead === 0 && socket.destroyed))
    for (const socket of sockets) socket.destroy()
  })

  test('existing connections are served, and a closed one makes room', async () => {
    const [here] = first
    assert.ok(here)
    assert.equal((await here.ask({ path: '/api/clock' })).status, 200)
    first.pop()?.close()
    first.push(await placeAgain())
  })

  /** Retries until the server notices the closed connection. */
  async function placeAgain(): Promise<HttpClient> {
    for (;;) {
      const http = connectHttp('1.1', server.origin['1.1'], server.ca)
      const { status, body } = await http.ask({ path: '/api/clock' })
      await textOf(body)
      if (status === 200) return http
      http.close()
    }
  }
})

describeBoth('too large', (subject) => {
  const { start, draftOf } = subject
  let server: Server
  before(async () => {
    server = await start({ maxMessageBytes: 8192 })
  })
  after(() => server.close())

  for (const version of httpVersions) {
    const refused = `HTTP/${version}: headers of 20 KB are refused (431)`
    test(refused, skipFor(subject, refused), async () => {
      const http = connectHttp(version, server.origin[version], server.ca)
      const headers = { cookie: 'x'.repeat(20_000) }
      assert.deepEqual(await refusalOf(await http.ask({ path: '/api/clock', headers })), [
        431,
        'headers-too-large',
      ])
      http.close()
    })

    test(`HTTP/${version}: a body that exceeds the limit is refused (413)`, async () => {
      const http = connectHttp(version, server.origin[version], server.ca)
      const body = JSON.stringify(draftOf('w', 1, 'x'.repeat(9000)))
      const answer = await http.ask({ method: 'POST', path: '/api/messages', headers: json, body })
      assert.deepEqual(await refusalOf(answer), [413, 'too-large'])
      http.close()
    })
  }

  const field = (name: string) => fieldBlock([[name, 'y'.repeat(16_000)]])

  /** Headers of 16 kB and as much again in each CONTINUATION frame. */
  function largeHeaders(stream: number, continuations: number): Buffer[] {
    const request = Buffer.concat([fieldBlock(requestFields('/api/clock')), field('x-first')])
    return [
      frames.headers(stream, request, { endsHeaders: false }),
      ...Array.from({ length: continuations - 1 }, (_, index) =>
        frames.continuation(stream, field(`x-${index}`), false),
      ),
      frames.continuation(stream, field('x-last'), true),
    ]
  }

  const small = (stream: number) => frames.request(stream, '/api/clock')

  test('HTTP/2: headers of 50 kB and of 144 kB are answered, without RST_STREAM and GOAWAY', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    // The limits apply once acknowledged, by the first response at the latest.
    await raw.send(small(1))
    await raw.answered(1)
    await raw.send(...largeHeaders(3, 2), ...largeHeaders(5, 8), small(7))
    await raw.answered(4)
    assert.deepEqual(raw.soFar(), { goaway: null, resets: {}, answers: 4 })
    raw.close()
  })

  test('HTTP/2: with acknowledged limits, the response is also 431', async () => {
    const http = connectHttp('2', server.origin['2'], server.ca)
    assert.equal((await http.ask({ path: '/api/clock' })).status, 200)
    const { status, body } = await http.ask({ path: '/api/clock', headers: { cookie: 'x'.repeat(60_000) } })
    assert.deepEqual([status, await textOf(body)], [431, ''])
    http.close()
  })

  test('HTTP/2: past 147 kB, where no status can be sent, GOAWAY ends the connection', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    // Nothing follows the ninth CONTINUATION frame: if the server closed with bytes unread, TCP
    // would discard its GOAWAY.
    await raw.send(...largeHeaders(1, 9).slice(0, -1), frames.continuation(1, Buffer.alloc(0), true))
    // The code is Node's to choose.
    const { goaway, answers } = await raw.ended
    assert.ok(goaway !== null && goaway !== 'NO_ERROR', String(goaway))
    assert.equal(answers, 0)
  })

  test('HTTP/2: headers of 400 kB after decompression reset that stream alone', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    await raw.send(small(1))
    await raw.answered(1)
    // An indexed literal, then its index a hundred times (RFC 7541, sections 6.2.1 and 6.1).
    const [, ...literal] = fieldBlock([['x-large', 'y'.repeat(4000)]])
    const packed = Buffer.from([0x40, ...literal, ...Array.from({ length: 100 }, () => 0x80 | 62)])
    const block = Buffer.concat([fieldBlock(requestFields('/api/clock')), packed])
    await raw.send(frames.headers(3, block), small(5))
    await raw.answered(2)
    assert.deepEqual(raw.soFar(), { goaway: null, resets: { ENHANCE_YOUR_CALM: 1 }, answers: 2 })
    raw.close()
  })
})

describeBoth('more in progress than limits.connectionBytes', ({ start, draftOf }) => {
  let server: Server
  let http: HttpClient
  before(async () => {
    server = await start({ connectionBytes: 100_000 })
    http = connectHttp('2', server.origin['2'], server.ca)
  })
  after(async () => {
    http.close()
    await server.close()
  })

  const draft = (from: string) => JSON.stringify(draftOf(from, 1, 'x'.repeat(60_000)))

  test('the newest body is refused (503) and succeeds on retry; the first is unaffected', async () => {
    const begun = new PassThrough()
    const first = http.ask({ method: 'POST', path: '/api/messages', headers: json, body: begun })
    begun.write(draft('first').slice(0, -1))
    // Uses another stream, once the first has been read.
    const second = () =>
      http.ask({ method: 'POST', path: '/api/messages', headers: json, body: draft('second') })
    let refused = await second()
    for (; refused.status === 200; refused = await second()) await textOf(refused.body)
    assert.equal(refused.headers['retry-after'], '1')
    assert.deepEqual(await refusalOf(refused), [503, 'too-much-begun'])
    begun.end('}')
    const stored = await first
    assert.equal(stored.status, 200)
    await textOf(stored.body)
    assert.equal((await second()).status, 200)
  })

  test('with two unread streams, the first is kept and the second is cut', async () => {
    // More than the buffer of a stream, 64 KiB.
    for (const channel of ['one', 'two', 'three', 'four']) {
      const body = JSON.stringify(draftOf('filler', 1, 'x'.repeat(60_000), channel))
      const { body: answer } = await http.ask({ method: 'POST', path: '/api/messages', headers: json, body })
      await textOf(answer)
    }
    const raw = await openRawHttp2(server.ports['2'], settings.initialWindowSize(0))
    await raw.send(frames.request(1, '/api/stream?window=unread1&channels=one,two'))
    await raw.answered(1)
    await raw.send(frames.request(3, '/api/stream?window=unread2&channels=three,four'))
    assert.match((await raw.endOf(3)) ?? '', /^RST_STREAM/)
    assert.deepEqual([Object.values(raw.soFar().resets), raw.soFar().goaway], [[1], null])
    raw.close()
  })
})

for (const version of httpVersions) {
  testBoth(
    `a WebSocket over HTTP/${version} whose frame is not complete in time is closed`,
    async (t, { start }) => {
      const server = await start({ bodySeconds: 2 })
      const http = connectHttp(version, server.origin[version], server.ca)
      t.after(() => {
        http.close()
        return server.close()
      })
      const socket = http.openSocket('/api/socket?window=slow&channels=main')
      await once(socket, 'open')
      socket.send('{"type":', { fin: false })
      socket.send('"clock",', { fin: false })
      await once(socket, 'close')
    },
  )
}

describeBoth('one connection that uses everything it can', ({ isApplication, start }) => {
  let server: Server
  const connections: HttpClient[] = []
  before(async () => {
    server = await start({ maxWindows: 40, maxChannels: 40, streamsPerSession: 25, newChannelsPerHour: 25 })
  })
  after(async () => {
    for (const http of connections) http.close()
    await server.close()
  })

  function connection(version: HttpVersion): HttpClient {
    const http = connectHttp(version, server.origin[version], server.ca)
    connections.push(http)
    return http
  }

  /** Statuses and codes with their counts. */
  async function ask(http: HttpClient, requests: readonly HttpRequest[]) {
    const counts: Record<string, number> = {}
    for (const request of requests) {
      const { status, body } = await http.ask(request)
      const { code = '' } = JSON.parse(await textOf(body))
      const key = `${status} ${code}`.trim()
      counts[key] = (counts[key] ?? 0) + 1
    }
    return counts
  }

  const polls = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ path: `/api/poll?window=${name}${n}&channels=main&first` }))
  const titles = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      method: 'POST',
      path: '/api/messages',
      headers: json,
      body: JSON.stringify({
        ...editOf(name, n, '', `${name}${n}`),
        ...contentOf(isApplication, name),
      }),
    }))

  test('polls under invented names do not block other connections', async () => {
    const greedy = connection('1.1')
    const another = connection('2')
    assert.deepEqual(await ask(greedy, polls('a', 40)), { '200': 25, '503 too-many-windows': 15 })
    // The last quarter is reserved for connections that have none.
    assert.deepEqual(await ask(another, polls('b', 10)), { '200': 5, '503 too-many-windows': 5 })
    for (const version of httpVersions)
      assert.deepEqual(await ask(connection(version), polls(`c${version}x`, 2)), {
        '200': 1,
        '503 too-many-windows': 1,
      })
    assert.deepEqual(await ask(greedy, polls('a', 25)), { '200': 25 }, 'existing windows are unaffected')
  })

  test('titles of invented pages do not keep others from creating documents', async () => {
    const greedy = connection('1.1')
    const another = connection('2')
    assert.deepEqual(await ask(greedy, titles('d', 40)), { '200': 25, '429 too-fast': 15 })
    assert.deepEqual(await ask(another, titles('e', 10)), { '200': 6, '429 too-fast': 4 })
    for (const version of httpVersions)
      assert.deepEqual(await ask(connection(version), titles(`f${version}x`, 2)), {
        '200': 1,
        '429 too-fast': 1,
      })
    assert.deepEqual(await ask(greedy, titles('d', 25)), { '200': 25 }, 'existing pages can be written')
  })
})

describeBoth('a client that breaks HTTP/2', ({ isApplication }) => {
  test('fifty streams and one bad frame make one line in the terminal; further incidents are counted', async () => {
    const server = await startFloodedServer({}, isApplication)
    try {
      for (let client = 0; client < 20; client += 1)
        assert.equal(await breakSession(server.ports['2']), 'PROTOCOL_ERROR')
    } finally {
      await server.close()
    }
    const lines = server.written().split('\n').filter(Boolean)
    assert.ok(lines.length < 20, server.written())
    for (const line of lines) assert.match(line, /^A client broke HTTP\/2, and its connection was ended: /)
  })

  /** Resolves to GOAWAY's code. */
  async function breakSession(port: number): Promise<string | null> {
    const raw = await openRawHttp2(port)
    const streams = Array.from({ length: 50 }, (_, index) =>
      frames.request(streamAt(index), `/api/stream?window=w${index}&channels=main`),
    )
    await raw.send(...streams)
    await raw.answered(50)
    // DATA belongs to a stream (RFC 9113, section 6.1).
    await raw.send(frames.data(0, 'x'))
    return (await raw.ended).goaway
  }
})

testBoth(
  'messages from invented senders slow down only their own connection',
  async (t, { start, draftOf }) => {
    const server = await start({ maxWindows: 4, messagesPerSecond: 5 })
    t.after(() => server.close())
    const [flooding, honest] = [1, 2].map(() => connectHttp('2', server.origin['2'], server.ca))
    assert.ok(flooding && honest)
    async function post(http: HttpClient, from: string): Promise<number> {
      const body = JSON.stringify(draftOf(from, 1, ''))
      const answer = await http.ask({ method: 'POST', path: '/api/messages', headers: json, body })
      await textOf(answer.body)
      return answer.status
    }
    const names = Array.from({ length: 80 }, (_, n) => `invented${n}`)
    const statuses = await Promise.all(names.map((name) => post(flooding, name)))
    assert.ok(statuses.includes(429), 'no message was refused')
    assert.equal(await post(honest, 'honest'), 200)
    for (const http of [flooding, honest]) http.close()
  },
)

for (const version of httpVersions) {
  testBoth(`HTTP/${version}: refused requests slow down only their own connection`, async (t, { start }) => {
    // Refused requests are answered at one a second, all others at once.
    const server = await start({ messagesPerSecond: 1 })
    t.after(() => server.close())
    const [refused, honest] = [1, 2].map(() => connectHttp(version, server.origin[version], server.ca))
    assert.ok(refused && honest)
    const ask = async (http: HttpClient, path: string) => {
      const { status, body } = await http.ask({ path })
      await textOf(body)
      return status
    }
    const refusals: number[] = []
    let isOver = false
    const asking = (async () => {
      while (!isOver) refusals.push(await ask(refused, '/api/poll'))
    })()
    for (let count = 0; count < 40; count += 1) assert.equal(await ask(honest, '/api/clock'), 200)
    assert.ok(refusals.length < 20, `${refusals.length} were answered`)
    isOver = true
    await asking
    assert.deepEqual(new Set(refusals), new Set([400]))
    for (const http of [refused, honest]) http.close()
  })
}

for (const version of httpVersions) {
  testBoth(
    `a WebSocket over HTTP/${version} accepts thousands of PINGs at once, and answers the newest`,
    async (t, { start }) => {
      const server = await start({ messagesPerSecond: 1000 })
      t.after(() => server.close())
      const http = connectHttp(version, server.origin[version], server.ca)
      t.after(() => http.close())
      const socket = http.openSocket('/api/socket?window=pinging&channels=main')
      await once(socket, 'open')
      const { promise: answered, resolve, reject } = Promise.withResolvers<void>()
      socket.once('close', () => reject(new Error('closed')))
      let pongs = 0
      socket.on('pong', (data) => {
        pongs += 1
        if (String(data) === '2999') resolve()
      })
      const pings = Array.from({ length: 3000 }, (_, n) => webSocketFrame(String(n), 'ping'))
      rawOf(socket).write(Buffer.concat(pings))
      await answered
      assert.ok(pongs < 3000, `${pongs} PONGs`)
    },
  )
}

/** The socket that a `ws` WebSocket writes to; its types omit it. */
const rawOf = (socket: WebSocket) => (socket as unknown as { readonly _socket: Writable })._socket

testBoth(
  'more than a hundred pipelined HTTP/1.1 requests are answered, in order, and the connection ends after them',
  async (t, { start }) => {
    const server = await start({})
    const socket = tls.connect({ port: server.ports['1.1'], host: '127.0.0.1', ca: server.ca })
    t.after(() => {
      socket.destroy()
      return server.close()
    })
    // It keeps writing while the server closes.
    socket.on('error', () => undefined)
    let answers = ''
    socket.setEncoding('utf8').on('data', (text) => (answers += text))
    const sent = 5000
    for (let count = 0; count < sent; count += 1) {
      const path = count % 2 === 0 ? '/api/poll' : '/api/clock'
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    }
    await once(socket, 'close')
    const bodies = [...answers.matchAll(/\r\n\r\n\{"(type|at)"/g)].map(([, field]) => field)
    assert.ok(bodies.length > 100 && bodies.length < sent, `${bodies.length} answers`)
    assert.ok(bodies.every((field, index) => field === (index % 2 === 0 ? 'type' : 'at')))
    const another = connectHttp('1.1', server.origin['1.1'], server.ca)
    assert.equal((await another.ask({ path: '/api/clock' })).status, 200)
    another.close()
  },
)

testBoth(
  "a connection's large bodies are read four at a time; small ones, and other requests, do not wait for them",
  async (t, { start, draftOf }) => {
    const server = await start({ bodySeconds: 30 })
    const http = connectHttp('2', server.origin['2'], server.ca)
    t.after(() => {
      http.close()
      return server.close()
    })
    const answered: string[] = []
    const begin = (name: string) => {
      const body = new PassThrough()
      body.write(JSON.stringify(draftOf(name, 1, 'x')).slice(0, -1))
      const answer = http.ask({ method: 'POST', path: '/api/messages', headers: json, body })
      void answer.then(({ status }) => answered.push(`${name} ${status}`))
      return { answer, end: () => body.end('}') }
    }
    const large = ['a', 'b', 'c', 'd', 'e'].map(begin)
    const [first, , , , fifth] = large
    fifth?.end()
    const body = JSON.stringify(draftOf('small', 1, 'x'))
    const headers = { ...json, 'content-length': String(body.length) }
    const small = await http.ask({ method: 'POST', path: '/api/messages', headers, body })
    assert.equal(small.status, 200)
    assert.equal((await http.ask({ path: '/api/clock' })).status, 200)
    assert.deepEqual(answered, [], 'the fifth waits')
    first?.end()
    await Promise.all([first?.answer, fifth?.answer])
    assert.deepEqual(answered.toSorted(), ['a 200', 'e 200'])
    for (const { end } of large.slice(1, 4)) end()
    await Promise.all(large.map(({ answer }) => answer))
  },
)

describeBoth('a connection that is dead', ({ start }) => {
  let server: Server
  let observer: ContractClient

  before(async () => {
    server = await start({}, 1000)
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

  test('an HTTP/2 session that does not answer PINGs is closed, and its window leaves', async () => {
    const raw = await openRawHttp2(server.ports['2'])
    await raw.send(frames.request(1, '/api/stream?window=dead&channels=main'))
    await windowsToBe(2)
    raw.stopReading()
    await windowsToBe(1)
    raw.close()
  })

  test('a session that answers PINGs stays for many heartbeats', async () => {
    const mode = modeNamed('sse/2')
    assert.ok(mode)
    const query = new URLSearchParams({ window: 'alive', channels: 'main' })
    const client = openClient({ mode, origin: server.origin['2'], query, ca: server.ca })
    for (let beat = 0; beat < 3; beat += 1) await client.next('heartbeat')
    client.close()
  })
})
