// The link compares clocks often at first, rarely later, never while hidden, again after a sleep.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkOptions } from './link.ts'
import { ageOf } from './link-clock.ts'
import { createFakeTransports, mode, openLink } from './testing.ts'
import type { WebTransport } from './transports/transport.ts'

/**
 * A link whose clock is 5 s ahead of the server's and 200 ppm fast. Each request takes `thereMs`,
 * each answer `backMs`.
 */
function openWrong(ways: { thereMs: number; backMs: number }, circumstances: Partial<LinkOptions> = {}) {
  const opened = openLink({ random: () => 0.5, ...circumstances })
  const { time, streams, newest, heard } = opened
  const startAt = time.now()
  let sleptMs = 0
  const serverTime = (at: number) => at - 5000 - (at - startAt) * 200e-6 + sleptMs
  let answered = 0
  let isAnswering = true

  function answer(): void {
    answered += 1
    const sent = time.now()
    const received = serverTime(sent + ways.thereMs)
    const stream = newest()
    time.later(
      () => stream.frame({ type: 'clock', sent, received, at: received }, time.now()),
      ways.thereMs + ways.backMs,
    )
  }

  /** Lets time pass, and answers requests. */
  function pass(ms: number): void {
    for (let left = ms; left > 0; left -= 1) {
      time.advance(1)
      const asked = streams.reduce((sum, stream) => sum + stream.clockQuestions(), 0)
      if (asked > answered && isAnswering) answer()
    }
  }

  const clock = () => heard.newest?.clock ?? null
  const errorMs = () => Math.abs((clock()?.offsetMs ?? Number.NaN) - (serverTime(time.now()) - time.now()))
  return {
    ...opened,
    pass,
    clock,
    errorMs,
    questions: () => newest().clockQuestions(),
    /** The window's clock stands still meanwhile. */
    sleep(ms: number) {
      sleptMs += ms
    },
    fallSilent() {
      isAnswering = false
    },
  }
}

/** A long heartbeat interval: no test sends any here. */
const patient = { heartbeatMs: 3_600_000 }
const near = { thereMs: 2, backMs: 3 }
const lopsided = { thereMs: 60, backMs: 1 }

test('sends no clock request at first, then eight in two and a half seconds, then four a minute', () => {
  const { newest, pass, questions, clock } = openWrong(near)
  pass(1000)
  assert.equal(questions(), 0)
  newest().welcome(patient)
  pass(249)
  assert.deepEqual([questions(), clock()], [0, null])
  pass(2250)
  assert.equal(questions(), 8)
  pass(60_000)
  const afterAMinute = questions()
  assert.ok(afterAMinute < 25, `${afterAMinute}`)
  pass(60_000)
  assert.equal(questions() - afterAMinute, 4)
})

for (const [name, ways] of Object.entries({ near, lopsided })) {
  test(`the reading of a clock 5 s ahead and 200 ppm fast stays within its reported bound, over ${name} paths`, () => {
    const { newest, pass, clock, errorMs } = openWrong(ways)
    newest().welcome(patient)
    pass(250 + ways.thereMs + ways.backMs + 1)
    for (let seconds = 0; seconds < 180; seconds += 0.1) {
      pass(100)
      const boundMs = clock()?.boundMs ?? 0
      assert.ok(errorMs() <= boundMs, `${errorMs()} ms off and ± ${boundMs} ms after ${seconds} s`)
    }
    assert.ok((clock()?.boundMs ?? 0) < ways.thereMs + ways.backMs)
  })
}

test('without a connection the reading goes on within its growing bound, until the next one is measured', () => {
  const { newest, pass, heard, clock, errorMs } = openWrong(near, { random: () => 1 })
  newest().welcome(patient)
  pass(2500)
  newest().end()
  assert.equal(heard.newest?.status, 'waiting')
  const before = clock()?.boundMs ?? 0
  for (let seconds = 0; heard.newest?.status === 'waiting' && seconds < 60; seconds += 1) {
    pass(1000)
    assert.ok(errorMs() <= (clock()?.boundMs ?? 0), `${seconds} s later`)
  }
  assert.ok((clock()?.boundMs ?? 0) > before)
  for (const passedMs of [0, 100, 249]) {
    newest().welcome(patient)
    pass(passedMs)
    assert.ok(errorMs() <= (clock()?.boundMs ?? 0), `${passedMs} ms after the welcome`)
    assert.equal(heard.newest?.behindMs, null)
    newest().end()
    pass(20_000)
  }
  assert.ok(errorMs() <= (clock()?.boundMs ?? 0))
  newest().welcome(patient)
  pass(2500)
  assert.ok((clock()?.boundMs ?? 0) <= before)
  assert.ok(errorMs() <= (clock()?.boundMs ?? 0))
})

test('a new mode is a new path: comparison restarts there and stops on the old one', () => {
  const { link, streams, newest, pass, clock } = openWrong(near)
  newest().welcome(patient)
  pass(2500)
  link.switchMode(mode('websocket/1.1'))
  newest().welcome(patient)
  pass(2500)
  assert.notEqual(clock(), null)
  assert.deepEqual([streams.length, streams[0]?.clockQuestions(), streams[1]?.clockQuestions()], [2, 8, 8])
})

