import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { createWatchdog } from './watchdog.ts'

function watch(firstSilenceMs = 1000) {
  const time = createManualTime()
  const startAt = time.now()
  const barks: number[] = []
  const watchdog = createWatchdog(time, firstSilenceMs, () => void barks.push(time.now() - startAt))
  return { time, watchdog, barks }
}

test('notices when nothing was heard from the start, once', () => {
  const { time, barks } = watch()
  time.advance(60_000)
  assert.deepEqual([barks, time.pending()], [[1000], 0])
})

test('counts from what was heard last', () => {
  const { time, watchdog, barks } = watch()
  for (let n = 0; n < 5; n += 1) {
    time.advance(900)
    watchdog.feed()
  }
  assert.deepEqual(barks, [])
  time.advance(60_000)
  assert.deepEqual(barks, [5500])
})

test('feeding plans nothing: one timer, however much is heard', () => {
  const { time, watchdog } = watch()
  for (let n = 0; n < 1000; n += 1) watchdog.feed()
  assert.equal(time.pending(), 1)
})

test('a longer or shorter silence is allowed from then on', () => {
  const longer = watch()
  longer.time.advance(500)
  longer.watchdog.allow(4000)
  longer.time.advance(60_000)
  assert.deepEqual(longer.barks, [4500])

  const shorter = watch()
  shorter.time.advance(500)
  shorter.watchdog.allow(100)
  shorter.time.advance(60_000)
  assert.deepEqual(shorter.barks, [600])
})

test('stopped, it is silent itself, also after it looked', () => {
  const { time, watchdog, barks } = watch()
  time.advance(900)
  watchdog.feed()
  time.advance(900)
  watchdog.stop()
  time.advance(60_000)
  assert.deepEqual([barks, time.pending()], [[], 0])
})
