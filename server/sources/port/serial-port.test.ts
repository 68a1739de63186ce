// Checks a serial port's life on ports that never touch a device.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../wire/manual-time.ts'
import { FakePort } from './fake-port.ts'
import type { Polling } from './polling.ts'
import { openSerialPort } from './serial-port.ts'

/** A stop that never ends is a failure, not a wait. */
const bounded = { timeout: 5000 }

interface FakeOpening {
  readonly createPort?: (made: FakePort[]) => void
  readonly polling?: Polling | null
}

function openFake({ createPort, polling = null }: FakeOpening = {}) {
  const time = createManualTime()
  const ports: FakePort[] = []
  const heard: string[] = []
  let device: string | null = 'first device'
  const source = openSerialPort({
    path: '/dev/wind',
    baudRate: 9600,
    parity: 'even',
    polling,
    timers: time,
    random: () => 0,
    createPort(settings) {
      createPort?.(ports)
      const port = new FakePort(settings)
      ports.push(port)
      return port
    },
    identify: () => device,
    onOpen: () => void heard.push('open'),
    onMissed: () => void heard.push('missed'),
    onBytes: (bytes, at) =>
      void heard.push(`${Buffer.from(bytes).toString('latin1')}@${at - 1_700_000_000_000}`),
    onClose: ({ reason, retryInMs }) => void heard.push(`${reason}, ${retryInMs}`),
  })
  const newest = () => ports.at(-1) ?? assert.fail('no port was made')
  const become = (other: string | null) => {
    device = other
  }
  return { source, time, ports, newest, heard, become }
}

test('bytes come with the stamp of their arrival', () => {
  const { newest, heard, time } = openFake()
  newest().succeed()
  time.advance(12.5)
  newest().receive('Q,')
  assert.deepEqual(newest().settings, { path: '/dev/wind', baudRate: 9600, parity: 'even' })
  assert.deepEqual(heard, ['open', 'Q,@12.5'])
})

test('a path that is missing is tried again after growing pauses', () => {
  const { newest, heard, time, ports } = openFake()
  for (const pauseMs of [500, 1000, 2000, 4000, 5000, 5000]) {
    newest().fail('Error: No such file or directory, cannot open /dev/wind')
    const tried = ports.length
    time.advance(pauseMs - 1)
    assert.equal(ports.length, tried)
    time.advance(1)
    assert.equal(ports.length, tried + 1)
  }
  const pauses = [500, 1000, 2000, 4000, 5000, 5000]
  assert.deepEqual(
    heard,
    pauses.map((pauseMs) => `no such file or directory, ${pauseMs}`),
  )
})

test('a lost cable closes once, and bytes make the next pause short again', () => {
  const { newest, heard, time } = openFake()
  newest().fail('Error: Permission denied, cannot open /dev/wind')
  time.advance(500)
  newest().succeed()
  newest().receive('x')
  const lost = newest()
  lost.emit('error', new Error('Input/output error'))
  lost.unplug()
  lost.receive('late')
  time.advance(500)
  newest().succeed()
  assert.deepEqual(heard, ['permission denied, 500', 'open', 'x@500', 'input/output error, 500', 'open'])
})

test('an error closes the port that is still open', () => {
  const { newest } = openFake()
  newest().succeed()
  newest().emit('error', new Error('overrun'))
  assert.equal(newest().closings, 1)
})

test('a port that opens and never says anything is tried ever more slowly', () => {
  const { newest, heard, time } = openFake()
  for (const pauseMs of [500, 1000, 2000]) {
    newest().succeed()
    newest().unplug()
    time.advance(pauseMs)
  }
  assert.deepEqual(heard.filter((line) => line !== 'open').at(-1), 'the port closed, 2000')
})

