// Each source publishes readings and changes of the sensor's state, and prints them.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { createSeededRandom } from '../protocol/time.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { FakePort, wireOf } from '../sensor/testing.ts'
import { type Config, defaultConfig } from './config/config.ts'
import type { ReadingBody, SensorBody } from './shared/page-messages.ts'
import { startSource } from './wind-source.ts'

const frame = wireOf('Q,229,002.74,M,00,')

function start(sensor: Partial<Config['sensor']>, root = '/srv', onState?: () => void) {
  const time = createManualTime()
  const readings: Array<ReadingBody & { readonly at: number }> = []
  const states: SensorBody[] = []
  const ports: FakePort[] = []
  const printed: string[] = []
  const source = startSource({
    sensor: { ...defaultConfig.sensor, ...sensor },
    root,
    publish(kind, body, at) {
      if (kind === 'reading') readings.push({ ...(body as ReadingBody), at })
      else {
        states.push(body as SensorBody)
        onState?.()
      }
    },
    random: createSeededRandom(5),
    print: (_, sentence) => void printed.push(sentence),
    timers: time,
    createPort(settings) {
      const port = new FakePort(settings)
      ports.push(port)
      return port
    },
  })
  const port = () => ports.at(-1) ?? assert.fail('no port was made')
  return {
    source,
    time,
    readings,
    states,
    printed,
    ports,
    port,
    names: () => states.map(({ state }) => state),
  }
}

test('the default is simulated wind, which is identified as such, with 4 readings a second', async () => {
  const { source, time, readings, states } = start({})
  time.advance(60_000)
  const sentence = 'Simulated wind: no sensor is attached.'
  assert.deepEqual(states, [{ source: 'simulated', state: 'connected', sentence }])
  assert.equal(readings.length, 240)
  assert.ok(readings.every((reading) => reading.source === 'simulated'))
  await source.stop()
  time.advance(60_000)
  assert.equal(readings.length, 240)
})

test('without a sensor nothing is reported', async () => {
  const { source, time, readings, states } = start({ source: 'none' })
  time.advance(60_000)
  await source.stop()
  assert.deepEqual([readings, states], [[], []])
})

