// The page during development: its files come from Vite's address, here that of a small server.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { openPort } from '../../scripts/open-port.ts'
import { startTestServer } from '../testing.ts'

const page =
  '<script nonce="n-1">run()</script><script type="application/json" id="settings" nonce="n-1">null</script>'

/** As Vite does: a file has a type and a version, a path outside the folders is refused. */
async function start(t: TestContext) {
  const asked: IncomingMessage[] = []
  const vite = createServer((request, response) => {
    asked.push(request)
    if (request.url === '/assets/index.html') return response.end(page)
    if (request.url?.startsWith('/assets/main.tsx') !== true) return response.writeHead(403).end('refused')
    response.setHeader('ETag', 'W/"3"')
    if (request.headers['if-none-match'] === 'W/"3"') return response.writeHead(304).end()
    response.setHeader('Content-Type', 'text/javascript').setHeader('Server', 'small').end('script()')
  })
  const address = new URL(`http://127.0.0.1:${await openPort(vite)}`)
  const server = await startTestServer({}, address)
  t.after(() => {
    vite.close()
    return server.close()
  })
  async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
    const { ca } = server
    const [response] = await once(get(server.origin['1.1'] + path, { ca, headers, agent: false }), 'response')
    return { status: response.statusCode, headers: response.headers, body: await text(response) }
  }
  return { vite, address, asked, ask }
}

test('the page is Vite’s, with the settings; its policy allows Vite’s scripts and WebSocket', async (t) => {
  const { address, ask } = await start(t)
  const { status, headers, body } = await ask('/')
  assert.equal(status, 200)
  const [, settings = ''] = /id="settings">(.*)<\/script>$/.exec(body) ?? []
  assert.equal(JSON.parse(settings).channel, 'main')
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /script-src 'self' 'nonce-n-1'; style-src 'self' 'nonce-n-1';/)
  assert.match(policy, new RegExp(`connect-src [^;]* ws://${address.host};`))
})

test('Vite answers for what the page loads, with its query, type, version and refusals', async (t) => {
  const { asked, ask } = await start(t)
  const path = '/assets/main.tsx?t=1'
  const { status, headers, body } = await ask(path, { 'sec-fetch-dest': 'script', cookie: 'secret=1' })
  assert.deepEqual([status, headers['content-type'], body], [200, 'text/javascript', 'script()'])
  assert.equal(headers.server, undefined)
  const [request] = asked
  assert.deepEqual([request?.url, request?.headers['sec-fetch-dest']], [path, 'script'])
  assert.equal(request?.headers.cookie, undefined)
  assert.equal((await ask(path, { 'if-none-match': String(headers.etag) })).status, 304)
  assert.equal((await ask('/assets/@fs/etc/passwd')).status, 403)
  assert.equal((await ask('/main.tsx')).status, 404)
})

test('without Vite, one sentence says what to do', async (t) => {
  const { vite, address, ask } = await start(t)
  vite.close()
  for (const path of ['/', '/assets/main.tsx']) {
    const { status, body } = await ask(path)
    assert.equal(status, 500)
    assert.equal(
      JSON.parse(body).message,
      `Vite does not answer at ${address.origin}; stop \`npm run dev\` and start it again.`,
    )
  }
})
