// Clocks wrong on purpose, 5 s and 200 ppm, checked as a scenario does; and the ones that it refuses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWrongClock, exchangeAt, startMs, type Ways } from '../../server/wire/clock/testing.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import { boundBetween, checkClocks, clocksInWords, followClock, inServerTime } from './clock.ts'

const near: Ways = { there: { leastMs: 0.2, spreadMs: 3 }, back: { leastMs: 0.5, spreadMs: 3 } }
const far: Ways = { there: { leastMs: 5, spreadMs: 5 }, back: { leastMs: 5, spreadMs: 5 } }

/** A clock 5 s ahead and 200 ppm fast, with the time since the start in the test's hands. */
function follow(ways: Ways, seed = 1) {
  const random = createSeededRandom(seed)
  const clock = createWrongClock({ aheadMs: 5000, fastPpm: 200 })
  let sinceMs = 0
  const followed = followClock('window 1', async (times) =>
    Array.from({ length: times }, () => {
      const { exchange, endsMs } = exchangeAt(clock, sinceMs, ways, random)
      sinceMs = endsMs
      return exchange
    }),
  )
  return {
    followed,
    clock,
    pass(ms: number) {
      sinceMs += ms
    },
    now: () => sinceMs,
  }
}

test('a clock 5 s ahead and 200 ppm fast is put right to within its bound, through five minutes', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { followed, clock, pass, now } = follow(near, seed)
    await checkClocks([followed])
    for (let checks = 0; checks < 10; checks += 1) {
      pass(30_000)
      await checkClocks([followed], { exchanges: 6 })
    }
    const since = Array.from({ length: 1200 }, (_, reading) => reading * 250)
    const { times, boundMs } = inServerTime(followed, since.map(clock.read))
    assert.ok(now() > 300_000 && boundMs < 2, `± ${boundMs} ms`)
    for (const [index, time] of times.entries()) {
      assert.ok(Math.abs(time - startMs - (since[index] ?? 0)) <= boundMs)
    }
  }
})

test('a check names the offset and its bound', async () => {
  const { followed, clock, now } = follow(near)
  const [checked] = await checkClocks([followed])
  assert.ok(checked)
  assert.ok(Math.abs(checked.offsetMs - clock.offsetMs(now())) <= checked.boundMs)
  assert.ok(checked.boundMs < 2)
  assert.match(clocksInWords([checked]), /^window 1 −50\d\d\.\d\d ms ± \d\.\d\d ms$/)
})

test('what is not known to within the bound is refused, and who', async () => {
  const clocks = [follow(near).followed, { ...follow(far).followed, name: 'client 7' }]
  const refusal = /to within 2 ms; known are client 7 only to ± \d\.\d\d ms\. Give it a quieter machine/
  await assert.rejects(checkClocks(clocks), refusal)
  await checkClocks(clocks, { mostBoundMs: 10 })
})

test('a run that was not checked for five minutes cannot be told to within the bound', async () => {
  const { followed, clock, pass } = follow(near)
  await checkClocks([followed])
  pass(300_000)
  await checkClocks([followed])
  assert.throws(() => inServerTime(followed, [clock.read(150_000)]), /window 1 only to ± \d\.\d\d ms/)
})

test('a clock that was set between two checks ends the run', async () => {
  const { followed, clock, pass } = follow(near)
  await checkClocks([followed])
  pass(30_000)
  clock.step(500)
  await assert.rejects(
    checkClocks([followed]),
    /The clock of window 1 or the server’s was set or stood still/,
  )
})

test('a clock that was never checked is not guessed', () => {
  assert.throws(() => inServerTime(follow(near).followed, [startMs]), /was not compared with the server’s/)
})

test('between two windows the two largest doubts add up', () => {
  const clocks = [0.1, 0.5, 0.3].map((boundMs) => ({ offsetMs: 0, boundMs }))
  assert.equal(boundBetween(clocks), 0.8)
  assert.equal(boundBetween([]), 0)
})
