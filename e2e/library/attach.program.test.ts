// A server of an application with routes and WebSockets of its own, and Crosswind below a path, in every mode.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http, { type RequestListener } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { ensureCertificate } from '../../certs/certificate.ts'
import { createCrosswind, serverOptions } from '../../server/index.ts'
import { type HttpVersion, modes } from '../../server/wire/modes.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { openClient } from '../conformance/contract-client.ts'

let folder: string
let tls: { readonly cert: string; readonly key: string }
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosswind-attach-'))
  tls = await ensureCertificate({ directory: folder, now: new Date() })
})
after(() => rm(folder, { recursive: true, force: true }))

const answer = ((request, response) => response.end(`the application’s ${request.url}`)) as RequestListener

const servers: Readonly<
  Record<
    string,
    { readonly open: () => Server; readonly scheme: string; readonly http: readonly HttpVersion[] }
  >
> = {
  http: { open: () => http.createServer(answer), scheme: 'http', http: ['1.1'] },
  https: { open: () => https.createServer(tls, answer), scheme: 'https', http: ['1.1'] },
  http2: {
    open: () => http2.createSecureServer({ ...serverOptions(), ...tls }, answer as never),
    scheme: 'https',
    http: ['2', '1.1'],
  },
}

for (const [name, { open, scheme, http: versions }] of Object.entries(servers))
  for (const hasSockets of [true, false])
    describe(`on a server made by ${name}, ${hasSockets ? 'with' : 'without'} WebSockets of its own`, () => {
      let origin: string
      let close: () => Promise<void>
      before(async () => {
        const server = open()
        const foreign = new WebSocketServer({ noServer: true })
        if (hasSockets)
          server.on('upgrade', (request, socket, head) =>
            foreign.handleUpgrade(request, socket, head, (opened) => opened.send(`at ${request.url}`)),
          )
        const crosswind = await createCrosswind({
          ...{ path: '/realtime', channels: { 'room.*': { kind: 'json' } }, authorize: 'everyone' },
        })
        crosswind.attach(server)
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        origin = `${scheme}://localhost:${(server.address() as AddressInfo).port}`
        close = async () => {
          await crosswind.close({ drainMs: 0 })
          server.close()
        }
      })
      after(() => close())

      for (const mode of modes.filter((mode) => versions.includes(mode.http)))
        test(`${mode.name}: a message of one window reaches another`, async (t) => {
          const client = (suffix: string) => {
            const key = newKey()
            const window = nameOf(key, suffix)
            const channel = `room.${mode.name.replace('/', '-')}`
            const query = new URLSearchParams({ window, key, opening: '1', channels: channel })
            const opened = openClient({ origin, path: '/realtime', ca: null, mode, query })
            t.after(() => opened.close())
            const draft = {
              id: `${window}-1`,
              channel,
              kind: 'json',
              from: window,
              at: 1,
              body: { data: { hi: 1 } },
            }
            return { ...opened, draft }
          }
          const [ann, bob] = [client('ann'), client('bob')]
          await Promise.all([ann.next('welcome'), bob.next('welcome')])
          const { type, seq } = (await ann.send(ann.draft)) as { type: string; seq: number }
          const { message } = await bob.next('message')
          assert.deepEqual([type, message], ['stored', { ...ann.draft, seq, acceptedAt: message.acceptedAt }])
        })

      for (const version of versions)
        test(`the application keeps its own paths over HTTP/${version}`, async (t) => {
          const client = connectHttp(version, origin, null)
          t.after(() => client.close())
          for (const path of ['/', '/realtime', '/realtimes/clock', '/api/clock']) {
            const { status, body } = await client.ask({ path })
            assert.deepEqual([status, await textOf(body)], [200, `the application’s ${path}`])
          }
          const { status, body } = await client.ask({ path: '/realtime/nothing' })
          assert.deepEqual([status, JSON.parse(await textOf(body)).code], [404, 'not-found'])
        })

      test('its own pages may write, those of others may not', async (t) => {
        const client = connectHttp('1.1', origin, null)
        t.after(() => client.close())
        const body = JSON.stringify({
          ...{ id: 'w-1', channel: 'room.1', kind: 'json', from: 'w', at: 1 },
          body: { data: null },
        })
        for (const [from, expected] of [
          [origin, 200],
          ['https://evil.example', 403],
          [origin.replace('localhost', 'evil'), 403],
        ] as const) {
          const headers = { origin: from, 'content-type': 'application/json' }
          const { status, body: answer } = await client.ask({
            ...{ method: 'POST', path: '/realtime/messages', headers, body },
          })
          assert.equal(status, expected, `${from}: ${await textOf(answer)}`)
        }
      })

      test('the application keeps its own WebSockets', async (t) => {
        const client = connectHttp('1.1', origin, null)
        t.after(() => client.close())
        const socket = client.openSocket('/own')
        if (hasSockets) assert.equal(String((await once(socket, 'message'))[0]), 'at /own')
        else assert.match(String((await once(socket, 'error'))[0]), /Unexpected server response: (200|404)/)
      })
    })
