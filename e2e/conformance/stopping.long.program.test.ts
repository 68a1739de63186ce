// SIGTERM while clients cut their polls: the server ends in time and releases its log.
// `CROSSWIND_STOPS=30 npm test -- stopping` stops it 30 times, and then holds each stop to its time.

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { type HttpVersion, httpVersions } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { connectHttp } from '../clients/http-client.ts'

const root = join(import.meta.dirname, '../..')
const stops = Number(process.env.CROSSWIND_STOPS ?? 3)
const isLong = process.env.CROSSWIND_STOPS !== undefined
const drainMs = 1000
const stormMs = 1500
const width = 60
/** A longer stop counts as hung. */
const hangMs = 30_000

type Ports = Readonly<Record<HttpVersion, number>>

const folder = temporaryFolder()
let ca: string

/** All servers use one log, which is locked while another server holds it. */
async function start(): Promise<{ server: ChildProcess; ports: Ports; errors: () => string }> {
  const flags = ['--port', '0', '--http1-port', '0', '--data-folder', folder, '--drain-ms', String(drainMs)]
  const server = fork(join(root, 'app/main.ts'), flags, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let written = ''
  server.stderr?.on('data', (chunk) => {
    written += chunk
  })
  const exited = once(server, 'exit').then(() => assert.fail(`The server did not start: ${written}`))
  exited.catch(() => undefined)
  const [{ ports }] = await Promise.race([once(server, 'message'), exited])
  ca = await readFile(join(root, 'certs/authority.pem'), 'utf8')
  return { server, ports, errors: () => written }
}

/** Polls and disconnects over both versions until the returned function is called. */
function storm(ports: Ports): () => Promise<unknown> {
  let isOver = false
  const clients = Array.from({ length: width }, async (_, index) => {
    for (let turn = index; !isOver; turn += 1)
      await (turn % 3 === 0 ? cutBare(ports, turn) : cutPoll(ports, index, turn))
  })
  return () => {
    isOver = true
    return Promise.all(clients)
  }
}

const pollOf = (index: number) => `/api/long-poll?window=storm${index}&channels=main&first`
const pauseMs = (turn: number) => (turn * 7) % 40

/** Closes the connection while its poll is held. */
async function cutPoll(ports: Ports, index: number, turn: number): Promise<void> {
  const version = httpVersions[turn % httpVersions.length] ?? '2'
  const http = connectHttp(version, `https://localhost:${ports[version]}`, ca)
  http.ask({ path: pollOf(index) }).then(
    ({ body }) => body.on('error', () => undefined).resume(),
    () => undefined,
  )
  await sleep(pauseMs(turn))
  http.close()
}

/** Destroys the socket, possibly before the handshake ends. */
async function cutBare(ports: Ports, turn: number): Promise<void> {
  const socket = tls.connect({ port: ports['1.1'], host: '127.0.0.1', rejectUnauthorized: false })
  socket.on('error', () => undefined)
  socket.write(`GET ${pollOf(turn)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await sleep(pauseMs(turn))
  socket.destroy()
}

test(`${stops} stops under a storm of cut polls: each ends, and the log is free`, {
  timeout: stops * 60_000,
}, async (t) => {
  const took: number[] = []
  for (let stop = 0; stop < stops; stop += 1) {
    const { server, ports, errors } = await start()
    const calm = storm(ports)
    await sleep(stormMs)
    const exited = once(server, 'exit')
    const kill = setTimeout(() => server.kill('SIGKILL'), hangMs)
    const stoppedAt = performance.now()
    server.kill('SIGTERM')
    const [code, signal] = await exited
    took.push(performance.now() - stoppedAt)
    clearTimeout(kill)
    await calm()
    assert.deepEqual([code, signal, errors()], [0, null, ''])
  }
  took.sort((one, other) => one - other)
  const median = took[Math.floor(took.length / 2)] ?? 0
  const most = took.at(-1) ?? 0
  t.diagnostic(`${stops} stops: median ${median.toFixed(0)} ms, longest ${most.toFixed(0)} ms`)
  // The short run tolerates a busy machine.
  if (isLong) assert.ok(most <= drainMs + 2000, `${most} ms`)
})
