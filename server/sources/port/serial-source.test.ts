// Checks what is made of a real sensor's line: its readings, and what becomes of them when the cable goes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame, start } from './serial-source-testing.ts'

test('repeated frames are all passed on, stamped with their first byte', () => {
  const { time, port, readings, names } = start()
  port().succeed()
  const startAt = time.now()
  for (let i = 0; i < 20; i++) {
    port().receive(frame.slice(0, 10))
    time.advance(10)
    port().receive(frame.slice(10))
    time.advance(240)
  }
  assert.deepEqual(names(), ['connected'])
  assert.deepEqual(
    readings.map(({ at }) => at - startAt),
    Array.from({ length: 20 }, (_, i) => i * 250),
  )
  assert.ok(readings.every(({ raw }) => raw === 'Q,229,002.74,M,00,'))
})

test('a converter that stalls and delivers its backlog at once loses nothing, stamped on arrival', () => {
  const { time, port, readings, names } = start()
  port().succeed()
  port().receive(frame.repeat(2))
  time.advance(9000)
  port().receive(frame.repeat(36))
  const arrivedAt = time.now()
  time.advance(250)
  port().receive(frame)
  assert.equal(readings.length, 39)
  assert.ok(readings.slice(2, 38).every(({ at }) => at === arrivedAt))
  assert.deepEqual(names(), ['connected', 'silent', 'connected'])
})

test('an unplugged sensor says where, why and when it is tried again, once for each reason', () => {
  const { time, port, states } = start()
  const missing = 'Error: No such file or directory, cannot open /dev/no-such-wind'
  port().fail(missing)
  const sentence = states[0]?.sentence ?? ''
  assert.match(
    sentence,
    /\/dev\/no-such-wind \(no such file or directory\): trying again in [\d.]+ s, then at least/,
  )
  for (let i = 0; i < 10; i++) {
    time.advance(10_000)
    port().fail(missing)
  }
  assert.equal(states.length, 1)
  time.advance(10_000)
  port().fail('Error: Permission denied, cannot open /dev/no-such-wind')
  assert.equal(states.length, 2)
  assert.match(states[1]?.sentence ?? '', /permission denied/)
})

test('what was half received before a cable was lost is not stitched to what comes after', () => {
  const { time, port, readings, names } = start()
  port().succeed()
  port().receive(frame + frame.slice(0, 10))
  port().unplug()
  time.advance(1000)
  port().succeed()
  port().receive(frame.slice(10) + frame)
  assert.equal(readings.length, 2)
  assert.deepEqual(names(), ['connected', 'unplugged', 'connected'])
})

test('a stopped source is quiet for good', async () => {
  const { source, time, port, states } = start()
  port().succeed()
  port().receive(frame)
  await source.stop()
  time.advance(60_000)
  assert.equal(states.length, 1)
  assert.equal(time.pending(), 0)
})
