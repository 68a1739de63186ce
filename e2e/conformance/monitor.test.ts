// The monitor over HTTP: what it counts of real messages, and who may see it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import type { MonitorReply } from '../../server/wire/monitor.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'

async function start(context: TestContext, change: Parameters<typeof startTestServer>[0]) {
  const server = await startTestServer({ editor: 'mirror', ...change })
  context.after(() => server.close())
  return server
}

function connect(context: TestContext, { origin, ca }: TestServer, cookie?: string) {
  const http = connectHttp('2', origin['2'], ca, cookie)
  context.after(() => http.close())
  return http
}

test('it counts what windows write', async (context) => {
  const http = connect(context, await start(context, {}))
  const headers = { 'content-type': 'application/json' }
  for (const n of [1, 2, 3]) {
    const body = JSON.stringify({
      ...{ id: `w-${n}`, channel: 'main', from: 'w', at: 1 },
      ...{ kind: 'edit', body: { html: 'x' } },
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

test('it needs an invitation to all pages, as a session or as a bearer', async (context) => {
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
