// Logs played to a pseudo-terminal and replayed as recorded logs give the same readings.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSeededRandom } from '../protocol/time.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { processTimers } from '../scripts/process.ts'
import { drawFrames, logLayouts, logStartAt } from '../sensor/testing.ts'
import { type Config, defaultConfig } from './config/config.ts'
import type { ReadingBody, SensorBody } from './shared/page-messages.ts'
import { startSource } from './wind-source.ts'

const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false
const boundMs = 30_000
/** Playback speed. */
const pace = 1000

/** Collects one source's reports, and waits until a condition is true. */
function listen(sensor: Partial<Config['sensor']>) {
  const news = new EventEmitter()
  const readings: Array<Omit<ReadingBody, 'source'>> = []
  const states: Array<Omit<SensorBody, 'source'>> = []
  const source = startSource({
    sensor: { ...defaultConfig.sensor, ...sensor },
    root: '/',
    publish(_: unknown, { source: _source, ...body }: ReadingBody | SensorBody) {
      if ('speed' in body) readings.push(body)
      else states.push(body)
      news.emit('news')
    },
    timers: processTimers,
    random: () => 0,
    silentAfterMs: 300,
  })
  return {
    readings,
    states,
    stop: () => source.stop(),
    async until(isSo: () => boolean) {
      const signal = AbortSignal.timeout(boundMs)
      while (!isSo()) await once(news, 'news', { signal })
    },
  }
}

/** A line whose sensor's end is socat's stdin: what `write` sends arrives at `path`. */
async function plugIn(t: TestContext, folder: string): Promise<{ path: string; write(text: string): void }> {
  const path = join(folder, 'host')
  const line: ChildProcess = spawn('socat', ['-d', '-d', '-u', 'STDIN', `pty,raw,echo=0,link=${path}`], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exited = once(line, 'exit')
  t.after(async () => {
    line.kill()
    await exited
  })
  const signal = AbortSignal.timeout(boundMs)
  for (let said = ''; !said.includes('starting data transfer'); )
    said += (await once(line.stderr ?? line, 'data', { signal }))[0]
  return { path, write: (text) => void line.stdin?.write(text, 'latin1') }
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t)
  return folder
}

async function playedFrom(file: string, count: number) {
  const recorded = listen({ source: 'recorded', file, pace })
  await recorded.until(
    () => recorded.readings.length >= count || recorded.states.at(-1)?.state === 'unplugged',
  )
  await recorded.stop()
  return { readings: recorded.readings.slice(0, count), states: recorded.states }
}

test('every layout of a log gives the sensor’s readings', { skip }, async (t) => {
  const folder = await folderFor(t)
  const { path, write } = await plugIn(t, folder)
  const serial = listen({ source: 'serial', path })
  t.after(serial.stop)
  await serial.until(() => serial.states.length > 0)
  const random = createSeededRandom(17)
  for (const layout of logLayouts)
    for (const stampsEach of [1, 3]) {
      // Each log comes from another sensor: any format, unit and line end.
      const messages = drawFrames(30, random).map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
      const before = serial.readings.length
      write(messages.join(''))
      await serial.until(() => serial.readings.length === before + messages.length)
      const lines = messages.map((message, index) => {
        const bare = message.trimEnd()
        return index % stampsEach === 0 ? layout.line(bare, logStartAt + index * 250, index) : bare
      })
      const file = join(folder, 'wind.log')
      await writeFile(file, (layout.heading ?? '') + lines.map((line) => `${line}\n`).join(''), 'latin1')
      const { readings } = await playedFrom(file, messages.length)
      assert.deepEqual(readings, serial.readings.slice(before), `${layout.name}, each ${stampsEach}`)
    }
})

const records = resolve(import.meta.dirname, '../../shared/data/wind')
const wholeLog = join(records, 'sikuliaq-gill-polar-2018-12-06.txt')
const cutLog = join(records, 'ncas-cape-verde-uv-2017-08-30.txt')
const skipRecord = (file: string) =>
  skip || (existsSync(file) ? false : 'the real records are not on this machine')

/** The bytes on the line when this log was written. */
async function wireOf(file: string): Promise<string> {
  const messages = (await readFile(file, 'latin1')).match(/\p{Cc}[A-Z].*/gu) ?? []
  return messages.map((message) => `${message.trimEnd()}\r\n`).join('')
}

test('a ship’s log gives its 1,000 readings either way', { skip: skipRecord(wholeLog) }, async (t) => {
  const { path, write } = await plugIn(t, await folderFor(t))
  const serial = listen({ source: 'serial', path })
  t.after(serial.stop)
  await serial.until(() => serial.states.length > 0)
  write(await wireOf(wholeLog))
  const [{ readings }] = await Promise.all([
    playedFrom(wholeLog, 1000),
    serial.until(() => serial.readings.length === 1000),
  ])
  assert.deepEqual(readings, serial.readings)
})

test('a log of messages cut before their checksum gives none either way, and both say why', {
  skip: skipRecord(cutLog),
}, async (t) => {
  const { path, write } = await plugIn(t, await folderFor(t))
  const serial = listen({ source: 'serial', path })
  t.after(serial.stop)
  await serial.until(() => serial.states.length > 0)
  write(await wireOf(cutLog))
  const [{ readings, states }] = await Promise.all([
    playedFrom(cutLog, 1),
    serial.until(() => serial.states.at(-1)?.state === 'garbled'),
  ])
  assert.deepEqual([readings, serial.readings], [[], []])
  assert.match(serial.states.at(-1)?.sentence ?? '', /Pieces of readings/)
  assert.match(
    states.at(-1)?.sentence ?? '',
    /cannot be played: .* none is complete \(2\d\d cut before the checksum/,
  )
})
