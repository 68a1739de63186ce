// Floods end for who sends them, and other windows do not notice: measured at two of them all the while.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CalmWindows, openCalmWindows } from '../fleet/floods/calm-windows.ts'
import { type FloodName, floods } from '../fleet/floods/floods.ts'
import {
  type Attacker,
  type FloodedServer,
  type Memory,
  startAttacker,
  startFloodedServer,
} from '../fleet/floods/processes.ts'
import type { RawEnding } from '../fleet/floods/raw-http2.ts'

/** Far above what is measured, on a busy machine too: how long it takes belongs into the benchmarks. */
const mostLatencyMs = 5000
/** What is kept; and what the process holds, which the allocator gives back late. */
const mostKeptBytes = 40_000_000
const mostHeldBytes = 200_000_000
/** So that a flood that nobody ends fails by its own name. */
const timeout = 15_000

const config = {
  heartbeatMs: 1000,
  limits: { bodySeconds: 1, messagesPerSecond: 200, maxWindows: 400, queueBytesPerWindow: 1024 * 1024 },
}

/** What has to be true of how it ended; where there is nothing here it is enough that it did. */
const endings: Partial<Record<FloodName, (ending: never) => void>> = {
  'thousands of streams': ({ answers }: RawEnding) => assert.ok(answers <= 250, `${answers} answers`),
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
  'WebSocket frames that are none': (tookMs: number) => assert.ok(tookMs > 1400, `${tookMs} ms for 500`),
  'a window that joins again and again': ({ answers }: RawEnding) => assert.equal(answers, 200),
}

/** Answered, and its rest not read: the session lives on. */
function isRefusedStream({ answers, resets, goaway }: RawEnding): void {
  assert.deepEqual({ answers, resets, goaway }, { answers: 1, resets: { NO_ERROR: 1 }, goaway: null })
}

function isAnswer(status: number, code: string): (answer: string) => void {
  return (answer) => {
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} .*"type":"refused".*"code":"${code}"`, 's'))
  }
}

function isSilence(answer: string): void {
  assert.equal(answer, '')
}

describe('while a flood comes', () => {
  let server: FloodedServer
  let attacker: Attacker
  let calm: CalmWindows
  let atStart: Memory

  before(async () => {
    ;[server, attacker] = await Promise.all([startFloodedServer(config), startAttacker()])
    calm = await openCalmWindows(server, ['sse/2', 'websocket/1.1'])
    atStart = await server.memory()
  })
  after(async () => {
    calm.close()
    await attacker.close()
  })

  for (const name of Object.keys(floods) as FloodName[]) {
    test(`${name}: it ends, and the windows go on`, { timeout }, async (t) => {
      await calm.takeLatencies()
      const ending = await attacker.flood(name, server.ports)
      const check = endings[name]
      check?.(ending as never)
      const latencies = await calm.takeLatencies()
      t.diagnostic(`${JSON.stringify(ending).slice(0, 80)}; ${describeLatencies(latencies)}`)
      assert.ok((latencies.at(-1) ?? 0) < mostLatencyMs)
      assert.deepEqual(calm.closings(), [])
    })
  }

  test('the windows lost nothing, saw nothing twice, and all in one order', { timeout }, async (t) => {
    const { sent, seen } = await calm.finish()
    assert.deepEqual(calm.closings(), [])
    const [first = [], second = []] = seen
    assert.deepEqual(first, second)
    assert.deepEqual([...first].sort(), [...sent].sort())
    for (const author of ['calm0', 'calm1']) {
      const own = (ids: readonly string[]) => ids.filter((id) => id.startsWith(author))
      assert.deepEqual(own(first), own(sent))
    }
    t.diagnostic(`${sent.length} messages`)
  })

  test('its memory is what it was, and it wrote nothing to its terminal', async (t) => {
    const atEnd = await server.memory()
    const growth = (part: keyof Memory) => atEnd[part] - atStart[part]
    const megabytes = (part: keyof Memory) => `${part} ${(growth(part) / 1e6).toFixed(1)} MB`
    t.diagnostic(`grown by ${megabytes('rss')}, ${megabytes('heapUsed')}, ${megabytes('external')}`)
    assert.ok(growth('heapUsed') + growth('external') < mostKeptBytes)
    assert.ok(growth('rss') < mostHeldBytes)
    assert.equal(server.written(), '')
  })

  test('when it closes nothing keeps its process alive', { timeout }, async () => {
    assert.equal(await server.close(), 0)
  })
})

function describeLatencies(sorted: readonly number[]): string {
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const most = sorted.at(-1) ?? 0
  return `${sorted.length} messages meanwhile, median ${median.toFixed(1)} ms, most ${most.toFixed(1)} ms`
}
