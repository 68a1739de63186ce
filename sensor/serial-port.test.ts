// A serial port's life, and what a polled sensor receives, on ports that never touch a device.

import assert from 'node:assert/strict'
import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { openSerialPort, type Polling } from './serial-port.ts'
import { FakePort } from './testing.ts'

const noSuchPort =
  'there is no such port; plug the sensor in, or name another with --sensor-path (npm run sensor -- --list shows them)'
const notAllowed =
  'this user may not use it; on Linux run sudo usermod -aG dialout $USER, or the group that ls -l shows, and log in again'

/** A stop that never ends counts as a failure. */
const bounded = { timeout: 5000 }

interface FakeOpening {
  readonly createPort?: (made: FakePort[]) => void
  readonly polling?: Polling | null
  readonly path?: string
}

function openFake({ createPort, polling = null, path = '/dev/wind' }: FakeOpening = {}) {
  const time = createManualTime()
  const ports: FakePort[] = []
  const heard: string[] = []
  const source = openSerialPort({
    path,
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
    onOpen: () => void heard.push('open'),
    onMissed: () => void heard.push(`missed@${time.now() - 1_700_000_000_000}`),
    onBytes: (bytes, at) =>
      void heard.push(`${Buffer.from(bytes).toString('latin1')}@${at - 1_700_000_000_000}`),
    onClose: (reason, retryInMs) => void heard.push(`${reason}, ${retryInMs}`),
  })
  const newest = () => ports.at(-1) ?? assert.fail('no port was made')
  return { source, time, ports, newest, heard }
}

test('bytes carry their arrival time', () => {
  const { newest, heard, time } = openFake()
  newest().succeed()
  time.advance(12.5)
  newest().receive('Q,')
  assert.deepEqual(newest().settings, { path: '/dev/wind', baudRate: 9600, parity: 'even' })
  assert.deepEqual(heard, ['open', 'Q,@12.5'])
})

test('retries a missing path after growing pauses', () => {
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
    pauses.map((pauseMs) => `${noSuchPort}, ${pauseMs}`),
  )
})

test('a lost cable is reported once; received bytes reset the retry pause', () => {
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
  assert.deepEqual(heard, [`${notAllowed}, 500`, 'open', 'x@500', 'input/output error, 500', 'open'])
})

test('an error closes the port that is still open', () => {
  const { newest } = openFake()
  newest().succeed()
  newest().emit('error', new Error('overrun'))
  assert.equal(newest().closings, 1)
})

test('a port that opens and stays silent is retried ever more slowly', () => {
  const { newest, heard, time } = openFake()
  for (const pauseMs of [500, 1000, 2000]) {
    newest().succeed()
    newest().unplug()
    time.advance(pauseMs)
  }
  assert.deepEqual(heard.filter((line) => line !== 'open').at(-1), 'the port closed, 2000')
})

function pathsFor(t: TestContext) {
  const folder = temporaryFolder(t)
  const device = join(folder, 'ttyUSB0')
  const other = join(folder, 'ttyUSB1')
  const link = join(folder, 'by-id')
  writeFileSync(device, '', { mode: 0o600 })
  writeFileSync(other, '')
  symlinkSync(device, link)
  return { device, other, link }
}

test('notices a device that disappears silently, also through a link, and closes its port', (t) => {
  for (const replaced of [false, true])
    for (const name of ['device', 'link'] as const) {
      const { device, other, ...paths } = pathsFor(t)
      const { newest, heard, time, ports } = openFake({ path: { device, ...paths }[name] })
      newest().succeed()
      time.advance(5000)
      if (replaced) renameSync(other, device)
      else rmSync(device)
      const lost = newest()
      time.advance(1000)
      assert.equal(lost.closings, 1)
      assert.deepEqual(heard, ['open', 'the device is gone, 500'])
      time.advance(500)
      assert.equal(ports.length, 2)
    }
})

test('a change of the device’s mode does not count as a disappearance, also through a link', async (t) => {
  for (const name of ['device', 'link'] as const) {
    const { device, ...paths } = pathsFor(t)
    const { newest, heard, time, source } = openFake({ path: { device, ...paths }[name] })
    newest().succeed()
    chmodSync(device, 0o666)
    time.advance(5000)
    assert.deepEqual(heard, ['open'])
    await source.stop()
    assert.equal(time.pending(), 0, 'it is no longer watched')
  }
})