test('a device that goes without a word is noticed, and its port closed', () => {
  for (const other of [null, 'second device']) {
    const { newest, heard, time, become, ports } = openFake()
    newest().succeed()
    time.advance(5000)
    become(other)
    const lost = newest()
    time.advance(1000)
    assert.equal(lost.closings, 1)
    assert.deepEqual(heard, ['open', 'the device is gone, 500'])
    time.advance(500)
    assert.equal(ports.length, 2)
  }
})

test('settings that serialport refuses outright are a closing, not a throw', bounded, async () => {
  const { heard, source, ports } = openFake({
    createPort: () => {
      throw new TypeError('"baudRate" must be a number: 9600')
    },
  })
  await Promise.resolve()
  assert.deepEqual(heard, ['"baudRate" must be a number: 9600, 500'])
  await source.stop()
  assert.equal(ports.length, 0)
})

test('stopping an open port closes it and nothing more is heard', bounded, async () => {
  const { source, newest, heard, time } = openFake()
  newest().succeed()
  const stopped = source.stop()
  newest().receive('late')
  await stopped
  assert.equal(newest().closings, 1)
  assert.deepEqual(heard, ['open'])
  assert.equal(time.pending(), 0)
})

test('stopping while a failed port still closes waits until it is closed', bounded, async () => {
  const { source, newest } = openFake()
  newest().succeed()
  newest().isSlowToClose = true
  newest().emit('error', new Error('read failed'))
  let isStopped = false
  const stopped = source.stop().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  assert.equal(isStopped, false)
  newest().finishClosing()
  await stopped
  assert.equal(newest().closings, 1)
})

test('stopping while the port opens closes it as soon as it has', bounded, async () => {
  const { source, newest, heard } = openFake()
  const stopped = source.stop()
  newest().succeed()
  await stopped
  assert.equal(newest().closings, 1)
  assert.deepEqual(heard, [])
})

test('stopping while it waits to try again ends the trying', bounded, async () => {
  const { source, newest, time, ports } = openFake()
  newest().fail('Error: No such file or directory, cannot open /dev/wind')
  await source.stop()
  time.advance(60_000)
  assert.equal(ports.length, 1)
  assert.equal(time.pending(), 0)
})

test('what serialport says in its own way is said in ours', () => {
  const rows = [
    ['Error Resource temporarily unavailable Cannot lock port', 'another program has it open'],
    ['Error: Inappropriate ioctl for device setting custom baud rate of 9600', 'it is no serial port'],
    ['Error: Permission denied, cannot open /dev/wind', 'permission denied'],
  ] as const
  for (const [message, reason] of rows) {
    const { newest, heard } = openFake()
    newest().fail(message)
    assert.deepEqual(heard, [`${reason}, 500`])
  }
})

const polling = { node: 'B', rateHz: 2 }

test(
  'a polled sensor is enabled and asked at every opening, and told to be quiet at the end',
  bounded,
  async () => {
    const { source, newest, heard, time, ports } = openFake({ polling })
    newest().succeed()
    time.advance(130)
    newest().receive('\x02B')
    time.advance(500)
    newest().unplug()
    time.advance(500)
    newest().succeed()
    await source.stop()
    time.advance(60_000)
    assert.deepEqual(
      ports.map(({ written }) => written),
      [
        ['?', 'B', 'B'],
        ['?', '!'],
      ],
    )
    assert.deepEqual(heard, ['open', '\x02B@130', 'the port closed, 500', 'open'])
    assert.equal(newest().closings, 1)
    assert.equal(time.pending(), 0)
  },
)

test('last words that never leave do not hold the port', bounded, async () => {
  const { source, newest, time } = openFake({ polling })
  newest().succeed()
  newest().isStuck = true
  const stopped = source.stop()
  assert.equal(newest().closings, 0)
  time.advance(500)
  await stopped
  assert.deepEqual([newest().written, newest().closings], [['?', '!'], 1])
})

test('nothing is said into a port that is not open', bounded, async () => {
  const { source, newest } = openFake({ polling })
  newest().fail('Error: Permission denied, cannot open /dev/wind')
  await source.stop()
  assert.deepEqual(newest().written, [])
})
