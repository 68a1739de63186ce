// Windows receive every reading of a serial line in order, across an unplugged line.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testConfig } from '../../app/testing.ts'
import { modes } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { readings } from './page.ts'
import { openStage, type Stage } from './stage.ts'
import { plugIn, type WindLine, withoutLine } from './wind-line.ts'

/** The sensor's experiments use `CROSSWIND_WIND_SECONDS=300`, and ten windows. */
const seconds = Number(process.env.CROSSWIND_WIND_SECONDS ?? 5)
const rateHz = 4
const frames = seconds * rateHz
const windowCount = process.env.CROSSWIND_WIND_SECONDS ? 10 : 4

let folder: string
let path: string
let line: WindLine
let stage: Stage
let windows: BrowserWindow[]

before(async () => {
  if (withoutLine) return
  folder = await mkdtemp(join(tmpdir(), 'crosswind-line-'))
  path = join(folder, 'windsonic')
  line = await plugIn(path)
  stage = await openStage({ sensor: { ...testConfig.sensor, source: 'serial', path } })
  const [mode] = modes
  assert.ok(mode)
  windows = await stage.open(mode, windowCount, 'line')
})

after(async () => {
  if (withoutLine) return
  await stage?.close()
  await line?.unplug()
  await rm(folder, { recursive: true, force: true })
})

test(`${frames} of ${frames} readings, in order, in each of ${windowCount} windows`, {
  skip: withoutLine,
}, async (t) => {
  const sensor = line.play(frames, rateHz)
  await until(async () => sensor.sent.length === frames, 'the sensor did not end', seconds * 1000 + 10_000)
  await sensor.stop()
  const held: number[] = []
  for (const window of windows) {
    const newest = async () => (await window.run(readings)).newest
    await until(async () => (await newest()) === sensor.sent.at(-1), 'the last reading did not arrive')
    const { seqs } = await window.run(readings)
    assert.deepEqual(seqs, inOrder(seqs))
    assert.equal(seqs.length, frames)
    held.push(seqs.length)
  }
  t.diagnostic(`readings in the windows: ${held.join(', ')} of ${frames}`)
})

test('the line is unplugged and plugged in again: all windows say so, and continue', {
  skip: withoutLine,
}, async () => {
  await line.unplug()
  for (const window of windows)
    await until(async () => (await troubleOf(window)).includes('No sensor'), 'a window does not show it')
  line = await plugIn(path)
  const before = await Promise.all(windows.map(countIn))
  await until(
    async () => !(await troubleOf(windows[0])).includes('No sensor'),
    'the port stayed closed',
    20_000,
  )
  const sensor = line.play(rateHz, rateHz)
  for (const [index, window] of windows.entries()) {
    const isOn = async () => (await countIn(window)) === (before[index] ?? 0) + rateHz
    await until(isOn, 'the readings did not continue')
    await until(async () => (await troubleOf(window)) === '', 'a window still shows the outage')
  }
  await sensor.stop()
})

const inOrder = (seqs: readonly number[]) => [...new Set(seqs)].sort((one, other) => one - other)

async function countIn(window: BrowserWindow): Promise<number> {
  return (await window.run(readings)).seqs.length
}

function troubleOf(window: BrowserWindow | undefined): Promise<string> {
  assert.ok(window)
  return window.run(() => document.querySelector('.wind-trouble')?.textContent ?? '')
}
