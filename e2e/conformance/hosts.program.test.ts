// A page that makes its own name lead to this machine (DNS rebinding) is not served.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type HttpVersion, httpVersions } from '../../protocol/modes.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'
import { startApplication } from './application.ts'

type Started = Pick<TestServer, 'origin' | 'close'>

interface Hosts {
  readonly allowedHosts?: string[]
  readonly allowedOrigins?: string[]
}

const servers: Readonly<Record<string, (hosts: Hosts) => Promise<Started>>> = {
  'the page’s server': startTestServer,
  'an application’s server': startApplication,
}

const upgrade = {
  '1.1': {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  },
  '2': {
    method: 'CONNECT',
    headers: { ':protocol': 'websocket', 'sec-websocket-version': '13' },
    body: new PassThrough(),
  },
} as const

const onPage = 'window=w1&channels=main'

/** Requests of a page whose address has this host: what it reads and sends, and the code of each refusal. */
async function codesFor(server: Started, version: HttpVersion, host: string) {
  const json = { 'content-type': 'application/json' }
  return Promise.all([
    codeOf(server, version, host, { path: '/api/clock' }),
    codeOf(server, version, host, { path: `/api/poll?${onPage}&first` }),
    codeOf(server, version, host, { method: 'POST', path: '/api/messages', headers: json, body: '{}' }),
  ])
}

async function codeOf({ origin }: Started, version: HttpVersion, host: string, request: HttpRequest) {
  // Node would look for the host in the certificate.
  const http = connectHttp(version, origin[version], null)
  const page = { [version === '2' ? ':authority' : 'host']: host, origin: `https://${host}` }
  const { status, body } = await http.ask({ ...request, headers: { ...request.headers, ...page } })
  const text = status >= 400 ? await textOf(body) : '{}'
  http.close()
  return JSON.parse(text).code ?? 'allowed'
}

async function start(t: TestContext, open: (hosts: Hosts) => Promise<Started>, hosts: Hosts = {}) {
  const server = await open(hosts)
  t.after(() => server.close())
  return server
}

const foreign = Array(3).fill('foreign-host')

for (const [name, open] of Object.entries(servers))
  for (const version of httpVersions) {
    test(`${name}, over HTTP/${version}: a foreign host is refused on a loopback address`, async (t) => {
      const server = await start(t, open)
      for (const host of ['evil.example', 'evil.example:8443', 'localhost.evil.example', 'evil.example.'])
        assert.deepEqual(await codesFor(server, version, host), foreign, host)
      const socket = { path: `/api/socket?${onPage}`, ...upgrade[version] }
      assert.equal(await codeOf(server, version, 'evil.example', socket), 'foreign-host')
      for (const host of [
        'localhost:1',
        'wind.localhost',
        '127.0.0.1',
        '127.9.9.9:8443',
        '192.168.1.9',
        '[::1]:8443',
      ])
        assert.ok(!(await codesFor(server, version, host)).includes('foreign-host'), host)
    })

    test(`${name}, over HTTP/${version}: a host that it names is allowed, also by the origin of a proxy`, async (t) => {
      const server = await start(t, open, {
        allowedHosts: ['wind.example.org'],
        allowedOrigins: ['https://proxy.example.org'],
      })
      for (const host of ['wind.example.org', 'WIND.example.org:444', 'proxy.example.org'])
        assert.ok(!(await codesFor(server, version, host)).includes('foreign-host'), host)
      assert.deepEqual(await codesFor(server, version, 'evil.example'), foreign)
      const any = await start(t, open, { allowedHosts: ['*'] })
      assert.ok(!(await codesFor(any, version, 'evil.example')).includes('foreign-host'))
    })
  }

test('the refusal says which host it is, and how to allow it', async (t) => {
  const { origin } = await start(t, startApplication)
  const http = connectHttp('1.1', origin['1.1'], null)
  t.after(() => http.close())
  const { status, body } = await http.ask({ path: '/api/clock', headers: { host: 'evil.example' } })
  assert.deepEqual(
    [status, JSON.parse(await textOf(body)).message],
    [403, 'This server is not known as evil.example; name that host in allowedHosts to allow it.'],
  )
})
