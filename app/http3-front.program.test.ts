// `npm start -- --http3`: what is said without Caddy, and what goes through it.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { ensureCertificate } from '../certs/certificate.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { freePort, openPort } from '../scripts/open-port.ts'
import { processTimers } from '../scripts/process.ts'
import { startHttp3Front } from './http3-front.ts'

const root = join(import.meta.dirname, '..')
const authorityFile = join(root, 'certs/authority.pem')
const needsCaddy = {
  skip: spawnSync('caddy', ['version']).status !== 0 && 'needs caddy',
  timeout: 60_000,
}

interface Started {
  readonly path?: string | undefined
  /** Whether it leads a group of processes, as in a terminal. */
  readonly detached?: boolean
}

function start(t: TestContext, port: number, { path = process.env.PATH, detached = false }: Started = {}) {
  const flags = ['--port', '0', '--http1-port', '0', '--http3-port', String(port), '--sensor-source', 'none']
  const child = fork(
    'app/main.ts',
    ['--http3', ...flags, '--data-folder', temporaryFolder(t), '--drain-ms', '500'],
    { cwd: root, detached, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, PATH: path } },
  )
  // Killed at once, it would leave Caddy.
  t.after(() => child.kill())
  return child
}

async function health(port: number): Promise<http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader> {
  const session = http2.connect(`https://localhost:${port}`, { ca: await readFile(authorityFile) })
  try {
    await once(session, 'connect')
    const [headers] = await once(session.request({ ':path': '/healthz' }), 'response')
    return headers
  } finally {
    session.destroy()
  }
}

async function endOf(child: ChildProcess) {
  const [errors, [code]] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, 'exit')])
  return { code, errors }
}

test('without Caddy one sentence says how to get it', async (t) => {
  const { code, errors } = await endOf(start(t, await freePort(), { path: '' }))
  assert.equal(code, 1)
  assert.match(
    errors,
    /^Crosswind did not start\. HTTP\/3 needs Caddy, which is not installed: .+ Without --http3 the server has HTTP\/2 and HTTP\/1\.1\.\n$/,
  )
})

test('a port that is in use is named', needsCaddy, async (t) => {
  const other = net.createServer()
  t.after(() => other.close())
  const port = await openPort(other)
  const { code, errors } = await endOf(start(t, port))
  assert.equal(code, 1)
  assert.match(errors, new RegExp(`^Crosswind did not start\\. Port ${port} is in use`))
})

test(
  'the front announces HTTP/3, is started again when it ends, and ends with the server',
  needsCaddy,
  async (t) => {
    const port = await freePort()
    const child = start(t, port)
    await once(child, 'message')
    const first = await health(port)
    assert.equal(first[':status'], 200)
    assert.match(String(first['alt-svc']), new RegExp(`h3=":${port}"`))
    const { stdout } = await promisify(execFile)('pgrep', ['-P', String(child.pid), 'caddy'])
    const said = once(child.stderr ?? child, 'data')
    process.kill(Number(stdout), 'SIGKILL')
    assert.match(String(await said), /^Caddy ended with SIGKILL; it is started again/)
    for (let isBack = false; !isBack; ) isBack = await health(port).then(Boolean, () => false)
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
    await assert.rejects(health(port), { code: 'ECONNREFUSED' })
  },
)

test(
  'an event passes at once, and a client that leaves ends its stream at the server',
  needsCaddy,
  async (t) => {
    const tls = await ensureCertificate({ directory: temporaryFolder(t), now: new Date() })
    const server = https.createServer(tls)
    t.after(() => server.close())
    const at = {
      host: 'localhost',
      port: await freePort(),
      upstreamPort: await openPort(server),
    }
    const front = await startHttp3Front({ ...at, ...tls }, processTimers)
    t.after(() => front.close())
    const asked = once(server, 'request') as Promise<[unknown, ServerResponse]>
    const session = http2.connect(`https://localhost:${at.port}`, { rejectUnauthorized: false })
    t.after(() => session.destroy())
    const stream = session.request({ ':path': '/' })
    const [, response] = await asked
    response.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
    response.write('event: welcome\n\n')
    assert.equal(String(await once(stream, 'data')), 'event: welcome\n\n')
    const left = once(response, 'close')
    stream.close(http2.constants.NGHTTP2_CANCEL)
    await left
  },
)

test('after Ctrl-C, which a terminal sends to all, windows are still told', needsCaddy, async (t) => {
  const port = await freePort()
  const child = start(t, port, { detached: true })
  const ended = endOf(child)
  await once(child, 'message')
  const session = http2.connect(`https://localhost:${port}`, { ca: await readFile(authorityFile) })
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/api/stream?window=w1&channels=main' })
  const said = text(stream)
  await once(stream, 'response')
  process.kill(-Number(child.pid), 'SIGINT')
  assert.match(await said, /^event: bye\n(?:id: .*\n)?data: \{"code":"draining"/m)
  assert.deepEqual(await ended, { code: 0, errors: '' })
})
