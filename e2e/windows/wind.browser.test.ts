// The sensor's way, whole: bytes on a pseudo-terminal, serialport, the log, and every window in every mode.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openSimulator } from '../../server/sources/device/simulator.ts'
import { processTimers } from '../../server/timers.ts'
import { modes } from '../../server/wire/modes.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import type { BrowserWindow } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import { readings, textShown } from './page.ts'
import { openStage, type Stage } from './stage.ts'

const seconds = 60
const rateHz = 4
const frames = seconds * rateHz
const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false

let folder: string
let line: ChildProcess
let stage: Stage

before(async () => {
  if (skip) return
  folder = await mkdtemp(join(tmpdir(), 'crosswind-wind-'))
  const path = join(folder, 'windsonic')
  line = spawn('socat', ['-d', '-d', '-', `pty,raw,echo=0,link=${path}`], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await untilSays(line, 'starting data transfer')
  stage = await openStage({ sensor: { source: 'serial', path, baudRate: 9600, rateHz } })
})

after(async () => {
  if (skip) return
  await stage?.close()
  line?.kill()
  await rm(folder, { recursive: true, force: true })
})

async function untilSays(child: ChildProcess, words: string): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  await until(async () => said.includes(words), `socat did not say "${words}"`)
}

test(`${frames} of ${frames} readings in order, in each of five windows, in every mode, while one types`, {
  skip,
}, async () => {
  const groups: BrowserWindow[][] = []
  for (const mode of modes) groups.push(await stage.open(mode, 5, `wind-${mode.name.replace('/', '-')}`))
  const all = groups.flat()
  for (const window of all) assert.deepEqual((await window.run(readings)).seqs, [])

  const sent: string[] = []
  const sensor = sendFrames(sent)
  const typed = await typeMeanwhile(groups, () => sent.length < frames)
  await sensor.stop()

  const last = sent.at(-1)
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
    for (const window of group)
      await until(async () => (await window.run(textShown)) === typed, 'what was typed did not arrive')
  }
})

/** Plays a WindSonic into the line; notes each frame's text as it leaves. */
function sendFrames(sent: string[]) {
  const onBytes = (bytes: Uint8Array) => {
    if (sent.length === frames) return
    line.stdin?.write(bytes)
    sent.push(Buffer.from(bytes).toString('latin1').slice(1, -5))
  }
  const ignore = () => undefined
  const random = createSeededRandom(7)
  return openSimulator({
    rateHz,
    timers: processTimers,
    random,
    onOpen: ignore,
    onBytes,
    onClose: ignore,
  })
}

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

test('the sensor is taken away: the windows say so, and readings go on when it is back', {
  skip,
}, async () => {
  const [mode] = modes
  assert.ok(mode)
  const [reader] = await stage.open(mode, 1, 'unplugged')
  assert.ok(reader)
  const state = () => reader.run(() => window.crosswind?.view().wind.sensor?.state)
  const path = join(folder, 'windsonic')
  const exited = once(line, 'exit')
  line.kill()
  await exited
  await until(async () => (await state()) === 'unplugged', 'nobody said that the sensor is gone')
  line = spawn('socat', ['-d', '-d', '-', `pty,raw,echo=0,link=${path}`], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await untilSays(line, 'starting data transfer')
  await until(async () => (await state()) !== 'unplugged', 'the port was not opened again', 20_000)
  const before = (await reader.run(readings)).seqs.length
  const sensor = sendFrames([])
  await until(
    async () => (await reader.run(readings)).seqs.length > before,
    'no reading came after the return',
  )
  await sensor.stop()
})
