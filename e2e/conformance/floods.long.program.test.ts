// The server ends each flood or slows it, and two ordinary windows are not affected.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { visitOwnRoutes } from './application.ts'
import { type CalmWindows, openCalmWindows } from './calm-windows.ts'
import {
  type Attacker,
  type FloodedServer,
  type Memory,
  startAttacker,
  startFloodedServer,
} from './flood-processes.ts'
import { type FloodName, floods, type SlowedEnding } from './floods.ts'
import type { RawEnding } from './raw-http2.ts'

/** Makes an endless flood fail under its own name. */
const timeout = 180_000
/** Growth of used and of held memory, which the allocator returns late. */
const maxKeptBytes = 40_000_000
const maxHeldBytes = 200_000_000

const config = {
  heartbeatMs: 1000,
  limits: { bodySeconds: 1, messagesPerSecond: 200, maxWindows: 400, queueBytesPerWindow: 1024 * 1024 },
}

/** Checks of endings; the other floods only have to end. */
const endings: Partial<Record<FloodName, (ending: never) => void>> = {
  'thousands of streams': ({ answers }: RawEnding) => assert.ok(answers <= 100, `${answers} answers`),
  'headers that never end': ({ answers }: RawEnding) => assert.equal(answers, 0),
  'huge headers': ({ answers }: RawEnding) => assert.equal(answers, 0),
  'a slow body, HTTP/2': isRefusedStream,
  'a body without an end, HTTP/2': isRefusedStream,
  'a slow body, HTTP/1.1': isAnswer(408, 'too-slow'),
  'a body without an end, HTTP/1.1': isAnswer(413, 'too-large'),
  'slow headers, HTTP/1.1': isAnswer(408, 'too-slow'),
  'slow headers, HTTP/1.1 on the port of HTTP/2': isAnswer(408, 'too-slow'),
  'a handshake that never ends': isSilence,
  'a handshake that trickles': isSilence,
  'a silent connection': isSilence,
  'WebSocket fragments': (code: number) => assert.equal(code, 1008),
  'WebSocket pings, read': isSlowed,
  'WebSocket pings, unread': isSlowed,
  'WebSocket frames that are none': isSlowed,
  'a window that joins again and again': ({ answers }: RawEnding) => assert.equal(answers, 100),
}

/** These only wait for a server timeout; they run together, during the first of the others. */
const patient: readonly FloodName[] = [
  'a slow body, HTTP/2',
  'a slow body, HTTP/1.1',
  'slow headers, HTTP/1.1',
  'slow headers, HTTP/1.1 on the port of HTTP/2',
  'a handshake that never ends',
  'a handshake that trickles',
  'a silent session',
  'a silent connection',
]

/** Answered without reading the rest of the body; the session continues. */
function isRefusedStream({ answers, resets, goaway }: RawEnding): void {
  assert.deepEqual({ answers, resets, goaway }, { answers: 1, resets: { NO_ERROR: 1 }, goaway: null })
}

/** At most a burst of one second, and what the rate allows in the time that it took. */
function isSlowed({ answers, tookMs, isOpen }: SlowedEnding): void {
  assert.ok(isOpen)
  const most = config.limits.messagesPerSecond * (1 + tookMs / 1000)
  assert.ok(answers > 0 && answers <= most, `${answers} answers in ${tookMs} ms`)
}

function isAnswer(status: number, code: string): (answer: string) => void {
  return (answer) => {
    assert.match(
      answer,
      new RegExp(`^HTTP/1.1 ${status} .*"type":"refused".*"code":"${code}","message":"[^"]{20,300}\\."`, 's'),
    )
  }
}

function isSilence(answer: string): void {
  assert.equal(answer, '')
}

/** Node's own answer. */
const isTimeout = (answer: string) => assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)

interface Subject {
  readonly isApplication?: boolean
  readonly endings: typeof endings
  readonly skipped?: Partial<Record<FloodName, string>>
}

const subjects: Readonly<Record<string, Subject>> = {
  'a server of our own': { endings },
  'an application’s servers': {
    isApplication: true,
    endings: {
      ...endings,
      'slow headers, HTTP/1.1': isTimeout,
      'slow headers, HTTP/1.1 on the port of HTTP/2': isTimeout,
      'a silent connection': (answer: string) => answer === '' || isTimeout(answer),
    },
    skipped: { 'pages without a window': 'how long its own pages may wait is the application’s to say' },
  },
}

for (const [what, subject] of Object.entries(subjects))
  describe(`during a flood of ${what}`, () => testFloods(subject))

function testFloods({ isApplication = false, endings, skipped = {} }: Subject): void {
  let startedAt = 0
  let server: FloodedServer
  let attacker: Attacker
  let calm: CalmWindows
  let atStart: Memory
  let ownRoutes: Awaited<ReturnType<typeof visitOwnRoutes>> | null = null
  const begun = new Map<FloodName, Promise<unknown>>()

  before(async () => {
    startedAt = performance.now()
    ;[server, attacker] = await Promise.all([startFloodedServer(config, isApplication), startAttacker()])
    calm = await openCalmWindows(server, ['sse/2', 'websocket/1.1'])
    if (isApplication) ownRoutes = await visitOwnRoutes(server)
    atStart = await server.memory()
    for (const name of patient) begun.set(name, attacker.flood(name, server.target))
  })
  after(async () => {
    calm.close()
    await attacker.close()
  })

  for (const name of Object.keys(floods) as FloodName[]) {
    const options = { timeout, skip: skipped[name] ?? false }
    test(`${name}: the server ends or slows it, and the windows stay open`, options, async (t) => {
      await calm.takeLatencies()
      const ending = await (begun.get(name) ?? attacker.flood(name, server.target))
      const check = endings[name]
      check?.(ending as never)
      const latencies = await calm.takeLatencies()
      t.diagnostic(`${JSON.stringify(ending).slice(0, 80)}; ${describeLatencies(latencies)}`)
      assert.deepEqual(calm.failures, [])
    })
  }

  test('no message was lost, duplicated or reordered, and an application’s own routes answered', {
    timeout,
  }, async (t) => {
    t.diagnostic(`${await calm.finish()} messages`)
    if (!ownRoutes) return
    const { rounds, slowestMs } = await ownRoutes.finish()
    t.diagnostic(`${rounds} rounds of the application’s own routes, the slowest ${slowestMs.toFixed(0)} ms`)
  })

  test('memory returns to its level, and the terminal has one line per kind of incident', async (t) => {
    const atEnd = await server.memory()
    const growth = (part: keyof Memory) => atEnd[part] - atStart[part]
    const megabytes = (part: keyof Memory) => `${part} ${(growth(part) / 1e6).toFixed(1)} MB`
    t.diagnostic(`grown by ${megabytes('used')}, ${megabytes('held')}`)
    assert.ok(growth('used') < maxKeptBytes)
    assert.ok(growth('held') < maxHeldBytes)
    const lines = server.written().split('\n').filter(Boolean)
    // One line at the first incident, and one with the count ten seconds later.
    const most = 2 + 2 * ((performance.now() - startedAt) / 10_000)
    assert.ok(lines.length <= most, server.written())
    for (const line of lines) assert.match(line, /^A client broke HTTP\/2, /)
  })

  test('after closing, nothing keeps the process alive', { timeout }, async () => {
    assert.equal(await server.close(), 0)
  })
}

function describeLatencies(sorted: readonly number[]): string {
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const most = sorted.at(-1) ?? 0
  return `${sorted.length} messages meanwhile, median ${median.toFixed(1)} ms, maximum ${most.toFixed(1)} ms`
}
