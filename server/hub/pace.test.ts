import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createSeededRandom } from '../wire/random.ts'
import { createPace } from './pace.ts'
import { countTo } from './testing.ts'

function openPace({ perSecond = 10, maxSenders = 100 } = {}) {
  const time = createManualTime()
  const { take } = createPace(perSecond, maxSenders, time.now)
  /** How many of `tries` are taken at once. */
  const takenOf = (tries: number, sender = 'w1') => countTo(tries).filter(() => take(sender) === 0).length
  return { time, take, takenOf }
}

test('a second’s worth may come at once, then what the rate allows', () => {
  const { time, takenOf } = openPace()
  assert.equal(takenOf(50), 10)
  time.advance(500)
  assert.equal(takenOf(50), 5)
  time.advance(3_600_000)
  assert.equal(takenOf(50), 10, 'an hour of silence is worth no more than a second')
})

test('over a minute it is the rate, however often it is tried', () => {
  const { time, takenOf } = openPace()
  let taken = takenOf(100)
  for (let ms = 0; ms < 60_000; ms += 7) {
    time.advance(7)
    taken += takenOf(3)
  }
  assert.ok(Math.abs(taken - 610) <= 1, `${taken} were taken`)
})

test('each sender has its own', () => {
  const { takenOf } = openPace()
  assert.deepEqual([takenOf(20, 'w1'), takenOf(20, 'w2')], [10, 10])
})

test('who waits as long as it was told is taken, and a moment sooner is not', () => {
  const random = createSeededRandom(3)
  for (const perSecond of [1, 3, 7, 200, 333]) {
    const { time, take } = openPace({ perSecond })
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

test('remembers so many senders and no more; one too many waits', () => {
  const { time, take, takenOf } = openPace({ maxSenders: 3 })
  for (const sender of ['w1', 'w2', 'w3']) assert.equal(take(sender), 0)
  assert.equal(take('w4'), 1000)
  time.advance(600)
  assert.equal(takenOf(20, 'w1'), 10, 'those who are known are not held up by it')
  time.advance(401)
  assert.deepEqual([take('w4'), take('w5')], [0, 0], 'two were idle for a second and are forgotten')
  assert.equal(take('w6'), 1000)
})

test('looks for idle senders once a second at most', () => {
  const { time, take } = openPace({ maxSenders: 1 })
  take('w1')
  time.advance(500)
  assert.equal(take('w2'), 1000, 'it looks, and w1 is not idle yet')
  time.advance(999)
  assert.equal(take('w2'), 1000, 'it does not look again yet')
  time.advance(1)
  assert.equal(take('w2'), 0)
})

test('a sender is not forgotten while that would give it more than its due', () => {
  const { time, take, takenOf } = openPace({ maxSenders: 1 })
  assert.equal(takenOf(10), 10)
  time.advance(1000)
  assert.equal(take('w2'), 1000)
  assert.equal(takenOf(20), 10)
})
