// Invalid, foreign and unusual requests over both HTTP versions: their status and code.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import tls from 'node:tls'
import { WebSocket } from 'ws'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { type HttpVersion, httpVersions, modeFor } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { draftOf } from '../clients/client.ts'
import { connectHttp, type HttpClient, type HttpRequest, textOf } from '../clients/http-client.ts'
import { type ContractClient, openClient } from './contract-client.ts'
import {
  fieldBlock,
  frames,
  maxWindow,
  openRawHttp2,
  type RawHttp2,
  requestFields,
  settings,
} from './raw-http2.ts'

const json = { 'content-type': 'application/json' }
const foreign = 'https://evil.example'

for (const version of httpVersions) describe(`HTTP/${version}`, () => testVersion(version))

function testVersion(version: HttpVersion): void {
  let server: TestServer
  let http: HttpClient
  let window: ContractClient

  before(async () => {
    server = await startTestServer()
    http = connectHttp(version, server.origin[version], server.ca)
    const query = new URLSearchParams({ window: 'w1', channels: 'main' })
    const mode = modeFor('sse', version)
    assert.ok(mode)
    window = openClient({ mode, origin: server.origin[version], query, ca: server.ca })
    await window.next('welcome')
  })
  after(async () => {
    window.close()
    http.close()
    await server.close()
  })

  const post = (body: string | Buffer, headers: Record<string, string> = json): HttpRequest => ({
    method: 'POST',
    path: '/api/messages',
    headers,
    body,
  })
  const good = JSON.stringify(draftOf('w9', 1, 'good'))

  const person = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

  for (const [path, status, heading, sentence] of [
    ['/nowhere', 404, 'There is no page here', 'There is nothing at /nowhere.'],
    ['/api/nowhere?<b>', 404, 'There is no page here', 'There is nothing at /api/nowhere.'],
    ['/?channel=two%20words', 400, 'No page can have this name', 'letters and digits of any script'],
    ['/api/socket?window=w2&channels=main', 426, 'This address does not work', 'WebSocket'],
  ] as const) {
    test(`a wrong address (${path}): a browser gets a page, a program JSON`, async () => {
      const page = await http.ask({ path, headers: person })
      assert.equal(page.status, status)
      assert.match(String(page.headers['content-type']), /^text\/html/)
      assert.match(String(page.headers.vary), /\bAccept\b/)
      const text = await textOf(page.body)
      assert.ok(text.includes(`<h1>${heading}</h1>`) && text.includes(sentence), text)
      assert.match(text, /<svg .*Crosswind.*<a href="\/">/s)
      assert.doesNotMatch(text, /<b>|<script/)
      for (const accept of ['application/json, text/plain, */*', '*/*', 'text/event-stream']) {
        const program = await http.ask({ path, headers: { accept } })
        assert.equal(program.status, status)
        assert.equal(JSON.parse(await textOf(program.body)).type, 'refused')
      }
    })
  }

  test('/index.html redirects to the page', async () => {
    const { status, headers, body } = await http.ask({ path: '/index.html?channel=notes', headers: person })
    body.resume()
    assert.deepEqual([status, headers.location], [301, '/?channel=notes'])
  })

  test('a page’s name may be in any script', async () => {
    const channel = 'Über-気象_мир.2'
    const query = new URLSearchParams({ window: 'w5', channels: channel })
    const mode = modeFor('sse', version) ?? assert.fail()
    const reader = openClient({ mode, origin: server.origin[version], query, ca: server.ca })
    await reader.next('welcome')
    const stored = await http.ask(post(JSON.stringify(draftOf('w9', 5, 'wind', channel))))
    assert.deepEqual([stored.status, JSON.parse(await textOf(stored.body)).type], [200, 'stored'])
    assert.equal((await reader.next('message')).message.channel, channel)
    reader.close()
    const page = await http.ask({ path: `/d/${encodeURIComponent(channel.normalize('NFD'))}` })
    assert.ok((await textOf(page.body)).includes(`"channel":"${channel}"`))
  })

  test('a page’s name that resembles another, or is too long, is refused', async () => {
    for (const channel of ['u\u0308ber', '\u200bmain', 'main ', '', '気'.repeat(22)]) {
      const answer = await http.ask(post(JSON.stringify(draftOf('w9', 6, 'wind', channel))))
      const { code, message } = JSON.parse(await textOf(answer.body))
      assert.deepEqual([answer.status, code], [400, 'bad-shape'])
      assert.match(message, /channel must be 1 to 64 bytes of letters and digits of any script/)
    }
  })

  const refused: [what: string, asking: HttpRequest, status: number, code: string][] = [
    [
      'a body that is too large',
      post(JSON.stringify(draftOf('w9', 1, 'x'.repeat(70_000)))),
      413,
      'too-large',
    ],
    ['what is not JSON', post('{"id": '), 400, 'not-json'],
    ['an empty body', post(''), 400, 'not-json'],
    ['JSON of the wrong shape', post('{"id":"w9-1"}'), 400, 'bad-shape'],
    [
      'a name with a line end',
      post(JSON.stringify({ ...draftOf('w9', 1, ''), id: 'a\nb' })),
      400,
      'bad-shape',
    ],
    ['a wrong content type', post(good, { 'content-type': 'text/plain' }), 415, 'wrong-type'],
    ['no content type', post(good, {}), 415, 'wrong-type'],
    [
      'an edit on the sensor’s channel',
      post(JSON.stringify(draftOf('w9', 1, '', 'wind'))),
      403,
      'read-only-channel',
    ],
    ['a POST from a foreign page', post(good, { ...json, origin: foreign }), 403, 'foreign-origin'],
    [
      'a POST from a page without an origin of its own',
      post(good, { ...json, origin: 'null' }),
      403,
      'foreign-origin',
    ],
    [
      'a stream for a foreign page',
      { path: '/api/stream?window=w&channels=c', headers: { origin: foreign } },
      403,
      'foreign-origin',
    ],
    ['a stream without a window', { path: '/api/stream?channels=c' }, 400, 'bad-query'],
    ['a stream of no channel', { path: '/api/stream?window=w' }, 400, 'bad-query'],
    ['an unknown path', { path: '/nothing/here' }, 404, 'not-found'],
    ['a path that leaves the folder', { path: '/..%2f..%2fpackage.json' }, 404, 'not-found'],
    ['a wrong method', { method: 'DELETE', path: '/api/messages' }, 405, 'wrong-method'],
    ['an unknown method', { method: 'PROPFIND', path: '/' }, 405, 'wrong-method'],
    ['a WebSocket’s path without an upgrade', { path: '/api/socket' }, 426, 'upgrade-required'],
  ]

  for (const [what, asking, status, code] of refused) {
    test(`${what}: ${status} ${code}, in one sentence`, async () => {
      const answer = await http.ask(asking)
      const body = JSON.parse(await textOf(answer.body))
      assert.deepEqual([answer.status, body.type, body.code], [status, 'refused', code])
      assert.match(body.message, /^[^\n]{20,300}\.$/)
      assert.match(String(answer.headers['content-type']), /^application\/json/)
    })
  }

  test('an invalid Host is refused (400), and the server survives', async () => {
    const paths = ['/', '/d/main', '/api/poll?window=p&channels=main&first', '/api/history?channel=main']
    for (const host of ['a b', '[::1', 'localhost:x', 'user@localhost', 'localhost/x', 'a;script-src *']) {
      for (const path of paths) {
        const own = connectHttp(version, server.origin[version], null)
        const headers = { [version === '2' ? ':authority' : 'host']: host }
        // Over HTTP/2 the library resets a stream with some of these.
        const answer = await own.ask({ path, headers }).catch(() => null)
        assert.ok(answer || version === '2', host)
        const code = answer && JSON.parse(await textOf(answer.body)).code
        if (answer) assert.deepEqual([answer.status, code], [400, 'bad-request'], `${host} ${path}`)
        own.close()
      }
    }
  })

  const fetched = (site: string, mode = 'no-cors', dest = 'image') => ({
    'sec-fetch-site': site,
    'sec-fetch-mode': mode,
    'sec-fetch-dest': dest,
  })

  test('a foreign page that sends no Origin opens no stream and reads nothing; its links open pages', async () => {
    const refused = [
      ['/api/stream?window=w&channels=c', fetched('cross-site')],
      ['/api/stream?window=w&channels=c', fetched('same-site')],
      ['/api/stream?window=w&channels=c', fetched('cross-site', 'navigate', 'document')],
      ['/api/long-poll?window=w&channels=c', fetched('cross-site')],
      ['/d/main', fetched('cross-site', 'navigate', 'iframe')],
      ['/d/main', fetched('cross-site', 'cors', 'empty')],
      ['/api/stream?window=w&channels=c', fetched('cross-site', 'navigate', 'empty')],
      ['/d/main/export.html', fetched('cross-site')],
    ] as const
    for (const [path, headers] of refused) {
      const { status, body } = await http.ask({ path, headers })
      assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`)
      assert.equal(JSON.parse(await textOf(body)).code, 'foreign-origin')
    }
    const passing = [
      ['/d/main', fetched('cross-site', 'navigate', 'document')],
      // As the page's service worker passes it on.
      ['/d/main', fetched('cross-site', 'navigate', 'empty')],
      ['/api/clock', fetched('same-origin', 'cors', 'empty')],
      ['/api/clock', fetched('none', 'navigate', 'document')],
      ['/api/clock', {}],
    ] as const
    for (const [path, headers] of passing) {
      const { status, body } = await http.ask({ path, headers })
      assert.equal(status, 200, `${path} ${JSON.stringify(headers)}`)
      body.resume()
    }
  })

  test('no refused message reached the window, and the server still works', async () => {
    const answer = await http.ask(post(good))
    assert.equal(answer.status, 200)
    await textOf(answer.body)
    assert.equal((await window.next('message')).message.id, 'w9-1')
  })

  test('a body cut off half-way reaches no one', async () => {
    const own = connectHttp(version, server.origin[version], server.ca)
    const cut = own.ask(post(good.slice(0, 40), { ...json, 'content-length': String(good.length) }))
    cut.catch(() => undefined)
    own.close()
    const alive = await http.ask({ path: '/healthz' })
    assert.equal(JSON.parse(await textOf(alive.body)).status, 'ok')
  })

  test('a page of the other port is allowed by CORS, and the preflight may be cached', async () => {
    const origin = server.origin[version === '2' ? '1.1' : '2']
    const preflight = await http.ask({ method: 'OPTIONS', path: '/api/messages', headers: { origin } })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers['access-control-allow-origin'], origin)
    assert.equal(preflight.headers['access-control-max-age'], '7200')
    preflight.body.resume()
  })

  test('the page contains its settings and a policy without foreign sources', async () => {
    const answer = await http.ask({ path: '/' })
    const page = await textOf(answer.body)
    assert.match(page, new RegExp(`"ports":{"2":${server.ports['2']},"1.1":${server.ports['1.1']}}`))
    const policy = String(answer.headers['content-security-policy'])
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  })

  test('the page shows the document’s title and text before its script runs', async () => {
    const headers = { 'content-type': 'text/markdown' }
    const put = await http.ask({
      method: 'PUT',
      path: '/api/documents/first?id=w9-7&from=w9',
      headers,
      body: 'one **two**',
    })
    put.body.resume()
    const drawn =
      /<h1[^>]*><span class="title-button">first<\/span><\/h1>.*<p>one <b>two<\/b><\/p>.*id="settings">{/s
    // Once the document's thread has started.
    for (let tries = 0; ; tries += 1) {
      const answer = await http.ask({ path: '/d/first' })
      const page = await textOf(answer.body)
      if (drawn.test(page)) break
      assert.ok(tries < 20, page)
    }
    const answer = await http.ask({ path: '/d/first?view=wind' })
    assert.doesNotMatch(await textOf(answer.body), /<p>one/)
  })

  test('HEAD ends, and no header is forbidden in HTTP/2', async () => {
    const stream = await http.ask({ method: 'HEAD', path: '/api/stream?window=w4&channels=main' })
    assert.equal(await textOf(stream.body), '')
    const answer = await http.ask({ method: 'HEAD', path: '/healthz' })
    assert.equal(await textOf(answer.body), '')
    if (version === '1.1') return
    for (const name of ['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])
      assert.equal(answer.headers[name], undefined)
  })

  test('a stream starts at once, unbuffered and uncompressed', async () => {
    const headers = { 'accept-encoding': 'gzip, br' }
    const answer = await http.ask({ path: '/api/stream?window=w3&channels=c', headers })
    assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-cache, no-transform')
    assert.equal(answer.headers['content-encoding'], undefined)
    answer.body.destroy()
  })
}

describe('WebSocket handshake', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.close())

  function connect(path = '/api/socket?window=w&channels=c', origin?: string): WebSocket {
    const address = `${server.origin['1.1'].replace('https', 'wss')}${path}`
    return new WebSocket(address, { ca: server.ca, ...(origin === undefined ? {} : { origin }) })
  }

  async function statusOf(path?: string, origin?: string): Promise<[number, string]> {
    const socket = connect(path, origin)
    socket.on('error', () => undefined)
    const [, response] = await once(socket, 'unexpected-response')
    const { code } = JSON.parse(await textOf(response))
    return [response.statusCode, code]
  }

  test('from a foreign page: 403', async () => {
    assert.deepEqual(await statusOf(undefined, foreign), [403, 'foreign-origin'])
  })

  test('at an unknown path: 404', async () => {
    assert.deepEqual(await statusOf('/elsewhere'), [404, 'not-found'])
  })

  test('from its own page on the other port, and without an Origin: accepted', async () => {
    for (const origin of [server.origin['2'], undefined]) {
      const socket = connect(undefined, origin)
      await once(socket, 'open')
      socket.terminate()
    }
  })

  test('an invalid frame is refused, and the socket stays open', async () => {
    const socket = connect()
    const answers: string[] = []
    const three = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const frame = JSON.parse(String(data))
        if (frame.type === 'refused') answers.push(frame.code)
        if (answers.length === 3) resolve()
      })
    })
    await once(socket, 'open')
    socket.send('{')
    socket.send('{"type":"dance"}')
    socket.send(Buffer.from([1, 2, 3]), { binary: true })
    await three
    assert.deepEqual(answers, ['not-json', 'bad-frame', 'wrong-type'])
    assert.equal(socket.readyState, WebSocket.OPEN)
    socket.terminate()
  })

  test('a frame beyond the limit closes the socket (1009)', async () => {
    const socket = connect()
    await once(socket, 'open')
    socket.send('x'.repeat(1_000_000))
    const [code] = await once(socket, 'close')
    assert.equal(code, 1009)
  })
})

describe('the end of an HTTP/2 response', () => {
  const folder = temporaryFolder()
  let server: TestServer
  let raw: RawHttp2
  let stream = -1

  before(async () => {
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>Page</title>')
    for (const bytes of [0, 1, 16_384, 100_000, 1_000_000]) {
      await writeFile(join(folder, 'assets', `${bytes}.js`), 'x'.repeat(bytes))
    }
    server = await startTestServer({}, folder)
    raw = await openRawHttp2(server.ports['2'], settings.initialWindowSize(maxWindow))
    await raw.send(frames.windowUpdate(2 ** 30))
  })
  after(async () => {
    raw.close()
    await server.close()
  })

  /**
   * Resolves to the answer's end, after three more requests: a reset would precede their answers.
   */
  async function endOf(
    path: string,
    method: string,
    ...body: readonly [text: string, isLast: boolean][]
  ): Promise<string | null> {
    stream += 2
    const asked = stream
    await raw.send(
      frames.headers(asked, fieldBlock(requestFields(path, method)), { endsStream: body.length === 0 }),
      ...body.map(([text, isLast]) => frames.data(asked, text, isLast)),
    )
    const end = await raw.endOf(asked)
    for (let turn = 0; turn < 3; turn += 1) {
      stream += 2
      await raw.send(frames.request(stream, '/healthz'))
      await raw.endOf(stream)
    }
    return end
  }

  const paths = [
    '/',
    '/assets/0.js',
    '/assets/1.js',
    '/assets/16384.js',
    '/assets/1000000.js',
    '/healthz',
    '/api/settings',
    '/nothing',
  ]
  for (const method of ['GET', 'HEAD']) {
    for (const path of paths) {
      test(`${method} ${path}: END_STREAM, and no RST_STREAM`, async () => {
        assert.equal(await endOf(path, method), 'END_STREAM')
        assert.deepEqual(raw.soFar().resets, {})
      })
    }
  }

  test('a response larger than the connection’s window of 65,535 bytes: END_STREAM at its end, and no RST_STREAM', async () => {
    const narrow = await openRawHttp2(server.ports['2'], settings.initialWindowSize(maxWindow))
    await narrow.send(frames.request(1, '/assets/100000.js'))
    await narrow.send(frames.request(3, '/assets/0.js'))
    await narrow.endOf(3)
    await narrow.send(frames.windowUpdate(2 ** 30))
    assert.equal(await narrow.endOf(1), 'END_STREAM')
    assert.deepEqual(narrow.soFar().resets, {})
    narrow.close()
  })

  test('several large responses over a used-up connection window: END_STREAM at the end of each, and no RST_STREAM', async () => {
    const narrow = await openRawHttp2(server.ports['2'], settings.initialWindowSize(maxWindow))
    const large = [1, 3, 5, 7, 9, 11]
    await narrow.send(...large.map((asked) => frames.request(asked, '/assets/100000.js')))
    // A response without DATA shows that the server has read the previous frame.
    for (let asked = 13; asked < 53; asked += 2) {
      await narrow.send(frames.windowUpdate(65_535), frames.request(asked, '/healthz', 'HEAD'))
      await narrow.endOf(asked)
    }
    for (const asked of large) assert.equal(await narrow.endOf(asked), 'END_STREAM')
    assert.deepEqual(narrow.soFar().resets, {})
    narrow.close()
  })

  test('POST with a body that arrived and was not read: END_STREAM, and no RST_STREAM', async () => {
    assert.equal(await endOf('/nothing', 'POST', ['x'.repeat(1000), false], ['x', true]), 'END_STREAM')
    assert.deepEqual(raw.soFar().resets, {})
  })

  test('POST with a body that is still arriving: END_STREAM, then RST_STREAM with NO_ERROR', async () => {
    assert.equal(await endOf('/nothing', 'POST', ['x'.repeat(1000), false]), 'END_STREAM')
    assert.deepEqual(raw.soFar().resets, { NO_ERROR: 1 })
  })
})

for (const version of httpVersions) {
  describe(`plain HTTP on the port of HTTP/${version}`, () => {
    let server: TestServer
    before(async () => {
      server = await startTestServer()
    })
    after(() => server.close())

    const say = (...parts: readonly string[]) => sayTo(server, ...parts)

    /** Resolves to all bytes received until the server closes the connection. */
    async function sayTo({ ports }: TestServer, ...parts: readonly string[]): Promise<string> {
      const socket = net.connect({ port: ports[version], host: '127.0.0.1', noDelay: true })
      socket.on('error', () => undefined)
      const answer = text(socket)
      for (const part of parts) await new Promise((resolve) => socket.write(part, resolve))
      return answer
    }
    const ask = (line: string, ...fields: string[]) => say(`${[line, ...fields].join('\r\n')}\r\n\r\n`)

    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      test(`${method} is redirected to the same host, port and path over https`, async () => {
        const answer = await ask(
          `${method} /a/b?channel=notes&x=%2f HTTP/1.1`,
          'Host: wind.example:9443',
          'Content-Length: 0',
        )
        assert.match(answer, /^HTTP\/1\.1 308 /)
        assert.match(answer, /\r\nLocation: https:\/\/wind\.example:9443\/a\/b\?channel=notes&x=%2f\r\n/)
        assert.match(answer, /\r\nCache-Control: no-store\r\n/)
        assert.match(answer, /\r\nConnection: close\r\n/)
        assert.equal(/\r\n\r\nThis port speaks HTTPS: /.test(answer), method !== 'HEAD')
      })
    }

    test('the Location has this port, so that a browser can follow it', async () => {
      const answer = await ask('GET / HTTP/1.1', `Host: localhost:${server.ports[version]}`)
      const [, location = ''] = /\r\nLocation: (\S+)/.exec(answer) ?? []
      assert.equal(location, `${server.origin[version]}/`)
    })

    test('a WebSocket upgrade is redirected too', async () => {
      const answer = await ask(
        'GET /api/socket HTTP/1.1',
        'Host: localhost:1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      )
      assert.match(answer, /^HTTP\/1\.1 308 .*\r\nLocation: https:\/\/localhost:1\/api\/socket\r\n/s)
    })

    test('a Host without a port means port 80; an IPv6 address is in brackets', async () => {
      assert.match(
        await ask('GET / HTTP/1.1', 'Host: wind.example'),
        /Location: https:\/\/wind\.example:80\/\r\n/,
      )
      assert.match(await ask('GET / HTTP/1.1', 'Host: [::1]:8443'), /Location: https:\/\/\[::1\]:8443\/\r\n/)
    })

    const refused: [what: string, line: string, ...fields: string[]][] = [
      ['no Host', 'GET / HTTP/1.1'],
      ['no Host in HTTP/1.0', 'GET / HTTP/1.0'],
      ['an empty Host', 'GET / HTTP/1.1', 'Host:'],
      ['two Hosts', 'GET / HTTP/1.1', 'Host: a', 'Host: b'],
      ['a Host with user information', 'GET / HTTP/1.1', 'Host: localhost@evil.example'],
      ['a Host with a path', 'GET / HTTP/1.1', 'Host: evil.example/x?'],
      ['a Host with a space', 'GET / HTTP/1.1', 'Host: a b'],
      ['a path of another server', 'GET http://evil.example/ HTTP/1.1', 'Host: localhost'],
      ['no path', 'OPTIONS * HTTP/1.1', 'Host: localhost'],
      ['a line end in the path', 'GET /\rX-Bad:1 HTTP/1.1', 'Host: localhost'],
      ['no HTTP', 'EHLO localhost'],
    ]
    for (const [what, line, ...fields] of refused) {
      test(`${what}: 400 and no redirect`, async () => {
        const answer = await ask(line, ...fields)
        assert.match(answer, /^HTTP\/1\.1 400 /)
        assert.doesNotMatch(answer, /\r\n(?:Location|X-Bad)/)
      })
    }

    test('a path that begins with two slashes stays on the host', async () => {
      const answer = await ask('GET //evil.example/ HTTP/1.1', 'Host: localhost:1')
      assert.match(answer, /\r\nLocation: https:\/\/localhost:1\/\/evil\.example\/\r\n/)
    })

    test('headers of 20 KB: 431', async () => {
      assert.match(
        await ask('GET / HTTP/1.1', 'Host: localhost', `X: ${'y'.repeat(20_000)}`),
        /^HTTP\/1\.1 431 /,
      )
    })

    test('a request that arrives byte by byte is redirected', async () => {
      assert.match(await say(...'GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n'), /^HTTP\/1\.1 308 /)
    })

    test('a client that sends nothing, or never ends its request, is disconnected', async (t) => {
      const impatient = await startTestServer({ limits: { ...testConfig.limits, bodySeconds: 1 } })
      t.after(() => impatient.close())
      const answers = ['', 'GET / HTTP/1.1\r\n', '\x16'].map((sent) => sayTo(impatient, sent))
      assert.deepEqual(await Promise.all(answers), ['', '', ''])
    })

    test('HTTP/2 without TLS gets no HTTP/1.1 success', async () => {
      assert.doesNotMatch(await say('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 (?!400 )/)
    })

    test('TLS that arrives byte by byte is served', async () => {
      const bare = net.connect({ port: server.ports[version], host: '127.0.0.1', noDelay: true })
      const trickling = new Duplex({
        read: () => undefined,
        write(chunk: Buffer, _, done) {
          for (const byte of chunk) bare.write(Buffer.from([byte]))
          done()
        },
      })
      bare.on('data', (chunk) => trickling.push(chunk))
      const secure = tls.connect({
        socket: trickling,
        ca: server.ca,
        servername: 'localhost',
        ALPNProtocols: ['http/1.1'],
      })
      secure.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      const [first] = await once(secure, 'data')
      assert.match(String(first), /^HTTP\/1\.1 200 /)
      bare.destroy()
    })
  })
}
