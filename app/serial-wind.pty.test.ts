// Runs the source on pseudo-terminals made by socat: real devices that can be unplugged.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { processTimers } from '../scripts/process.ts'
import { openSerialPort } from '../sensor/serial-port.ts'
import { openPty } from '../sensor/simulator/pseudo-terminal.ts'
import { FakePort } from '../sensor/testing.ts'
import { writeFrame } from '../sensor/windsonic-frame.ts'
import { defaultConfig } from './config/config.ts'
import type { ReadingBody, SensorBody } from './shared/page-messages.ts'
import { startSource } from './wind-source.ts'

const socat = '/usr/bin/socat'
const skip = existsSync(socat) ? false : 'socat is not installed'
const boundMs = 15_000

/** A line with two ends; resolves once both can be opened. */
async function plugIn(sensorEnd: string, hostEnd: string): Promise<ChildProcess> {
  const line = spawn(
    socat,
    ['-d', '-d', `pty,raw,echo=0,link=${sensorEnd}`, `pty,raw,echo=0,link=${hostEnd}`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let said = ''
  while (!said.includes('starting data transfer')) {
    const [text] = await once(line.stderr ?? line, 'data', { signal: AbortSignal.timeout(boundMs) })
    said += text
  }
  return line
}

async function unplug(line: ChildProcess): Promise<void> {
  if (line.exitCode !== null || line.signalCode !== null) return
  const exited = once(line, 'exit')
  line.kill()
  await exited
}

function frames(from: number, count: number): Uint8Array {
  const speeds = Array.from({ length: count }, (_, i) => (from + i) / 100)
  return Buffer.concat(
    speeds.map((speed) =>
      writeFrame(
        { node: 'Q', directionDegrees: 229, speed, axes: null, unit: 'M', status: '00' },
        { format: 'polar', ending: '\r\n', talker: 'II', hasGillStatus: false },
      ),
    ),
  )
}

/** Records what is published, and wakes those that wait for it. */
function listen() {
  const news = new EventEmitter()
  const speeds: Array<number | null> = []
  const states: string[] = []
  return {
    speeds,
    states,
    publish(_: unknown, body: ReadingBody | SensorBody) {
      if ('speed' in body) speeds.push(body.speed)
      else states.push(body.state)
      news.emit('news')
    },
    async until(isSo: () => boolean) {
      const signal = AbortSignal.timeout(boundMs)
      while (!isSo()) await once(news, 'news', { signal })
    },
  }
}

test('readings arrive in order, an unplugged line is reported, and readings resume when it is back', {
  skip,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-pty-'))
  const sensorEnd = join(folder, 'sensor')
  const hostEnd = join(folder, 'host')
  const { publish, speeds, states, until } = listen()
  let line = await plugIn(sensorEnd, hostEnd)
  const source = startSource({
    sensor: { ...defaultConfig.sensor, source: 'serial', path: hostEnd },
    root: folder,
    publish,
    timers: processTimers,
    random: () => 0,
    silentAfterMs: 200,
  })
  t.after(async () => {
    await source.stop()
    await unplug(line)
    await rm(folder, { recursive: true })
  })

  await until(() => states.includes('silent'))
  await writeFile(sensorEnd, frames(100, 40))
  await until(() => speeds.length === 40)
  assert.deepEqual(
    speeds,
    Array.from({ length: 40 }, (_, i) => (100 + i) / 100),
  )
  await unplug(line)
  await until(() => states.includes('unplugged'))
  line = await plugIn(sensorEnd, hostEnd)
  await until(() => states.at(-1) === 'silent')
  await writeFile(sensorEnd, frames(500, 3))
  await until(() => speeds.length === 43)
  assert.deepEqual(speeds.slice(40), [5, 5.01, 5.02])
  assert.equal(states.at(-1), 'connected')
})

test('a terminal remains the same device while in use, and counts as gone when another replaces it', {
  skip,
}, async (t) => {
  const plugInPty = () => openPty({ timers: processTimers, onInput: () => undefined, onEnd: () => undefined })
  const time = createManualTime()
  const closings: string[] = []
  const first = await plugInPty()
  const source = openSerialPort({
    path: first.device,
    baudRate: 9600,
    parity: 'none',
    polling: null,
    timers: time,
    random: () => 0,
    createPort(settings) {
      const port = new FakePort(settings)
      queueMicrotask(() => port.succeed())
      return port
    },
    onOpen: () => undefined,
    onBytes: () => undefined,
    onClose: (reason) => void closings.push(reason),
  })
  t.after(() => source.stop())
  await Promise.resolve()
  first.write(Buffer.from('x'))
  time.advance(3000)
  assert.deepEqual(closings, [])
  await first.stop()
  // The system gives the second terminal the number of the first, which is free again.
  const second = await plugInPty()
  time.advance(1000)
  assert.deepEqual(closings, ['the device is gone'])
  await second.stop()
})
