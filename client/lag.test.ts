import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lag } from './lag.ts'

/** A window whose clock is an hour ahead of its server's; times are of the server's clock. */
function openLag(welcomeTookMs = 20) {
  const lag = new Lag()
  const aheadMs = 3_600_000
  lag.welcomed(1000, 1000 + welcomeTookMs + aheadMs)
  return {
    lag,
    message: (acceptedAt: number, receivedAt: number) => lag.message(acceptedAt, receivedAt + aheadMs),
    heartbeat: (at: number, receivedAt: number) => lag.heartbeat(at, receivedAt + aheadMs),
  }
}

test('a window is behind by the age of the message that it received last, in whole seconds, whatever its clock says', () => {
  const { lag, message } = openLag()
  assert.deepEqual([message(2000, 2025), lag.ms], [false, 0])
  assert.deepEqual([message(5000, 7900), lag.ms], [true, 2000])
  assert.deepEqual([message(5100, 9200), lag.ms], [true, 4000])
  assert.deepEqual([message(10_200, 10_250), lag.ms], [true, 0])
})

test('it says so at most once a second, but at once by a heartbeat', () => {
  const { lag, message, heartbeat } = openLag()
  message(2000, 10_000)
  assert.deepEqual([message(9990, 10_010), lag.ms], [false, 7000])
  assert.deepEqual([heartbeat(10_000, 10_020), lag.ms], [true, 0])
})

test('what it missed makes it as old as its welcome, and an old message of a quiet channel does not', () => {
  const { lag, message } = openLag()
  assert.deepEqual([message(-9_000_000, 1100), lag.ms], [false, 0])
  assert.deepEqual([message(-8_000_000, 6100), lag.ms], [true, 5000])
})

test('a heartbeat that comes quicker than the welcome corrects what was learned from that', () => {
  const { lag, message, heartbeat } = openLag(900)
  heartbeat(2000, 2020)
  message(5000, 6100)
  assert.equal(lag.ms, 1000)
})

test('clocks that drift apart are not taken for a delay, and days behind are not forgotten', () => {
  const { lag, heartbeat } = openLag()
  let drifted = 0
  for (let at = 16_000; at < 86_400_000; at += 15_000) {
    drifted += 15_000 * 5e-5
    heartbeat(at, at + 20 + drifted)
    assert.equal(lag.ms, 0)
  }
  for (let at = 86_400_000; at < 90_000_000; at += 15_000) heartbeat(at, at + drifted + 30_000)
  assert.equal(lag.ms, 29_000)
})