test('settings that serialport rejects close the port instead of throwing', bounded, async () => {
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

test('stopping an open port closes it and stops all callbacks', bounded, async () => {
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

test('stopping while the port opens closes it once it is open', bounded, async () => {
  const { source, newest, heard } = openFake()
  const stopped = source.stop()
  newest().succeed()
  await stopped
  assert.equal(newest().closings, 1)
  assert.deepEqual(heard, [])
})

test('stopping during a retry pause ends the retries', bounded, async () => {
  const { source, newest, time, ports } = openFake()
  newest().fail('Error: No such file or directory, cannot open /dev/wind')
  await source.stop()
  time.advance(60_000)
  assert.equal(ports.length, 1)
  assert.equal(time.pending(), 0)
})

test('serialport’s errors become sentences for people', () => {
  const rows = [
    ['Error Resource temporarily unavailable Cannot lock port', 'another program has it open'],
    ['Error: Inappropriate ioctl for device setting custom baud rate of 9600', 'it is not a serial port'],
    ['Error: Permission denied, cannot open /dev/wind', notAllowed],
    ['Error: No such file or directory, cannot open /dev/wind', noSuchPort],
  ] as const
  for (const [message, reason] of rows) {
    const { newest, heard } = openFake()
    newest().fail(message)
    assert.deepEqual(heard, [`${reason}, 500`])
  }
})

const polling = { node: 'B', rateHz: 2 }

test('a polled sensor is enabled and polled at every opening, and disabled at the end', bounded, async () => {
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
})

test('a write that never drains does not block the close', bounded, async () => {
  const { source, newest, time } = openFake({ polling })
  newest().succeed()
  newest().isStuck = true
  const stopped = source.stop()
  assert.equal(newest().closings, 0)
  time.advance(500)
  await stopped
  assert.deepEqual([newest().written, newest().closings], [['?', '!'], 1])
})

test('writes nothing to a port that is not open', bounded, async () => {
  const { source, newest } = openFake({ polling })
  newest().fail('Error: Permission denied, cannot open /dev/wind')
  await source.stop()
  assert.deepEqual(newest().written, [])
})

function startPolled({ node = 'Q', rateHz = 4 } = {}) {
  const { source, newest, heard, time } = openFake({ polling: { node, rateHz } })
  const startAt = time.now()
  const written: string[] = []
  const port = newest()
  port.onWrite = (text) => void written.push(`${text}@${time.now() - startAt}`)
  port.succeed()
  const missed = () => heard.filter((what) => what.startsWith('missed'))
  return { source, port, time, written, missed }
}

test('a polled sensor is enabled at once, then polled at the rate', () => {
  const { time, written } = startPolled({ node: 'C' })
  time.advance(1000)
  assert.deepEqual(written, ['?@0', 'C@130', 'C@380', 'C@630', 'C@880'])
})

test('a poll without the start of a frame within 130 ms is missed', () => {
  const { port, time, missed } = startPolled()
  time.advance(130 + 129)
  port.receive('\x02Q,')
  time.advance(121)
  port.receive('Q')
  time.advance(130)
  assert.deepEqual(missed(), ['missed@510'], 'the echo of the letter does not count as an answer')
  time.advance(120)
  port.receive('\r\n$IIMWV')
  time.advance(200)
  assert.deepEqual(missed(), ['missed@510'])
})

test('a sensor that has not answered for 5 s is enabled again, repeatedly', () => {
  const { port, time, written } = startPolled()
  const enabled = () => written.filter((line) => line.startsWith('?'))
  time.advance(12_000)
  assert.deepEqual(enabled(), ['?@0', '?@5130', '?@10130'])
  for (let i = 0; i < 40; i++) {
    port.receive('\x02')
    time.advance(250)
  }
  assert.equal(enabled().length, 3)
})

test('polls skipped during a stall are not made up for', () => {
  const { time, written } = startPolled()
  time.advance(500)
  time.stall(3000)
  time.advance(500)
  const times = written.slice(1).map((line) => Number(line.split('@')[1]))
  assert.deepEqual(times, [130, 380, 3500, 3630, 3880])
})

test('sends no polls after stop', async () => {
  const { source, time, written, missed } = startPolled()
  time.advance(200)
  await source.stop()
  time.advance(10_000)
  assert.deepEqual([written, missed()], [['?@0', 'Q@130', '!@200'], []])
  assert.equal(time.pending(), 0)
})
