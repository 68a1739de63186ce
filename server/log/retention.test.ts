import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRetention, type Stored } from './retention.ts'

const ample = { messages: 1000, bytes: 100_000_000, ageMs: 1000 }

/** Messages 1 to `count` of `bytes` each, one a ms. */
function openRetention(count: number, bytes: number, change: Partial<typeof ample> = {}) {
  const stored: Stored[] = Array.from({ length: count }, (_nothing, n) => ({ bytes, acceptedAt: n + 1 }))
  const clock = { ms: 0 }
  const retention = createRetention({
    bounds: { ...ample, ...change },
    now: () => clock.ms,
    extent: { floor: 0, head: count, bytes: count * bytes },
    oldestAfter: (seq) => stored.slice(seq, seq + 7),
  })
  return { retention, stored, clock }
}

test('nothing goes while all is within bounds', () => {
  const { retention } = openRetention(1000, 10)
  retention.forget()
  assert.deepEqual([retention.floor(), retention.erasable()], [0, 0])
})

test('lets the oldest go by count, by bytes and by age', () => {
  for (const [change, ms] of [
    [{ messages: 30 }, 0],
    [{ bytes: 305 }, 0],
    [{ ageMs: 100 }, 171],
  ] as const) {
    const { retention, clock } = openRetention(100, 10, change)
    clock.ms = ms
    retention.forget()
    assert.equal(retention.floor(), 70)
  }
})

test('counts what is added', () => {
  const { retention, stored } = openRetention(10, 10, { bytes: 100 })
  stored.push({ bytes: 25, acceptedAt: 11 })
  retention.add(25)
  retention.forget()
  assert.equal(retention.floor(), 3)
})

test('erases by portions, of many small ones or of few large ones', () => {
  const { retention } = openRetention(1000, 10, { messages: 300 })
  retention.forget()
  const portions: number[] = []
  for (let count = retention.erasable(); count > 0; count = retention.erasable()) {
    portions.push(count)
    retention.erased(count)
  }
  assert.deepEqual(portions, [256, 256, 188])
  assert.deepEqual([retention.floor(), retention.erasedTo()], [700, 700])

  // One more is less than a portion.
  retention.add(10)
  retention.forget()
  assert.deepEqual([retention.floor(), retention.erasable()], [701, 0])

  const { retention: large, stored } = openRetention(10, 1_048_576, { messages: 5 })
  stored.fill({ bytes: 10, acceptedAt: 1 }, 5)
  large.forget()
  assert.deepEqual([large.floor(), large.erasable()], [5, 2])
  for (const count of [2, 2, 1]) large.erased(count)
  large.add(10)
  large.forget()
  assert.deepEqual([large.floor(), large.erasable()], [6, 0])
})

test('a portion that was not erased is asked for again', () => {
  const { retention } = openRetention(100, 10, { messages: 10 })
  retention.forget()
  assert.equal(retention.erasable(), 90)
  assert.deepEqual([retention.erasable(), retention.erasedTo()], [90, 0])
})
