import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { countTo } from './hub-testing.ts'
import { costOfRefusal, RateLimit } from './rate-limit.ts'

function openLimit({ perSecond = 10 } = {}) {
  const time = createManualTime()
  const limit = new RateLimit(perSecond, time.now)
  const usual = {}
  const take = (sender: string, connection: object = usual) => limit.take(connection, sender)
  const charge = (tokens: number, sender: string) => limit.charge(usual, tokens, sender)
  /** How many of `tries` are accepted at once. */
  const takenOf = (tries: number, sender = 'w1', connection: object = usual) =>
    countTo(tries).filter(() => take(sender, connection) === 0).length
  return { time, take, charge, takenOf }
}

test('accepts a burst of one second’s worth, then the rate', () => {
  const { time, takenOf } = openLimit()
  assert.equal(takenOf(50), 10)
  time.advance(500)
  assert.equal(takenOf(50), 5)
  time.advance(3_600_000)
  assert.equal(takenOf(50), 10, 'an idle hour allows no larger burst than an idle second')
})

test('only the sender that spent more than one token waits for it', () => {
  const { time, take, charge, takenOf } = openLimit()
  assert.equal(takenOf(5), 5)
  charge(25, '')
  charge(25, 'w1')
  assert.deepEqual([take('w1'), take('')], [2100, 1600])
  assert.equal(takenOf(20, 'w2'), 10)
  time.advance(2100)
  assert.equal(takenOf(20), 1)
})

test('over a minute the rate is exact, however often a sender tries', () => {
  const { time, takenOf } = openLimit()
  let taken = takenOf(100)
  for (let ms = 0; ms < 60_000; ms += 7) {
    time.advance(7)
    taken += takenOf(3)
  }
  assert.ok(Math.abs(taken - 610) <= 1, `${taken} were taken`)
})

test('each sender on a connection has its own limit, and another one on another connection', () => {
  const { takenOf } = openLimit()
  assert.deepEqual([takenOf(20, 'w1'), takenOf(20, 'w2'), takenOf(20, 'w1', {})], [10, 10, 10])
})

test('a sender that waits as long as told is accepted, and no earlier', () => {
  const random = createSeededRandom(3)
  for (const perSecond of [1, 3, 7, 200, 333]) {
    const { time, take } = openLimit({ perSecond })
    for (let round = 0; round < 2000; round += 1) {
      const waitMs = Math.ceil(take('w1'))
      if (waitMs === 0) {
        time.advance(random())
        continue
      }
      time.advance(waitMs - 1)
      if (waitMs > 1) assert.ok(take('w1') > 0)
      time.advance(1)
      assert.equal(take('w1'), 0)
    }
  }
})

test('unlimited names on one connection share a rate, and take none from other connections', () => {
  const { takenOf } = openLimit()
  const flooding = {}
  const invented = countTo(10_000).filter((n) => takenOf(1, `n${n}`, flooding) === 1).length
  assert.equal(invented, 64 + 10)
  assert.equal(takenOf(20, 'n64', flooding), 9, 'senders from before the flood continue')
  assert.equal(takenOf(20, 'honest'), 10)
})

test('an idle sender makes room for others after a second, checked at most once a second', () => {
  const { time, takenOf } = openLimit()
  for (const n of countTo(64)) takenOf(10, `w${n}`)
  assert.equal(takenOf(20, 'late'), 10, 'from the rate that all new senders share')
  time.advance(500)
  assert.deepEqual([takenOf(20, 'w1'), takenOf(20, 'later')], [5, 5])
  time.advance(501)
  assert.equal(takenOf(20, 'w2'), 10)
  assert.deepEqual([takenOf(20, 'later'), takenOf(20, 'late')], [10, 10], 'sixty-two were forgotten')
})

test('a sender is not forgotten while that would give it extra tokens', () => {
  const { time, takenOf } = openLimit()
  for (const n of countTo(64)) takenOf(10, `w${n}`)
  time.advance(1000)
  takenOf(1, 'late')
  assert.equal(takenOf(20, 'w1'), 10)
})

test('a connection is in debt once its refusals cost more than one second’s tokens, and other connections are not', () => {
  const time = createManualTime()
  const limit = new RateLimit(100, time.now)
  const connection = {}
  const another = {}
  for (let count = 0; count < 100; count += 1) limit.charge(connection, costOfRefusal(0))
  assert.equal(limit.debtMs(connection), 0)
  // An extra token for each 16 KiB.
  limit.charge(connection, costOfRefusal(16_384 * 4))
  assert.deepEqual([limit.debtMs(connection), limit.debtMs(another)], [50, 0])
  time.advance(50)
  assert.equal(limit.debtMs(connection), 0)
})
