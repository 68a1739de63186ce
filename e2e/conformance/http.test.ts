// What the server answers to what is wrong, foreign or unusual, over both HTTP versions; windows notice none of it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { type HttpVersion, httpVersions, modeFor } from '../../server/wire/modes.ts'
import { draftOf, type FleetClient, openClient } from '../fleet/client.ts'
import { type Asking, connectHttp, type HttpClient, textOf } from '../fleet/http.ts'

const json = { 'content-type': 'application/json' }
const foreign = 'https://evil.example'

for (const version of httpVersions) describe(`HTTP/${version}`, () => testVersion(version))

function testVersion(version: HttpVersion): void {
  let server: TestServer
  let http: HttpClient
  let window: FleetClient

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

  const post = (body: string | Buffer, headers: Record<string, string> = json): Asking => ({
    method: 'POST',
    path: '/api/messages',
    headers,
    body,
  })
  const good = JSON.stringify(draftOf('w9', 1, 'good'))

  const refused: [what: string, asking: Asking, status: number, code: string][] = [
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
    ['a method that nobody knows', { method: 'PROPFIND', path: '/' }, 405, 'wrong-method'],
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

  test('nothing of all that reached the window, and the server still serves', async () => {
    const answer = await http.ask(post(good))
    assert.equal(answer.status, 200)
    await textOf(answer.body)
    assert.equal((await window.next('message')).message.id, 'w9-1')
  })

  test('a body cut off half-way reaches nobody', async () => {
    const own = connectHttp(version, server.origin[version], server.ca)
    const cut = own.ask(post(good.slice(0, 40), { ...json, 'content-length': String(good.length) }))
    cut.catch(() => undefined)
    own.close()
    const alive = await http.ask({ path: '/healthz' })
    assert.equal(JSON.parse(await textOf(alive.body)).status, 'ok')
  })

  test('a page of the other port may use this one, and a browser may remember that', async () => {
    const origin = server.origin[version === '2' ? '1.1' : '2']
    const preflight = await http.ask({ method: 'OPTIONS', path: '/api/messages', headers: { origin } })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers['access-control-allow-origin'], origin)
    assert.equal(preflight.headers['access-control-max-age'], '7200')
    preflight.body.resume()
  })

  test('the page carries its settings and a policy that lets nothing foreign in', async () => {
    const answer = await http.ask({ path: '/' })
    const page = await textOf(answer.body)
    assert.match(page, new RegExp(`"ports":{"2":${server.ports['2']},"1.1":${server.ports['1.1']}}`))
    const policy = String(answer.headers['content-security-policy'])
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  })

  test('HEAD ends, and no header is one that HTTP/2 forbids', async () => {
    const stream = await http.ask({ method: 'HEAD', path: '/api/stream?window=w4&channels=main' })
    assert.equal(await textOf(stream.body), '')
    const answer = await http.ask({ method: 'HEAD', path: '/healthz' })
    assert.equal(await textOf(answer.body), '')
    if (version === '1.1') return
    for (const name of ['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])
      assert.equal(answer.headers[name], undefined)
  })

  test('a stream is sent at once, unbuffered and uncompressed', async () => {
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

  async function statusOf(path: string, origin?: string): Promise<[number, string]> {
    const address = `${server.origin['1.1'].replace('https', 'wss')}${path}`
    const socket = new WebSocket(address, { ca: server.ca, ...(origin === undefined ? {} : { origin }) })
    socket.on('error', () => undefined)
    const [, response] = await once(socket, 'unexpected-response')
    const { code } = JSON.parse(await textOf(response))
    return [response.statusCode, code]
  }

  test('from a foreign page: 403', async () => {
    assert.deepEqual(await statusOf('/api/socket?window=w&channels=c', foreign), [403, 'foreign-origin'])
  })

  test('at an unknown path: 404', async () => {
    assert.deepEqual(await statusOf('/elsewhere'), [404, 'not-found'])
  })

  test('from its own page on the other port, and from no page at all: let in', async () => {
    for (const origin of [server.origin['2'], undefined]) {
      const address = `${server.origin['1.1'].replace('https', 'wss')}/api/socket?window=w&channels=c`
      const socket = new WebSocket(address, { ca: server.ca, ...(origin === undefined ? {} : { origin }) })
      await once(socket, 'open')
      socket.terminate()
    }
  })

  test('a frame that is no frame is refused, and the socket lives on', async () => {
    const socket = new WebSocket(
      `${server.origin['1.1'].replace('https', 'wss')}/api/socket?window=w&channels=c`,
      { ca: server.ca },
    )
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

  test('a frame far too large closes that socket alone (1009)', async () => {
    const socket = new WebSocket(
      `${server.origin['1.1'].replace('https', 'wss')}/api/socket?window=w&channels=c`,
      { ca: server.ca },
    )
    await once(socket, 'open')
    socket.send('x'.repeat(1_000_000))
    const [code] = await once(socket, 'close')
    assert.equal(code, 1009)
  })
})
