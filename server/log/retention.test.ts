import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import { Folding } from './folding.ts'
import type { Bounds } from './log.ts'
import { draft, main, seqsOf } from './log-testing.ts'
import { portion, Retention, type Stored, Tail } from './retention.ts'

const ample = { messages: 1000, bytes: 100_000_000, ageMs: 1000 }

/** Stores messages 1 to `count` of `bytes` each, one per ms. */
function openRetention(count: number, bytes: number, change: Partial<typeof ample> = {}) {
  const stored: Stored[] = Array.from({ length: count }, (_nothing, n) => ({ bytes, acceptedAt: n + 1 }))
  const clock = { ms: 0 }
  const retention = new Retention({
    bounds: { ...ample, ...change },
    now: () => clock.ms,
    extent: { floor: 0, head: count, bytes: count * bytes },
    oldestAfter: (seq) => stored.slice(seq, seq + 7),
  })
  return { retention, stored, clock }
}

test('retention drops nothing within its limits', () => {
  const { retention } = openRetention(1000, 10)
  retention.forget()
  assert.deepEqual([retention.floor, retention.erasable()], [0, 0])
})

test('retention drops the oldest by count, by bytes and by age', () => {
  for (const [change, ms] of [
    [{ messages: 30 }, 0],
    [{ bytes: 305 }, 0],
    [{ ageMs: 100 }, 171],
  ] as const) {
    const { retention, clock } = openRetention(100, 10, change)
    clock.ms = ms
    retention.forget()
    assert.equal(retention.floor, 70)
  }
})

test('retention counts added messages', () => {
  const { retention, stored } = openRetention(10, 10, { bytes: 100 })
  stored.push({ bytes: 25, acceptedAt: 11 })
  retention.add(25)
  retention.forget()
  assert.equal(retention.floor, 3)
})

test('retention erases in portions of many small messages or of few large ones', () => {
  const { retention } = openRetention(1000, 10, { messages: 300 })
  retention.forget()
  const portions: number[] = []
  for (let count = retention.erasable(); count > 0; count = retention.erasable()) {
    portions.push(count)
    retention.erased(count)
  }
  assert.deepEqual(portions, [256, 256, 188])
  assert.deepEqual([retention.floor, retention.erasedTo], [700, 700])

  // One message more is less than a portion.
  retention.add(10)
  retention.forget()
  assert.deepEqual([retention.floor, retention.erasable()], [701, 0])

  const { retention: large, stored } = openRetention(10, 1_048_576, { messages: 5 })
  stored.fill({ bytes: 10, acceptedAt: 1 }, 5)
  large.forget()
  assert.deepEqual([large.floor, large.erasable()], [5, 2])
  for (const count of [2, 2, 1]) large.erased(count)
  large.add(10)
  large.forget()
  assert.deepEqual([large.floor, large.erasable()], [6, 0])
})

test('retention offers a portion until it is erased', () => {
  const { retention } = openRetention(100, 10, { messages: 10 })
  retention.forget()
  assert.equal(retention.erasable(), 90)
  assert.deepEqual([retention.erasable(), retention.erasedTo], [90, 0])
})

const tailBounds = { messages: 100, bytes: 100_000, ageMs: 100_000 }

function openTail(bounds: Bounds, now: Clock, floor = 0, newest: readonly Message[] = []): Tail {
  const nothing = () => undefined
  const past = { past: () => [], readPast: nothing, keepPast: nothing, forgetPast: nothing, erase: nothing }
  const bases = { read: nothing, write: () => 0, ...past }
  const rest = { defer: nothing, onFailure: nothing, onFolded: nothing, floor: () => 0 }
  const folding = new Folding({ folds: {}, bases, ...rest })
  return new Tail(bounds, now, folding, floor, newest)
}

function messageAt(seq: number, acceptedAt = 0, channel = 'main'): Message {
  return { ...draft(`w1-${seq}`, 'x', channel), seq, acceptedAt }
}

function fill(tail: Tail, count: number): void {
  for (let n = 1; n <= count; n += 1) tail.add(messageAt(tail.head + 1), 10)
}

test('a tail reads exactly what it holds after dropping thousands', () => {
  const tail = openTail(tailBounds, () => 0)
  for (let n = 1; n <= 5000; n += 1) {
    fill(tail, 1)
    const [first] = tail.after(tail.floor, main).messages
    assert.equal(first?.seq, Math.max(1, n - 99))
  }
  assert.equal(tail.after(tail.floor, main).messages.length, 100)
})

test('a tail counts only the bytes of held messages', () => {
  const tail = openTail({ ...tailBounds, messages: 2000, bytes: 5000 }, () => 0)
  const sizeAt = (seq: number) => (seq % 7) + 1
  for (let seq = 1; seq <= 8000; seq += 1) tail.add(messageAt(seq), sizeAt(seq))
  let least = 8000
  for (let sum = sizeAt(least); sum <= 5000; sum += sizeAt(least)) least -= 1
  assert.equal(tail.floor, least)
})

test('a tail finds the ids of held and newest messages, and no others', () => {
  const tail = openTail({ ...tailBounds, messages: 2 }, () => 0)
  tail.add(messageAt(1, 0, 'quiet'), 1)
  fill(tail, 4)
  const find = (seq: number, channel: string) => tail.find({ id: `w1-${seq}`, from: 'w1', channel })?.seq
  const known = () => [1, 2, 3, 4, 5].filter((seq) => find(seq, seq === 1 ? 'quiet' : 'main') === seq)
  assert.deepEqual(known(), [1, 4, 5])
  tail.add(messageAt(6, 0, 'quiet'), 1)
  assert.deepEqual(known(), [5])
  assert.deepEqual([find(6, 'quiet'), find(6, 'main')], [6, undefined])
})

test('a tail starts at a given floor with the newest messages up to it', () => {
  const tail = openTail(tailBounds, () => 0, 7, [messageAt(3), messageAt(7, 0, 'other')])
  const third = { id: 'w1-3', from: 'w1', channel: 'main' }
  assert.deepEqual([tail.floor, tail.head, tail.find(third)?.seq], [7, 7, 3])
  assert.deepEqual(seqsOf(tail.newestOn(['other', 'main'])), [3, 7])
  tail.add(messageAt(8), 1)
  assert.equal(tail.find(third), undefined)
  assert.deepEqual(
    [...tail.heads],
    [
      ['main', 8],
      ['other', 7],
    ],
  )
})

test('a tail reads in portions limited by messages and bytes, and reports how far it looked', () => {
  const tail = openTail({ ...tailBounds, messages: 5000, bytes: 1e9 }, () => 0)
  fill(tail, 1)
  for (let seq = 2; seq <= 601; seq += 1) tail.add(messageAt(seq, 0, 'other'), 10)
  fill(tail, portion.messages)
  const first = tail.after(0, main)
  // Up to where the next message of these channels would exceed the limit, not only to the last one
  // returned.
  assert.deepEqual([first.messages.length, first.upTo], [500, 1100])
  assert.deepEqual(seqsOf(tail.after(first.upTo, main).messages), [1101])
  assert.deepEqual(tail.after(0, new Set(['never'])), { messages: [], upTo: 1101 })

  const half = portion.bytes / 2
  for (const [place, bytes] of [half, half, 1, portion.bytes + 1, 1].entries()) {
    tail.add(messageAt(1102 + place), bytes)
  }
  const ends = [1101]
  for (let end = 1101; end < tail.head; ends.push(end)) end = tail.after(end, main).upTo
  assert.deepEqual(ends, [1101, 1103, 1104, 1105, 1106])
})
