// The monitor over HTTP: its counts, who may see it, and the metrics of page and dashboard.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import type { MonitorReply } from '../../protocol/monitor.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, type HttpClient, redeem, textOf } from '../clients/http-client.ts'

async function start(context: TestContext, change: Parameters<typeof startTestServer>[0]) {
  const server = await startTestServer(change)
  context.after(() => server.close())
  return server
}

function connect(context: TestContext, { origin, ca }: TestServer, cookie?: string) {
  const http = connectHttp('2', origin['2'], ca, cookie)
  context.after(() => http.close())
  return http
}

test('counts what windows write', async (context) => {
  const http = connect(context, await start(context, {}))
  const headers = { 'content-type': 'application/json' }
  for (const n of [1, 2, 3]) {
    const body = JSON.stringify({
      id: `w-${n}`,
      channel: 'main',
      from: 'w',
      at: 1,
      kind: 'title',
      body: { title: 'x' },
    })
    const { status } = await http.ask({ method: 'POST', path: '/api/messages', headers, body })
    assert.equal(status, 200)
  }
  const reply: MonitorReply = JSON.parse(await textOf((await http.ask({ path: '/api/monitor' })).body))
  assert.deepEqual(
    [reply.log, reply.processes.map(({ name, seconds }) => [name, seconds])],
    ['memory', [['server', []]]],
  )
  const metrics = await http.ask({ path: '/metrics' })
  assert.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(await textOf(metrics.body), /^crosswind_messages_stored_total 3$/m)
})

const metricsOf = async (http: HttpClient) => textOf((await http.ask({ path: '/metrics' })).body)

test('counts refused, closed and unrecovered streams, and reports connections, log head and files', async (context) => {
  const http = connect(context, await start(context, { storage: 'sqlite' }))
  const title = { id: 'w-1', channel: 'main', from: 'w', at: 1, kind: 'title', body: { title: 'x' } }
  const headers = { 'content-type': 'application/json' }
  await http.ask({ method: 'POST', path: '/api/messages', headers, body: JSON.stringify(title) })
  const before = await metricsOf(http)
  const countOf = (code: string) =>
    Number(new RegExp(`^crosswind_refusals_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(before)?.[1] ?? 0)

  await http.ask({ method: 'POST', path: '/api/messages', headers, body: '{' })
  await http.ask({ path: '/nothing' })
  await http.ask({ path: '/api/poll?window=p&channels=main&cursor=abcdefgh:1' })
  const key = newKey()
  const socket = `/api/socket?window=${nameOf(key, 's')}&key=${key}&channels=main`
  const older = http.openSocket(`${socket}&opening=1`)
  await once(older, 'message')
  const newer = http.openSocket(`${socket}&opening=2`)
  const refused = new Promise((resolve) => {
    newer.on('message', (frame) => String(frame).includes('"refused"') && resolve(frame))
  })
  await Promise.all([once(newer, 'open'), once(older, 'close')])
  newer.send('{')
  await refused

  const lines = (await metricsOf(http)).split('\n')
  for (const line of [
    `crosswind_refusals_total{code="not-json"} ${countOf('not-json') + 2}`,
    `crosswind_refusals_total{code="not-found"} ${countOf('not-found') + 1}`,
    'crosswind_streams_ended_total{code="replaced"} 1',
    'crosswind_unrecovered_total 1',
    'crosswind_connections{protocol="2"} 1',
    'crosswind_connections{protocol="WebSocket"} 1',
    'crosswind_log_head 1',
  ])
    assert.ok(
      lines.includes(line),
      `${line} in ${lines.filter((found) => found.startsWith('crosswind')).join('\n')}`,
    )
  assert.ok(lines.some((line) => /^crosswind_log_bytes\{name="log\.db"\} [1-9]/.test(line)))
})

/** Reported only by one of several processes. */
const namesOfSome = ['crosswind_processes_silent']

test('docs/operating.md lists every metric, and the dashboard uses no other', async (context) => {
  const text = await metricsOf(connect(context, await start(context, {})))
  const types = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', type]) => ({ name, type }))
  const names = [...types.map(({ name }) => name), ...namesOfSome].sort()
  const docs = join(import.meta.dirname, '../../docs')
  const page = readFileSync(join(docs, 'operating.md'), 'utf8')
  const listed = page.matchAll(/^\| `([a-z\d]+(?:_[a-z\d]+)+)`/gm)
  assert.deepEqual(Array.from(listed, ([, name = '']) => name).sort(), names)

  const samples = types.flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  )
  const dashboard = readFileSync(join(docs, 'grafana-dashboard.json'), 'utf8')
  const expressions: string[] = []
  JSON.parse(dashboard, (key, value) => {
    if (key === 'expr' || String(value).startsWith('label_values')) expressions.push(value)
    return value
  })
  // Words with underscores that are neither functions nor Grafana's variables.
  const metric = /(?<![$\w])[a-z\d]+(?:_[a-z\d]+)+(?![\w(])/g
  const used = expressions.map((expression) => [expression, expression.match(metric) ?? []] as const)
  assert.deepEqual(
    used.filter(([, found]) => found.length === 0 || found.some((name) => !samples.includes(name))),
    [],
  )
})

test('needs an invitation to all pages, as a session or as a bearer token', async (context) => {
  const server = await start(context, { access: 'invited' })
  const everything = await server.invite({ channels: 'all', may: 'read' })
  const onePage = await server.invite({ channels: ['main'], may: 'write' })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const tokenOf = (link: string) => new URL(link).searchParams.get('invitation') ?? ''
  for (const path of ['/metrics', '/api/monitor']) {
    const nobody = connect(context, server)
    assert.equal((await nobody.ask({ path })).status, 401)
    assert.equal((await nobody.ask({ path, headers: bearer('forged') })).status, 401)
    for (const [link, expected] of [
      [everything, 200],
      [onePage, 403],
    ] as const) {
      const guest = connect(context, server, await redeem(server.origin['2'], server.ca, link))
      assert.equal((await guest.ask({ path })).status, expected)
      assert.equal((await nobody.ask({ path, headers: bearer(tokenOf(link)) })).status, expected)
    }
  }
})
