// Checks what a source publishes: every reading, and the sensor's state whenever it changes.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createSeededRandom } from '../wire/random.ts'
import type { ReadingBody, SensorBody } from '../wire/reading.ts'
import { checksum } from './frames/windsonic-frame.ts'
import { FakePort } from './port/fake-port.ts'
import type { Sensor } from './sensor.ts'
import { startSource } from './source.ts'

const wire = (body: string) => `\x02${body}\x03${checksum(body)}\r\n`
const frame = wire('Q,229,002.74,M,00,')

function start(sensor: Sensor, onState: () => void = () => undefined) {
  const time = createManualTime()
  const readings: Array<ReadingBody & { readonly at: number }> = []
  const states: SensorBody[] = []
  const ports: FakePort[] = []
  const source = startSource({
    sensor,
    publish: {
      reading: (body, at) => void readings.push({ ...body, at }),
      sensor(body) {
        states.push(body)
        onState()
      },
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

test('a serial sensor is opened as it is set, never written to unless it is polled', async () => {
  const rows = [
    [{}, 'none', ''],
    [{ parity: 'odd', polling: null }, 'odd', ''],
    [{ polling: { node: 'K', rateHz: 2 } }, 'none', '?K!'],
  ] as const
  for (const [settings, parity, written] of rows) {
    const line = start({ source: 'serial', path: '/dev/wind', baudRate: 4800, ...settings })
    line.port().succeed()
    line.time.advance(200)
    line.port().receive(frame)
    await line.source.stop()
    assert.deepEqual(line.port().settings, { path: '/dev/wind', baudRate: 4800, parity })
    assert.equal(line.port().written.join(''), written)
    assert.deepEqual(
      line.readings.map(({ source, raw }) => [source, raw]),
      [['serial', 'Q,229,002.74,M,00,']],
    )
    assert.deepEqual(
      line.states.map(({ source, state }) => [source, state]),
      [['serial', 'connected']],
    )
  }
})

const log = `${frame}${wire('Q,,000.04,M,00,')}${frame}`

async function startRecorded(t: TestContext, text: string, name = 'breeze.log') {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-recorded-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, name)
  if (text !== '') await writeFile(file, text, 'latin1')
  const { promise: news, resolve } = Promise.withResolvers<void>()
  const line = start({ source: 'recorded', file, pace: 10, rateHz: 4 }, resolve)
  await news
  return line
}

test('a recorded log says that it is one, by its name alone, and sends at its pace', async (t) => {
  const { source, time, readings, states } = await startRecorded(t, log)
  const sentence = 'Recorded wind, breeze.log 10 times as fast: no sensor is attached.'
  assert.deepEqual(states, [{ source: 'recorded', state: 'connected', sentence }])
  while (readings.length < 7) {
    time.advance(25)
    await new Promise(setImmediate)
  }
  await source.stop()
  assert.equal(readings[1]?.state, 'calm')
  assert.equal(readings[3]?.state, 'measured', 'it begins anew')
  assert.ok(readings.every((reading) => reading.source === 'recorded'))
})

test('a log that cannot be read is a state', async (t) => {
  const { states } = await startRecorded(t, '', 'none.log')
  const sentence = 'The recorded wind has ended: none.log: the log cannot be read, there is no such file.'
  assert.deepEqual(states, [{ source: 'recorded', state: 'unplugged', sentence }])
})
