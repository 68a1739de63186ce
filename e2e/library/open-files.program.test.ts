// An application where the system allows few open files: what Crosswind says, and whom it refuses.

import assert from 'node:assert/strict'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { startApplicationProcess } from './application-process.ts'

const needsUnix = { skip: process.platform === 'win32' && 'needs ulimit' }

/** `lines` are those on standard error after the first. */
async function startWithFewFiles(t: TestContext) {
  const started = await startApplicationProcess(t, 'ulimit -n 200; exec "$@"')
  const lines = createInterface({ input: started.stderr })[Symbol.asyncIterator]()
  const { value: first } = await lines.next()
  assert.match(
    String(first),
    /^This system lets a process open 200 files, enough for 36 connections: limits\.maxConnections is 4000\. Raise /,
  )
  return { ...started, lines }
}

/** Asks over a connection of its own; resolves to the status, or to a refusal's status and code. */
async function ask(t: TestContext, origin: string, path: string): Promise<string> {
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const { status, body } = await http.ask({ path })
  if (path === '/own') return `${status} ${await textOf(body)}`
  if (status === 200) return '200'
  const { code, message } = JSON.parse(await textOf(body))
  assert.equal(message, 'The server holds 36 connections, as many as it can; try again in a moment.')
  return `${status} ${code}`
}

test(
  'of many connections each is served, or refused with a sentence; the application’s own routes are always answered',
  needsUnix,
  async (t) => {
    const { origin } = await startWithFewFiles(t)
    const answers: Record<string, number> = {}
    const count = (answer: string) => {
      answers[answer] = (answers[answer] ?? 0) + 1
    }
    for (let batch = 0; batch < 13; batch += 1) {
      const streams = Array.from(
        { length: 20 },
        (_, n) => `/realtime/stream?window=w${batch}-${n}&channels=room.1`,
      )
      await Promise.all(['/own', ...streams].map(async (path) => count(await ask(t, origin, path))))
    }
    assert.deepEqual(answers, { '200 own': 13, '200': 36, '503 too-many-connections': 224 })
  },
)

test(
  'more connections than the system allows are reported once, and those that are open are served',
  needsUnix,
  async (t) => {
    const { child, origin, lines, ended } = await startWithFewFiles(t)
    const own = connectHttp('1.1', origin, null)
    t.after(() => own.close())
    const askOwn = async () => textOf((await own.ask({ path: '/own' })).body)
    assert.equal(await askOwn(), 'own')
    const sockets = Array.from({ length: 260 }, () => net.connect(Number(new URL(origin).port), '127.0.0.1'))
    for (const socket of sockets) socket.on('error', () => undefined).resume()
    t.after(() => sockets.forEach((socket) => void socket.destroy()))
    const { value: reported } = await lines.next()
    assert.match(
      String(reported),
      /^More than 100 connections are open, so many that the system may soon reset others without a word: raise /,
    )
    assert.equal(await askOwn(), 'own')
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
    for await (const line of lines) assert.match(line, / more within 10 s\.$/)
  },
)
