// The whole sensor path: pseudo-terminal, serialport, log, and every window in every mode.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testConfig } from '../../app/testing.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { readings } from './page.ts'
import { browserModes, openStage, type Stage, untilShows } from './stage.ts'
import { plugIn, type WindLine, withoutLine } from './wind-line.ts'

/** `wind-outage.long.browser.test.ts` measures endurance. */
const seconds = 10
const windowsPerMode = 2
const rateHz = 4
const frames = seconds * rateHz

let folder: string
let path: string
let line: WindLine
let stage: Stage

before(async () => {
  if (withoutLine) return
  folder = await mkdtemp(join(tmpdir(), 'crosswind-wind-'))
  path = join(folder, 'windsonic')
  line = await plugIn(path)
  stage = await openStage({ sensor: { ...testConfig.sensor, source: 'serial', path, rateHz } })
})

after(async () => {
  if (withoutLine) return
  await stage?.close()
  await line?.unplug()
  await rm(folder, { recursive: true, force: true })
})

test(`${frames} of ${frames} readings in order, in each of ${windowsPerMode} windows, in every mode, while one types`, {
  skip: withoutLine,
}, async () => {
  const groups: BrowserWindow[][] = []
  for (const mode of browserModes) {
    // Two modes over HTTP/1.1 leave too few connections of one browser for typing.
    const browser = mode.windowsPerBrowser === null ? stage.browser : await stage.anotherBrowser()
    groups.push(await stage.open(mode, windowsPerMode, `wind-${mode.name.replace('/', '-')}`, { browser }))
  }
  const all = groups.flat()
  for (const window of all) assert.deepEqual((await window.run(readings)).seqs, [])

  const sensor = line.play(frames, rateHz)
  const typed = await typeMeanwhile(groups, () => sensor.sent.length < frames)
  await sensor.stop()

  const last = sensor.sent.at(-1)
  for (const window of all) {
    await until(async () => (await window.run(readings)).newest === last, 'the last reading did not arrive')
    const { seqs } = await window.run(readings)
    assert.equal(seqs.length, frames)
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].sort((one, other) => one - other),
    )
  }
  for (const group of groups) {
    for (const window of group) await untilShows(window, typed)
  }
})

async function typeMeanwhile(groups: readonly BrowserWindow[][], goesOn: () => boolean): Promise<string> {
  const typists = groups.flatMap(([typist]) => (typist ? [typist] : []))
  for (const typist of typists) await typist.click('#document')
  let typed = ''
  while (goesOn()) {
    for (const typist of typists) await typist.key('w')
    typed += 'w'
  }
  return typed
}
