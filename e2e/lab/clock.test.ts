// Clocks with a deliberate error of 5 s and 200 ppm, checked as in a scenario; and rejected clocks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../client/wire.ts'
import { createWrongClock, exchangeAt, startMs, type Ways } from '../../protocol/testing.ts'
import { boundBetween, checkClocks, followClock } from './clock.ts'

const near: Ways = { there: { leastMs: 0.2, spreadMs: 3 }, back: { leastMs: 0.5, spreadMs: 3 } }

/** A clock 5 s ahead and 200 ppm fast; the test controls the time since the start. */
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

test('a clock 5 s ahead and 200 ppm fast is corrected to within its bound, for five minutes', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { followed, clock, pass, now } = follow(near, seed)
    await checkClocks([followed])
    for (let checks = 0; checks < 10; checks += 1) {
      pass(30_000)
      await checkClocks([followed], { exchanges: 6 })
    }
    const since = Array.from({ length: 1200 }, (_, reading) => reading * 250)
    assert.ok(now() > 300_000)
    for (const sinceMs of since) {
      const stamp = clock.read(sinceMs)
      const reading = followed.estimate.at(stamp)
      assert.ok(reading && reading.boundMs < 2, `± ${reading?.boundMs} ms`)
      assert.ok(Math.abs(stamp + reading.offsetMs - startMs - sinceMs) <= reading.boundMs)
    }
  }
})

test('a check names the offset and its bound', async () => {
  const { followed, clock, now } = follow(near)
  const [checked] = await checkClocks([followed])
  assert.ok(checked)
  assert.ok(Math.abs(checked.offsetMs - clock.offsetMs(now())) <= checked.boundMs)
  assert.ok(checked.boundMs < 2)
  assert.equal(checked.name, 'window 1')
})

test('between checks five minutes apart, a clock is not known within the bound', async () => {
  const { followed, clock, pass } = follow(near)
  await checkClocks([followed])
  pass(300_000)
  await checkClocks([followed])
  assert.ok((followed.estimate.at(clock.read(150_000))?.boundMs ?? 0) > 2)
})

test('a clock that was changed between two checks ends the run', async () => {
  const { followed, clock, pass } = follow(near)
  await checkClocks([followed])
  pass(30_000)
  clock.step(500)
  await assert.rejects(
    checkClocks([followed]),
    /The clock of window 1 or of the server was changed or stopped/,
  )
})

test('between two windows the two largest bounds add up', () => {
  const clocks = [0.1, 0.5, 0.3].map((boundMs) => ({ offsetMs: 0, boundMs }))
  assert.equal(boundBetween(clocks), 0.8)
  assert.equal(boundBetween([]), 0)
})
