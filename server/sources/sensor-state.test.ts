// Checks when a sensor's state is said, and when not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { watchSensor } from './sensor-state.ts'

const garbage = Uint8Array.from([0xfe, 0x82, 0x92, 0xff, 0x8a, 0xfe, 0x82, 0x92])
const text = Buffer.from('hello, this is a GPS\r\n')

function start({ isPolled = false, silentAfterMs = 3000 } = {}) {
  const time = createManualTime()
  const said: string[] = []
  const sentences: string[] = []
  const watch = watchSensor({
    path: '/dev/wind',
    baudRate: 9600,
    parity: 'none',
    polling: isPolled ? { node: 'Q', rateHz: 4 } : null,
    timers: time,
    silentAfterMs,
    onChange({ source, state, sentence }) {
      assert.equal(source, 'serial')
      said.push(state)
      sentences.push(sentence)
    },
  })
  return { watch, time, said, sentences }
}

test('nothing is said twice, however long it lasts', () => {
  const { watch, time, said } = start()
  watch.opened()
  time.advance(60_000)
  for (let i = 0; i < 100; i++) {
    watch.frame()
    time.advance(250)
  }
  assert.deepEqual(said, ['silent', 'connected'])
})

test('another reason is said again', () => {
  const { watch, time, said, sentences } = start()
  watch.opened()
  for (const bytes of [garbage, text, text]) {
    for (let i = 0; i < 40; i++) watch.bytes(bytes)
    time.advance(3000)
  }
  time.advance(3000)
  assert.deepEqual(said, ['garbled', 'garbled', 'silent'])
  assert.match(sentences[1] ?? '', /"hello, this is a GPS"/)
})

test('how long a silence must be follows the sensor’s own pace, not an outage', () => {
  const { watch, time, said } = start()
  watch.opened()
  watch.frame()
  time.advance(2000)
  watch.frame()
  time.advance(4999)
  assert.deepEqual(said, ['connected'], 'P21: two and a half times two seconds')
  time.advance(1)
  assert.deepEqual(said, ['connected', 'silent'])
  time.advance(60_000)
  watch.frame()
  time.advance(5000)
  assert.deepEqual(said.slice(2), ['connected', 'silent'], 'a minute is no pace')
  watch.frame()
  time.advance(250)
  watch.frame()
  time.advance(3000)
  assert.deepEqual(said.slice(4), ['connected', 'silent'], 'P3, which a second frame shows')
})

test('at a frame in four seconds neither the first nor one after a lost one is followed by silence', () => {
  const { watch, time, said } = start()
  watch.opened()
  for (let i = 0; i < 12; i++) {
    if (i !== 7) watch.frame()
    time.advance(4000)
  }
  assert.deepEqual(said, ['connected'])
  time.advance(6000)
  assert.deepEqual(said, ['connected', 'silent'])
})

test('the gap that a lost cable left is no pace', () => {
  const { watch, time, said } = start()
  watch.opened()
  watch.frame()
  time.advance(1000)
  watch.closed({ reason: 'the port closed', retryInMs: 500 })
  time.advance(3000)
  watch.opened()
  watch.frame()
  time.advance(250)
  watch.frame()
  time.advance(3000)
  assert.deepEqual(said, ['connected', 'unplugged', 'connected', 'silent'])
})

test('a polled sensor’s silence counts the questions since its last answer', () => {
  const { watch, time, sentences } = start({ isPolled: true })
  watch.opened()
  watch.missed()
  watch.frame()
  for (let i = 0; i < 12; i++) watch.missed()
  time.advance(3000)
  assert.match(sentences.at(-1) ?? '', /has not answered 12 questions in a row/)
})

test('while it is unplugged, and after it was stopped, nothing is judged', () => {
  const { watch, time, said, sentences } = start()
  watch.opened()
  watch.closed({ reason: 'the port closed', retryInMs: 1540 })
  time.advance(60_000)
  assert.deepEqual(said, ['unplugged'])
  assert.equal(
    sentences[0],
    'No sensor at /dev/wind (the port closed): trying again in 1.5 s, then at least every 10 s.',
  )
  watch.opened()
  watch.stop()
  time.advance(60_000)
  assert.deepEqual([said.length, time.pending()], [1, 0])
})
