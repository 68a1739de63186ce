// Reports of made-up capacity runs: figures, tables, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { filesOf as filesOfRun } from '../lab/testing.ts'
import { capacity } from './capacity.ts'
import { type CapacityMaking, madeCapacityRun } from './testing.ts'

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

test('every experiment has lines over time: one for each process and one for the windows', () => {
  const page = new JSDOM(files['report.html'] ?? '').window.document
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
  // One server, then one load process and two; windows in each.
  assert.equal(linesIn('clients-on-one-and-two-cores'), 3 + 4)
  // The first process and two workers, two load processes, windows; twice.
  assert.equal(linesIn('the-greatest-number'), 2 * 6)
})

test('the finding stands on top, and the thesis beside what was found', () => {
  const text = files['report.md'] ?? ''
  assert.match(text, /25,000 opened, none failed or was dropped, all 100,000 pings were answered/)
  assert.match(
    text,
    /Number of windows\. The thesis: 2,400 connections to 3,600: more CPU .*?\. Here: 1\.00 times the server CPU\./,
  )
  assert.match(text, /\| WebSocket, 2 \| 2\.00 \| 1\.00 \| 2 \|/)
})

test('a row for each ramp, each second of it, and each process in each second', () => {
  const short = filesOf({
    flags: ['--experiments', 'comparison', '--modes', 'websocket/1.1', '--peers', 'ws', '--sessions', '2'],
  })
  const rowsOf = (name: string) => (short[name] ?? '').trimEnd().split('\n')
  assert.equal(rowsOf('ramps.csv').length, 1 + 4)
  assert.equal(rowsOf('seconds.csv').length, 1 + 4 * 28)
  assert.equal(rowsOf('processes.csv').length, 1 + 4 * 3 * 29)
  assert.equal(
    rowsOf('processes.csv')[0],
    'experiment,subject,variant,session,turn,process,at_ms,cpu_ms,rss_bytes',
  )
  assert.equal(
    rowsOf('processes.csv')[29],
    'comparison,websocket/1.1,WebSocket,1,1,server,28000.000,1000,132000000',
  )
})
