// Checks what a polled sensor is asked, and when.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../wire/manual-time.ts'
import { startPolling } from './polling.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

function start({ node = 'Q', rateHz = 4 } = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const written: string[] = []
  const missed: number[] = []
  const poller = startPolling({
    node,
    rateHz,
    timers: time,
    write: (text) => void written.push(`${text}@${time.now() - startAt}`),
    onMissed: () => void missed.push(time.now() - startAt),
  })
  return { poller, time, written, missed }
}

test('it is enabled at once, then asked at the rate', () => {
  const { time, written } = start({ node: 'C' })
  time.advance(1000)
  assert.deepEqual(written, ['?@0', 'C@130', 'C@380', 'C@630', 'C@880'])
})

test('a question that no frame began to answer within 130 ms is missed', () => {
  const { poller, time, missed } = start()
  time.advance(130 + 129)
  poller.heard(bytes('\x02Q,'))
  time.advance(121)
  poller.heard(bytes('Q'))
  time.advance(130)
  assert.deepEqual(missed, [510], 'the echo of the letter is no answer')
  time.advance(120)
  poller.heard(bytes('\r\n$IIMWV'))
  time.advance(200)
  assert.deepEqual(missed, [510])
})

test('a sensor that has not answered for 5 s is enabled again, no matter how often', () => {
  const { poller, time, written } = start()
  const enabled = () => written.filter((line) => line.startsWith('?'))
  time.advance(12_000)
  assert.deepEqual(enabled(), ['?@0', '?@5130', '?@10130'])
  for (let i = 0; i < 40; i++) {
    poller.heard(bytes('\x02'))
    time.advance(250)
  }
  assert.equal(enabled().length, 3)
})

test('questions that a stall has overtaken are not made up for', () => {
  const { time, written } = start()
  time.advance(500)
  time.stall(3000)
  time.advance(500)
  const times = written.slice(1).map((line) => Number(line.split('@')[1]))
  assert.deepEqual(times, [130, 380, 3500, 3630, 3880])
})

test('a stopped poller says nothing', () => {
  const { poller, time, written, missed } = start()
  time.advance(200)
  poller.stop()
  time.advance(10_000)
  assert.deepEqual([written, missed], [['?@0', 'Q@130'], []])
  assert.equal(time.pending(), 0)
})
