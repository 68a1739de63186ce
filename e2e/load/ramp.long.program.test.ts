// When windows open and ping, which pongs they should get, and what counts as an answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../app/testing.ts'
import { readFrames } from './lean-http.ts'
import { createSharedClock } from './load-process.ts'
import { DueQueue, periodOf, RampTallying, startRamp } from './ramp.ts'

const dueBy = (queue: DueQueue, now: number) => Array.from(queue.take(now), ({ item }) => item)

test('nothing comes early; everything due comes at once, the earliest first', () => {
  const queue = new DueQueue()
  for (const [item, dueAt] of [
    [3, 1032],
    [1, 1003],
    [2, 1017],
  ] as const)
    queue.add(item, dueAt)
  assert.deepEqual(dueBy(queue, 1002), [])
  assert.deepEqual(dueBy(queue, 1005), [1])
  assert.deepEqual(dueBy(queue, 5000), [2, 3])
  assert.deepEqual(dueBy(queue, 9000), [])
})

test('items that fall due while others are taken are returned too, also past ones', () => {
  const queue = new DueQueue()
  queue.add(1, 100)
  const taken: number[] = []
  for (const { item, dueAt } of queue.take(1000)) {
    taken.push(dueAt)
    if (item < 9) queue.add(item + 1, dueAt + 60)
    if (item === 3) queue.add(20, 50)
  }
  assert.deepEqual(taken, [100, 160, 220, 50, 280, 340, 400, 460, 520, 580])
})

test('periods are distributed around the mean, and each window keeps its own', () => {
  const plan = { seed: 5, meanPeriodMs: 2500 }
  const periods = Array.from({ length: 4000 }, (_, window) => periodOf(window, plan))
  const mean = periods.reduce((sum, ms) => sum + ms, 0) / periods.length
  assert.ok(Math.abs(mean - 2500) < 60, String(mean))
  assert.ok(Math.min(...periods) >= 500 && Math.max(...periods) <= 4500)
  assert.ok(Math.min(...periods) < 520 && Math.max(...periods) > 4480)
  assert.deepEqual(
    periods.slice(0, 9),
    Array.from({ length: 9 }, (_, window) => periodOf(window, plan)),
  )
  assert.notEqual(periodOf(1, plan), periodOf(1, { ...plan, seed: 6 }))
})

const tallying = () => new RampTallying({ startAt: 1000, patienceMs: 500 }, 11_000)

test('a window should get an answer for each of its periods until the end', () => {
  const tally = tallying()
  tally.begins(0, 3000, 1000, 1004)
  assert.equal(tally.opened(0, 1000, 1010), 4010)
  assert.equal(tally.sent(0, 4010, 4012), 7010)
  tally.pong(0, 4020)
  tally.sent(0, 7010, 7010)
  // Too late to count.
  tally.pong(0, 7511)
  tally.sent(0, 10_010, 10_010)
  const { due, sent, answered, missing, repeated, roundTripsMs, openingLatenessMs, pingLatenessMs } =
    tally.result(11_500)
  assert.deepEqual(
    { due, sent, answered, missing, repeated },
    { due: 3, sent: 3, answered: 1, missing: 2, repeated: 0 },
  )
  assert.deepEqual([[...roundTripsMs], [...openingLatenessMs], [...pingLatenessMs]], [[8], [4], [2, 0, 0]])
})

test('a dropped window has no further pings due; its unanswered one is missing, and only the first reason counts', () => {
  const tally = tallying()
  tally.begins(0, 1000, 1000, 1000)
  tally.opened(0, 1000, 1000)
  tally.sent(0, 2000, 2000)
  tally.ended(0, 'reset', 2500)
  tally.ended(0, 'closed', 2600)
  assert.equal(tally.isOpen(0), false)
  const { due, missing, dropped, failed, reasons, seconds } = tally.result(11_500)
  assert.deepEqual(
    { due, missing, dropped, failed, reasons },
    { due: 1, missing: 1, dropped: 1, failed: 0, reasons: { reset: 1 } },
  )
  assert.deepEqual(
    seconds.slice(0, 3).map(({ open }) => open),
    [1, 0, 0],
  )
})

test('a window that never opens has failed, and an answer without a ping is repeated', () => {
  const tally = tallying()
  for (const window of [0, 1, 2]) tally.begins(window, 1000, 1000, 1000)
  tally.ended(1, 'refused', 1500)
  tally.opened(2, 1000, 10_500)
  tally.pong(2, 10_600)
  assert.equal(tally.isWaiting(), true)
  const { opened, failed, dropped, repeated, due, reasons } = tally.result(11_500)
  assert.deepEqual(
    { opened, failed, dropped, repeated, due },
    { opened: 1, failed: 2, dropped: 0, repeated: 1, due: 0 },
  )
  assert.deepEqual(reasons, { refused: 1, 'not open at the end': 1 })
})

