// The whole scenario with a few windows, two modes, a peer, a file and two workers; its reports.

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSeededRandom } from '../../client/wire.ts'
import { filesOf as filesOfRun, optionsOf, runSmall } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { readCompressed } from '../report/render.ts'
import { capacity, turnsOf } from './capacity.ts'
import { rampsOf } from './capacity-ramps.ts'
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
  for (const {
    mode,
    planned,
    opened,
    failed,
    dropped,
    due,
    missing,
    repeated,
    serverCpuMs,
  } of summary.ramps) {
    assert.deepEqual(
      { opened, failed, dropped, missing, repeated },
      { opened: planned, failed: 0, dropped: 0, missing: 0, repeated: 0 },
      mode,
    )
    assert.ok(due > 0 || mode.startsWith('most: SSE'), mode)
    assert.ok((serverCpuMs.median ?? 0) > 0, mode)
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
    'ramps.csv',
    'report.html',
    'report.md',
    'seconds.csv.gz',
    'summary.json',
  ])
})

const filesOf = (making: CapacityMaking = {}) => filesOfRun(capacity, madeCapacityRun(making))

const cpuMs: CapacityMaking['cpuMs'] = ({ workers }) =>
  workers === 1
    ? { server: 1000 }
    : {
        log: 100,
        ...Object.fromEntries(
          Array.from({ length: workers }, (_, place) => [`worker ${place + 1}`, 1000 / workers]),
        ),
      }

const files = filesOf({ cpuMs, flags: ['--sessions', '1'] })

test('every experiment has lines over time: one per process and one for the windows', () => {
  const page = parsed(files['report.html'] ?? '')
  const titles = [...page.querySelectorAll('section h2')].map(({ textContent }) => textContent)
  for (const title of [
    'Server CPU against the peers',
    'Speed-up with workers',
    'The greatest number',
    'Beside the thesis',
  ])
    assert.ok(titles.includes(title), title)
  const linesIn = (id: string) =>
    page.querySelectorAll(`#${id} figure:first-of-type .wide [aria-label=line] path`).length
  // One server, then one load process and two; plus the windows in each.
  assert.equal(linesIn('clients-on-one-and-two-cores'), 3 + 4)
  // The first process and two workers, two load processes, windows; twice.
  assert.equal(linesIn('the-greatest-number'), 2 * 6)
})

test('the finding comes first, and the thesis is beside the results', () => {
  const text = files['report.md'] ?? ''
  assert.match(text, /25,000 opened, none failed or was dropped, all 100,000 pings were answered/)
  assert.match(
    text,
    /Number of windows\. The thesis: 2,400 connections to 3,600: more CPU .*?\. Here: 1\.00 times the server CPU\./,
  )
  assert.match(text, /\| WebSocket, 2 \| 2\.00 \| 1\.00 \| 2 \|/)
})

test('has a row for each ramp, each second of it, and each process in each second', () => {
  const short = filesOf({
    flags: ['--experiments', 'comparison', '--modes', 'websocket/1.1', '--peers', 'ws', '--sessions', '2'],
  })
  const rowsOf = (name: string) => (short[name] ?? '').trimEnd().split('\n')
  assert.equal(rowsOf('ramps.csv').length, 1 + 4)
  assert.equal(rowsOf('seconds.csv.gz').length, 1 + 4 * 28)
  assert.equal(rowsOf('processes.csv.gz').length, 1 + 4 * 3 * 29)
  assert.equal(
    rowsOf('processes.csv.gz')[0],
    'experiment,subject,variant,session,turn,process,at_ms,cpu_ms,rss_bytes',
  )
  assert.equal(
    rowsOf('processes.csv.gz')[29],
    'comparison,websocket/1.1,WebSocket,1,1,server,28000.000,1000,132000000',
  )
})