test('a serial sensor is opened with its settings, and written to only if it is polled', async () => {
  const rows = [
    [{}, 'none', ''],
    [{ parity: 'odd', node: 'K', rateHz: 2 }, 'odd', ''],
    [{ mode: 'polled', node: 'K', rateHz: 2 }, 'none', '?K!'],
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

const log = `${frame}${wireOf('Q,,000.04,M,00,')}${frame}`

async function startRecorded(t: TestContext, text: string, name = 'breeze.log') {
  const folder = temporaryFolder(t)
  const file = join(folder, name)
  if (text !== '') await writeFile(file, text, 'latin1')
  const { promise: news, resolve } = Promise.withResolvers<void>()
  const line = start({ source: 'recorded', file: name, pace: 10 }, dirname(file), resolve)
  await news
  return line
}

test('a recorded log is identified as such, by its name only, and plays at its pace', async (t) => {
  const { source, time, readings, states, printed } = await startRecorded(t, log)
  const sentence = 'Recorded wind, breeze.log 10 times as fast: no sensor is attached.'
  const note =
    'No timestamps were recognised: the log is played at an assumed rate, 4 messages a second (sensor.rateHz).'
  assert.deepEqual(states, [{ source: 'recorded', state: 'connected', sentence, note }])
  assert.deepEqual(printed, [`Wind: ${note}`])
  while (readings.length < 7) {
    time.advance(25)
    await new Promise(setImmediate)
  }
  await source.stop()
  assert.equal(readings[1]?.state, 'calm')
  assert.equal(readings[3]?.state, 'measured', 'it begins again')
  assert.ok(readings.every((reading) => reading.source === 'recorded'))
})

test('an unreadable log is reported as a state', async (t) => {
  const { states, printed } = await startRecorded(t, '', 'none.log')
  const sentence =
    'The recorded wind cannot be played: none.log: the log cannot be read, there is no such file: check sensor.file (--sensor-file).'
  assert.deepEqual(states, [{ source: 'recorded', state: 'unplugged', sentence }])
  assert.deepEqual(printed, [`Wind: ${sentence}`])
})

function startPrinting() {
  const line = start({ source: 'serial', path: '/dev/wind' })
  return { ...line, printed: () => line.printed.splice(0) }
}

const missing = 'Error: No such file or directory, cannot open /dev/wind'

test('trouble with the sensor is printed in the terminal too, once, and so is its end', () => {
  const { port, time, printed, ports } = startPrinting()
  port().fail(missing)
  assert.match(
    printed().join('|'),
    /^Wind: No sensor at \/dev\/wind: there is no such port; plug the sensor in, .*--list shows them\); trying again at least every 10 s\.$/,
  )
  for (let i = 0; i < 20; i++) {
    time.advance(10_000)
    port().fail(missing)
  }
  assert.ok(ports.length > 15)
  assert.deepEqual(printed(), [])
  time.advance(10_000)
  port().succeed()
  port().receive(frame)
  assert.deepEqual(printed(), [])
  for (let i = 0; i < 40; i++) {
    time.advance(250)
    port().receive(frame)
  }
  assert.deepEqual(printed(), ['Wind: The sensor on /dev/wind is sending readings.'])
})

test('a working sensor is not reported', () => {
  const { port, time, printed } = startPrinting()
  port().succeed()
  for (let i = 0; i < 400; i++) {
    port().receive(frame)
    time.advance(250)
  }
  assert.deepEqual(printed(), [])
})

test('an hour of a loose cable gives a few lines, and a report when it ends', () => {
  const { port, time, printed } = startPrinting()
  for (let i = 0; i < 1800; i++) {
    port().succeed()
    port().receive(frame)
    time.advance(1000)
    port().unplug()
    time.advance(1000)
  }
  const lines = printed()
  assert.ok(lines.length >= 1 && lines.length <= 12, lines.join('\n'))
  assert.match(lines[0] ?? '', /the port closed/)
  port().succeed()
  for (let i = 0; i < 4000; i++) {
    port().receive(frame)
    time.advance(250)
  }
  assert.deepEqual(printed(), ['Wind: The sensor on /dev/wind is sending readings.'])
})

test('prints another trouble as well, and nothing after the end', async () => {
  const { port, time, printed, source } = startPrinting()
  port().fail(missing)
  time.advance(10_000)
  port().fail('Error: Permission denied, cannot open /dev/wind')
  time.advance(10_000)
  const lines = printed()
  assert.equal(lines.length, 2)
  assert.match(lines[1] ?? '', /this user may not use it; on Linux run sudo usermod -aG dialout \$USER/)
  port().succeed()
  port().receive(frame)
  await source.stop()
  time.advance(60_000)
  assert.deepEqual([printed(), time.pending()], [[], 0])
})

/** A serial sensor, continuous or polled, on a port without a device. */
function startSerial(polling: Partial<Config['sensor']> = {}) {
  return start({ source: 'serial', path: '/dev/no-such-wind', ...polling })
}

test('repeated frames are all passed on, with the timestamp of their first byte', () => {
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
  assert.ok(readings.every(({ raw }) => raw === 'Q,229,002.74,M,00,'))
})

test('a converter that stalls and delivers its backlog at once loses nothing; timestamps are of arrival', () => {
  const { time, port, readings, names } = startSerial()
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

test('an unplugged sensor’s report says where, why and when it is retried, once for each reason', () => {
  const { time, port, states } = startSerial()
  const missing = 'Error: No such file or directory, cannot open /dev/no-such-wind'
  port().fail(missing)
  const sentence = states[0]?.sentence ?? ''
  assert.match(
    sentence,
    /\/dev\/no-such-wind: there is no such port; plug the sensor in.*\); trying again at least/,
  )
  for (let i = 0; i < 10; i++) {
    time.advance(10_000)
    port().fail(missing)
  }
  assert.equal(states.length, 1)
  time.advance(10_000)
  port().fail('Error: Permission denied, cannot open /dev/no-such-wind')
  assert.equal(states.length, 2)
  assert.match(states[1]?.sentence ?? '', /this user may not use it; on Linux run sudo usermod/)
})

test('bytes received before a cable was lost are not joined to those after', () => {
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

test('three seconds without a byte are silence, and one frame ends it', () => {
  const { time, port, states, names } = startSerial()
  port().succeed()
  port().receive(frame)
  time.advance(250)
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

test('a sensor that sends once in four seconds is slow, not silent', () => {
  const { time, port, names } = startSerial()
  port().succeed()
  for (let i = 0; i < 20; i++) {
    time.advance(4000)
    port().receive(frame)
  }
  assert.deepEqual(names(), ['connected'])
  time.advance(10_000)
  assert.equal(names().at(-1), 'silent')
})

test('a port that never sends anything is silent', () => {
  const { time, port, names } = startSerial()
  port().succeed()
  time.advance(4499)
  assert.deepEqual(names(), [])
  time.advance(1)
  assert.deepEqual(names(), ['silent'])
})

test('steady garbage suggests another baud rate, once', () => {
  const { time, port, states, readings } = startSerial()
  port().succeed()
  for (let i = 0; i < 100; i++) {
    port().receive('\xfe\x82\x92\xff\x8a')
    time.advance(250)
  }
  assert.equal(states.length, 1)
  assert.equal(states[0]?.state, 'garbled')
  assert.match(states[0]?.sentence ?? '', /makes no sense at 9600 baud.*try 38400, 19200, 4800 or 2400/)
  assert.equal(readings.length, 0)
  time.advance(6000)
  assert.equal(states.at(-1)?.state, 'silent')
})

interface Trouble {
  readonly what: string
  readonly text: string
  readonly times: number
  readonly everyMs: number
  readonly state: string
  readonly sentence: RegExp
}

const often = { times: 20, everyMs: 250, state: 'garbled' }
const once = { times: 1, everyMs: 10_000, state: 'silent' }
const troubles: readonly Trouble[] = [
  {
    ...often,
    what: 'intact frames of an unsupported format',
    text: wireOf('Q,012.3,M,'),
    sentence: /in an unsupported format/,
  },
  {
    ...often,
    what: 'a WindObserver',
    text: wireOf('A,121,000.08,M,+344.66,+021.76,00,'),
    sentence: /is intact, but in an unsupported format \("A,121,000.08,M,\+344.66,/,
  },
  {
    ...often,
    what: 'damaged frames',
    text: '\x02Q,2,274,,,1\r',
    sentence: /Pieces of readings.*parity \(now none\)/,
  },
  {
    ...often,
    what: 'another instrument',
    text: '$GPGGA,123519,4807.038,N\r\n',
    sentence: /is not from a WindSonic \("\$GPGGA,/,
  },
  {
    ...often,
    what: 'a byte now and then',
    text: '\x00',
    times: 6,
    everyMs: 2900,
    sentence: /Only a few bytes/,
  },
  {
    ...once,
    what: 'configuration mode',
    text: 'CONFIGURATION MODE\r\n',
    sentence: /is in configuration mode.*--configure D3/,
  },
  {
    ...once,
    what: 'a banner and no more',
    text: 'WINDSONIC (Gill Instruments Ltd)\r\n',
    sentence: /has started but.*polled/,
  },
]
for (const { what, text, times, everyMs, state, sentence } of troubles) {
  test(`${what}: reported as such, once`, () => {
    const { time, port, states } = startSerial()
    port().succeed()
    for (let i = 0; i < times; i++) {
      port().receive(text)
      time.advance(everyMs)
    }
    assert.equal(states.length, 1)
    assert.equal(states[0]?.state, state)
    assert.match(states[0]?.sentence ?? '', sentence)
    port().receive(frame)
    assert.equal(states.at(-1)?.state, 'connected')
  })
}

test('the report of a silent polled sensor says that it was polled', () => {
  const { time, port, states } = startSerial({ mode: 'polled', node: 'B', rateHz: 2 })
  port().succeed()
  time.advance(3000)
  assert.equal(states[0]?.state, 'silent')
  assert.match(
    states[0]?.sentence ?? '',
    /has not answered [56] questions in a row: .*\(here B\); still asking\.$/,
  )
  port().receive(wireOf('B,229,002.74,M,00,'))
  assert.equal(states.at(-1)?.state, 'connected')
})

test('a sensor polled every ten seconds is not silent in between', () => {
  const { time, port, names } = startSerial({ mode: 'polled', rateHz: 0.1 })
  port().succeed()
  for (let i = 0; i < 10; i++) {
    time.advance(10_000)
    port().receive(frame)
  }
  assert.deepEqual(names(), ['connected'])
})

/** One message every 250 ms: good, or with one bit flipped. */
function send(
  line: ReturnType<typeof startSerial>,
  count: number,
  isDamaged: (index: number) => boolean,
): void {
  for (let i = 0; i < count; i++) {
    line.port().receive(isDamaged(i) ? frame.replace('002', '003') : frame)
    line.time.advance(250)
  }
}

test('many damaged messages are reported although readings arrive; once, until nearly all are good', () => {
  const line = startSerial()
  line.port().succeed()
  send(line, 200, (index) => index % 3 === 1)
  assert.deepEqual(line.names(), ['connected', 'garbled'])
  assert.equal(
    line.states[1]?.sentence,
    '8 of the last 24 messages from /dev/no-such-wind were damaged and are not shown: check the cable and its ground, and the parity (now none).',
  )
  assert.ok(line.readings.length > 130)
  send(line, 60, () => false)
  assert.deepEqual(line.names(), ['connected', 'garbled', 'connected'])
})

test('an occasional damaged message is not reported', () => {
  const line = startSerial()
  line.port().succeed()
  send(line, 2000, (index) => index % 10 === 0)
  assert.deepEqual(line.names(), ['connected'])
})

test('if damage leaves no intact message for a while, and then readings resume, it is reported as one trouble', () => {
  const line = startSerial()
  line.port().succeed()
  send(line, 30, (index) => index % 2 === 1)
  send(line, 16, () => true)
  send(line, 10, (index) => index % 2 === 1)
  assert.deepEqual(line.names(), ['connected', 'garbled'])
  send(line, 60, () => true)
  assert.match(line.states.at(-1)?.sentence ?? '', /no complete one for/)
})

test('bytes from before a cable was lost are no evidence of what comes after', () => {
  const line = startSerial()
  line.port().succeed()
  send(line, 30, (index) => index % 2 === 1)
  line.port().unplug()
  line.time.advance(1000)
  line.port().succeed()
  send(line, 2, () => false)
  assert.deepEqual(line.names(), ['connected', 'garbled', 'unplugged', 'connected'])
})

/** Anything that a port and its sensor can do, in any order. */
function live(line: ReturnType<typeof startSerial>, random: () => number): void {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]
  const texts = [
    frame,
    frame.slice(0, 9),
    '\xfe\x82\x92',
    '\x00'.repeat(40),
    'CONFIGURATION MODE\r\n',
    '*?!Q',
  ]
  const port = line.port()
  if (port.opening) random() < 0.5 ? port.succeed() : port.fail('Error: Permission denied')
  else if (port.isOpen) random() < 0.03 ? port.unplug() : port.receive(pick(texts) ?? '')
  if (port.isOpen && random() < 0.01) port.emit('error', new Error('Input/output error'))
  line.time.advance(random() * 2000)
}

test('nothing is ever written to a continuous sensor, whatever happens', async () => {
  const line = startSerial()
  const random = createSeededRandom(2012)
  for (let i = 0; i < 5000; i++) live(line, random)
  await line.source.stop()
  assert.ok(line.ports.length > 50 && line.readings.length > 100, `${line.ports.length} ports`)
  assert.deepEqual(
    line.ports.flatMap(({ written }) => written),
    [],
  )
})

test('only ?, the letter and a final ! are written to a polled sensor', async () => {
  const line = startSerial({ mode: 'polled', node: 'K' })
  const random = createSeededRandom(2012)
  for (let i = 0; i < 5000; i++) live(line, random)
  while (!line.port().isOpen) live(line, random)
  await line.source.stop()
  const written = line.ports.map((port) => port.written.join('')).filter((text) => text !== '')
  const last = written.pop()
  assert.ok(written.length > 30, `${written.length} openings`)
  for (const text of written) assert.match(text, /^\?[K?]*$/)
  assert.match(last ?? '', /^\?[K?]*!$/)
})