test('parses frames however they are split, and the beginning of long ones', () => {
  const frame = (opcode: number, payload: string) => {
    const { length } = payload
    const head =
      length < 126
        ? [0x80 | opcode, length]
        : length < 65_536
          ? [0x80 | opcode, 126, length >> 8, length & 255]
          : [0x80 | opcode, 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255]
    return Buffer.concat([Buffer.from(head), Buffer.from(payload)])
  }
  const long = `{"long":"${'x'.repeat(70_000)}"}`
  const bytes = Buffer.concat([
    frame(1, ''),
    frame(1, 'a'),
    frame(2, 'y'.repeat(300)),
    frame(1, long),
    frame(8, ''),
  ])
  for (const size of [1, 7, 1000, bytes.length]) {
    const read: string[] = []
    const take = readFrames(
      (start, isText) => read.push(`${isText ? 't' : 'b'}${start.slice(0, 9)}${start.length}`),
      () => read.push('closed'),
    )
    for (let at = 0; at < bytes.length; at += size) take(bytes.subarray(at, at + size))
    assert.deepEqual(read, ['t0', 'ta1', 'byyyyyyyyy128', 't{"long":"128', 'closed'], `cut by ${size}`)
  }
})

for (const [client, http, perBrowser] of [
  ['websocket', '1.1', 1],
  ['websocket', '2', 3],
  ['sse', '2', 3],
  ['streaming', '2', 1],
  ['long-polling', '1.1', 1],
] as const)
  test(`${client}/${http}: every window opens, and gets an answer to each ping`, async (t) => {
    const server = await startTestServer()
    t.after(() => server.close())
    const clock = createSharedClock()
    const ramp = startRamp(
      {
        target: {
          client,
          http,
          origin: server.origin[http],
          fileChannel: null,
          polling: { intervalMs: 50, holdMs: 300 },
        },
        windows: 6,
        windowsPerSecond: 60,
        perBrowser,
        perPage: 4,
        meanPeriodMs: 150,
        holdMs: 700,
        patienceMs: 5000,
        seed: 3,
        startAt: clock(),
        share: { place: 0, of: 1 },
      },
      clock,
    )
    t.after(ramp.close)
    const { opened, failed, dropped, due, sent, missing, repeated, reasons } = await ramp.tally
    assert.deepEqual(
      { opened, failed, dropped, missing, repeated, reasons },
      { opened: 6, failed: 0, dropped: 0, missing: 0, repeated: 0, reasons: {} },
    )
    assert.ok(due > 0 && sent === due, `${sent} of ${due}`)
  })

test('a server that refuses or disappears is recorded with its reason', async (t) => {
  const server = await startTestServer()
  const clock = createSharedClock()
  const plan = {
    target: {
      client: 'websocket',
      http: '1.1',
      origin: server.origin['1.1'],
      fileChannel: null,
      polling: { intervalMs: 50, holdMs: 300 },
    },
    windows: 2,
    windowsPerSecond: 100,
    perBrowser: 1,
    perPage: 4,
    meanPeriodMs: 100,
    holdMs: 800,
    patienceMs: 1000,
    seed: 3,
    share: { place: 0, of: 1 },
  } as const
  const ramp = startRamp({ ...plan, startAt: clock() }, clock)
  t.after(ramp.close)
  while ((await await fetchWindows(server.origin['1.1'])) < 2) await new Promise(setImmediate)
  await server.close()
  const { opened, dropped, reasons } = await ramp.tally
  assert.deepEqual([opened, dropped], [2, 2])
  assert.equal(
    Object.values(reasons).reduce((sum, times) => sum + times, 0),
    2,
  )
  const refused = startRamp({ ...plan, startAt: clock() }, clock)
  t.after(refused.close)
  const second = await refused.tally
  assert.deepEqual([second.opened, second.failed, second.reasons], [0, 2, { ECONNREFUSED: 2 }])
})

async function fetchWindows(origin: string): Promise<number> {
  const { openBrowser } = await import('./lean-http.ts')
  const browser = await openBrowser(origin, '1.1')
  try {
    return (JSON.parse(String((await browser.get('/healthz')).body)) as { windows: number }).windows
  } finally {
    browser.close()
  }
}
