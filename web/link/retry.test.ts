import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { createRetry } from './retry.ts'

function start({ draw = 1 } = {}) {
  const time = createManualTime()
  return { time, retry: createRetry(time.now, () => draw) }
}

const fail = (times: number, pause: () => number) => Array.from({ length: times }, pause)

test('pauses from a quarter of a second to a quarter of a minute, half of each left to chance', () => {
  const pauses = (draw: number) => {
    const { retry } = start({ draw })
    return fail(8, () => retry.pauseMs(null))
  }
  assert.deepEqual(pauses(1), [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000])
  assert.deepEqual(
    pauses(0),
    pauses(1).map((longestMs) => longestMs / 2),
  )
})

test('five seconds open count as a good link; less, or not opened at all, as one more failure', () => {
  const { time, retry } = start()
  const pauseAfterLivingMs = (livedMs: number) => {
    retry.opened()
    time.advance(livedMs)
    return retry.pauseMs(null)
  }
  assert.deepEqual([0, 4999, 5000, 0].map(pauseAfterLivingMs), [250, 500, 250, 500])
  time.advance(60_000)
  assert.equal(retry.pauseMs(null), 1000, 'time spent closed is not time spent open')
})

test('the server’s wish counts after a first failure; after more it can only make the pause longer', () => {
  const { retry } = start()
  assert.deepEqual(
    [0, 0, 4000, 0].map((wishMs) => retry.pauseMs(wishMs)),
    [0, 500, 4000, 2000],
  )
})

test('starts over when told', () => {
  const { retry } = start()
  fail(5, () => retry.pauseMs(null))
  retry.startOver()
  assert.equal(retry.pauseMs(null), 250)
})

test('a server that had let it in and sent it away says when to come back, and that is no failure', () => {
  const { retry } = start()
  fail(3, () => retry.pauseMs(null))
  for (const wishMs of [0, 700, 0]) {
    retry.opened()
    assert.equal(retry.pauseMs(wishMs), wishMs)
  }
  assert.equal(retry.pauseMs(null), 2000, 'earlier failures still count')
})
