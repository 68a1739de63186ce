// Checks what a source publishes: every reading, and the sensor's state whenever it changes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createSeededRandom } from '../wire/random.ts'
import type { ReadingBody, SensorBody } from '../wire/reading.ts'
import { checksum } from './frames/windsonic-frame.ts'
import { FakePort } from './port/fake-port.ts'
import { type Sensor, startSource } from './source.ts'

const wire = (body: string) => `\x02${body}\x03${checksum(body)}\r\n`
const frame = wire('Q,229,002.74,M,00,')

function start(sensor: Sensor) {
  const time = createManualTime()
  const readings: Array<ReadingBody & { readonly at: number }> = []
  const states: SensorBody[] = []
  const ports: FakePort[] = []
  const source = startSource({
    sensor,
    publish: {
      reading: (body, at) => void readings.push({ ...body, at }),
      sensor: (body) => void states.push(body),
    },
    random: createSeededRandom(5),
    timers: time,
    createPort(settings) {
      const port = new FakePort(settings)
      ports.push(port)
      return port
    },
  })
  const port = () => ports.at(-1) ?? assert.fail('no port was made')
  return { source, time, readings, states, ports, port, names: () => states.map(({ state }) => state) }
}

const startSerial = () => start({ source: 'serial', path: '/dev/no-such-wind', baudRate: 9600 })

test('a simulated wind says that it is one, and sends at its rate', async () => {
  const { source, time, readings, states } = start({ source: 'simulated', rateHz: 4 })
  time.advance(60_000)
  const sentence = 'Simulated wind: no sensor is attached.'
  assert.deepEqual(states, [{ source: 'simulated', state: 'connected', sentence }])
  assert.equal(readings.length, 240)
  assert.ok(readings.every((reading) => reading.source === 'simulated'))
  await source.stop()
  time.advance(60_000)
  assert.equal(readings.length, 240)
})

test('no sensor says nothing', async () => {
  const { source, time, readings, states } = start({ source: 'none' })
  time.advance(60_000)
  await source.stop()
  assert.deepEqual([readings, states], [[], []])
})

test('repeated frames are all passed on, stamped with their first byte', () => {
  const { time, port, readings, names } = startSerial()
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
  assert.ok(readings.every(({ source, raw }) => source === 'serial' && raw === 'Q,229,002.74,M,00,'))
})

test('three seconds without a byte are silence, and one frame ends it', () => {
  const { time, port, states, names } = startSerial()
  port().succeed()
  port().receive(frame.slice(0, -1))
  time.advance(1)
  port().receive('\n')
  time.advance(2998)
  assert.deepEqual(names(), ['connected'])
  time.advance(1)
  assert.deepEqual(names(), ['connected', 'silent'])
  assert.match(states[1]?.sentence ?? '', /\/dev\/no-such-wind has sent nothing for 3 s/)
  time.advance(60_000)
  port().receive(frame)
  assert.deepEqual(names(), ['connected', 'silent', 'connected'])
})

test('a port that never says anything is silent', () => {
  const { time, port, names } = startSerial()
  port().succeed()
  time.advance(3000)
  assert.deepEqual(names(), ['silent'])
})

test('steady garbage asks for the baud rate, once', () => {
  const { time, port, states, readings } = startSerial()
  port().succeed()
  for (let i = 0; i < 100; i++) {
    port().receive('\xfe\x82\x92\xff\x8a')
    time.advance(250)
  }
  assert.equal(states.length, 1)
  assert.equal(states[0]?.state, 'garbled')
  assert.match(states[0]?.sentence ?? '', /wrong baud rate\? now 9600/)
  assert.equal(readings.length, 0)
  time.advance(6000)
  assert.equal(states.at(-1)?.state, 'silent')
})

test('frames of another format are named as such', () => {
  const { time, port, states } = startSerial()
  port().succeed()
  for (let i = 0; i < 20; i++) {
    port().receive(wire('Q,+001.59,-002.74,M,00,'))
    time.advance(250)
  }
  assert.deepEqual(
    states.map(({ state }) => state),
    ['garbled'],
  )
  assert.match(states[0]?.sentence ?? '', /not Gill polar/)
})

test('an unplugged sensor says where, why and when it is tried again, once for each reason', () => {
  const { time, port, states } = startSerial()
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
  const { time, port, readings, names } = startSerial()
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
  const { source, time, port, states } = startSerial()
  port().succeed()
  port().receive(frame)
  await source.stop()
  time.advance(60_000)
  assert.equal(states.length, 1)
  assert.equal(time.pending(), 0)
})
