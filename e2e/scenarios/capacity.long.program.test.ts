// The whole scenario with a few windows, two modes, a peer, a file and two workers; its reports.

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSeededRandom } from '../../client/wire.ts'
import { filesOf, optionsOf, runSmall } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { readCompressed } from '../report/render.ts'
import { capacity, turnsOf } from './capacity.ts'
import { rampsOf } from './capacity-ramps.ts'
import { medianOf } from './capacity-study.ts'
import { type CapacityMaking, madeCapacityRun } from './testing.ts'

const skip = process.platform === 'linux' ? false : 'needs /proc'

test('ramps that ratios and speed-ups use run in every session, the others at most twice, and `most` once', () => {
  const setups = rampsOf(optionsOf(capacity, '--peers', 'ws', '--workers', '1,2'))
  const turns = turnsOf(setups, 5, createSeededRandom(1))
  const timesOf = (experiment: string) =>
    turns.map((ramps) => ramps.filter((ramp) => ramp.experiment === experiment).length)
  assert.deepEqual(timesOf('comparison'), [4, 4, 4, 4, 4])
  assert.deepEqual(timesOf('workers'), [4, 4, 4, 4, 4])
  assert.deepEqual(timesOf('period'), [2, 2, 0, 0, 0])
  assert.deepEqual(timesOf('most'), [2, 0, 0, 0, 0])
})

test('every window opens, every ping is answered, and every process is recorded', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const flags =
    '--experiments comparison,size,most --peers engine.io --rate 8 --seconds 2 --hold 1 --period 0.5 --sessions 1'
  const few = '--file 1000 --per-browser 4 --connections 6 --windows 20 --most-rate 5 --most-hold 7 --seed 4'
  const { summary, isFailure, out } = await runSmall(t, capacity, `${flags} ${few}`)
  assert.equal(isFailure, false)
  assert.deepEqual(
    summary.ramps.map(({ mode }) => mode),
    [
      'comparison: WebSocket',
      'comparison: SSE + XHR, HTTP/2, 4 to a session',
      'comparison: Engine.IO',
      'size: WebSocket, 1 kB',
      'size: Engine.IO, 1 kB',
      'most: WebSocket, 6 windows',
      'most: SSE + XHR, HTTP/2, 20 windows',
    ],
  )
  for (const { mode, planned, opened, failed, dropped, due, missing, repeated } of summary.ramps) {
    assert.deepEqual(
      { opened, failed, dropped, missing, repeated },
      { opened: planned, failed: 0, dropped: 0, missing: 0, repeated: 0 },
      mode,
    )
    assert.ok(due > 0 || mode.startsWith('most: SSE'), mode)
    assert.ok((medianOf(summary, mode, 'serverCpuMs') ?? 0) > 0, mode)
  }
  assert.deepEqual(summary, JSON.parse(await readFile(join(out, 'summary.json'), 'utf8')))
  const csv = await readCompressed(join(out, 'processes.csv.gz'))
  const named = new Set(
    csv.split('\n').flatMap((line) => /,(server|log|worker \d|clients \d),/.exec(line)?.[1] ?? []),
  )
  assert.deepEqual([...named].sort(), ['clients 1', 'clients 2', 'log', 'server', 'worker 1', 'worker 2'])
  assert.deepEqual((await readdir(out)).sort(), [
    'figures',
    'processes.csv.gz',
    'report.html',
    'report.md',
    'samples.csv.gz',
    'seconds.csv.gz',
    'summary.json',
  ])
})

test('each experiment has lines over time: one per process and one for the windows', () => {
  const cpuMs: CapacityMaking['cpuMs'] = ({ workers }) =>
    workers === 1 ? { server: 1000 } : { log: 100, 'worker 1': 500, 'worker 2': 500 }
  const files = filesOf(capacity, madeCapacityRun({ cpuMs, flags: ['--sessions', '1'] }))
  const page = parsed(files['report.html'] ?? '')
  const figures = [...page.querySelectorAll('[id^=second-by-second] figure')]
  // Each experiment, and the memory of two of them.
  assert.equal(figures.length, 8 + 2)
  const linesIn = (words: RegExp) =>
    figures
      .find(({ textContent }) => words.test(textContent ?? ''))
      ?.querySelectorAll('.wide [aria-label=line] path').length
  // One server, then one load process and two; plus the windows in each.
  assert.equal(linesIn(/Clients on one and two cores: processor/), 3 + 4)
  // The first process and two workers, two load processes, windows; twice.
  assert.equal(linesIn(/The greatest number: processor/), 2 * 6)
  assert.match(
    files['report.md'] ?? '',
    /Number of windows\. The thesis: 2,400 connections to 3,600: more CPU .*?\. Here: 1\.00 times the server CPU\./,
  )
  assert.match(
    files['processes.csv.gz'] ?? '',
    /\ncomparison: WebSocket,1,server,28000\.000,1000,132000000\n/,
  )
})