test('while hidden, sends no requests and reports no reading; starts over when visible', () => {
  const { link, newest, pass, questions, clock } = openWrong(near)
  newest().welcome(patient)
  pass(2500)
  link.rest()
  assert.equal(clock(), null)
  pass(120_000)
  assert.equal(questions(), 8)
  link.wake('visible')
  assert.equal(clock(), null)
  pass(256)
  assert.notEqual(clock(), null)
})

test('opened while hidden, sends no request until it is visible', () => {
  const { link, newest, pass, questions } = openWrong(near)
  link.rest()
  newest().welcome(patient)
  pass(5000)
  assert.equal(questions(), 0)
  link.wake('resumed')
  pass(5000)
  assert.equal(questions(), 0)
  link.wake('visible')
  pass(250)
  assert.equal(questions(), 1)
})

test('after a sleep, discards earlier readings and requests', () => {
  const { link, sleep, newest, pass, clock, errorMs } = openWrong({ thereMs: 20, backMs: 20 })
  newest().welcome(patient)
  pass(520)
  // A request is pending.
  sleep(60_000)
  link.wake('resumed')
  assert.equal(clock(), null)
  pass(100)
  assert.equal(clock(), null)
  pass(2500)
  assert.ok(errorMs() <= (clock()?.boundMs ?? 0))
})

test('an unreported sleep is noticed at the next exchange', () => {
  const { sleep, newest, pass, errorMs, clock } = openWrong(near)
  newest().welcome(patient)
  pass(60_000)
  sleep(3_600_000)
  pass(20_000)
  assert.ok(errorMs() <= (clock()?.boundMs ?? 0))
})

test('sends one request at a time, until the pending one times out', () => {
  const { newest, pass, questions, fallSilent } = openWrong(near)
  newest().welcome(patient)
  fallSilent()
  pass(15_000)
  assert.equal(questions(), 1)
  pass(10_000)
  assert.equal(questions(), 2)
})

test('while no answer comes, the reported bound grows with the age of the reading', () => {
  const { newest, pass, clock, errorMs, fallSilent } = openWrong(near)
  newest().welcome(patient)
  pass(30_000)
  fallSilent()
  const boundMs = clock()?.boundMs ?? 0
  for (let seconds = 0; seconds < 60; seconds += 1) {
    pass(1000)
    assert.ok(errorMs() <= (clock()?.boundMs ?? 0))
  }
  assert.ok((clock()?.boundMs ?? 0) > boundMs)
})

test('a request that gets no answer has already extended the last reading until the next request', () => {
  const { newest, pass, clock, questions, errorMs, fallSilent } = openWrong(lopsided)
  newest().welcome(patient)
  pass(30_000)
  const asked = questions()
  const told = clock()
  fallSilent()
  for (let ms = 0; ms < 20_000 && questions() === asked; ms += 1) pass(1)
  assert.equal(questions(), asked + 1)
  assert.ok((clock()?.boundMs ?? 0) > (told?.boundMs ?? 0), 'no reading was reported with the request')
  for (let ms = 0; ms < 40_000; ms += 100) {
    pass(100)
    assert.ok(errorMs() <= (clock()?.boundMs ?? 0), `${ms} ms later`)
  }
})

test('ignores answers to no request and answers without a time', () => {
  const { time, newest, pass, clock } = openWrong(near)
  const at = time.now()
  newest().frame({ type: 'clock', sent: at, received: at, at }, at)
  newest().welcome(patient)
  newest().frame({ type: 'clock', sent: at - 1, received: at, at }, at)
  const wordless = { type: 'clock', sent: at + 1 } as never
  newest().frame(wordless, at + 2)
  pass(100)
  assert.equal(clock(), null)
})

test('a clock answer does not prove that the stream is alive', () => {
  const { newest, pass, streams } = openWrong(near)
  newest().welcome({ heartbeatMs: 15_000 })
  pass(37_500)
  assert.equal(streams[0]?.isClosed(), true)
})

test('where the transport has no clock frames, asks by the platform', () => {
  const { streams, transports } = createFakeTransports()
  const open: WebTransport['open'] = (opening) => {
    const { askClock: _, ...rest } = transports.sse.open(opening)
    return rest
  }
  const asked: string[] = []
  const platform = {
    send(method: string, address: string) {
      asked.push(`${method} ${address}`)
      return new Promise<never>(() => undefined)
    },
    fetch: () => new Promise<never>(() => undefined),
  }
  const { time } = openLink({ transports: { ...transports, sse: { name: 'sse', open } }, platform })
  streams[0]?.welcome(patient)
  time.advance(250)
  assert.deepEqual(asked, ['GET https://localhost:2/clock?key=k1'])
})

test('after close, sends no more requests', () => {
  const { link, newest, pass, heard, time } = openWrong(near)
  newest().welcome(patient)
  pass(300)
  link.close()
  pass(60_000)
  assert.deepEqual([newest().clockQuestions(), time.pending(), heard.newest?.status], [1, 0, 'open'])
})

test('the age of a value is known as far as the clock is', () => {
  const age = (at: number, boundMs: number) => ageOf(at, { clock: { offsetMs: -3000, boundMs } }, 100_000)
  assert.deepEqual([age(90_000, 20), age(99_000, 1000), age(90_000, 1001)], [7000, 0, null])
  assert.equal(ageOf(90_000, { clock: null }, 100_000), null)
})
