// The WindComm scenario with a real browser: a few windows and readings, counted and not timed.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import { runSmall } from '../lab/testing.ts'
import { windcomm } from './windcomm.ts'

test('windows of a running server receive its own readings, at its own pace', {
  timeout: 120_000,
}, async (t) => {
  const folder = await makeServerFolder('windcomm-test')
  t.after(folder.remove)
  const pace = { 'polling-interval-ms': 20, 'polling-hold-ms': 100, 'sensor-rate-hz': 10 }
  const flags = folder.flags({
    host: 'localhost',
    port: 0,
    'http1-port': 0,
    'sensor-source': 'simulated',
    ...pace,
  })
  const server = await startServerProcess(programs.server, flags)
  t.after(server.close)
  const size = '--modes websocket/1.1,polling/1.1,sse/2 --readings 12'
  const { summary, out } = await runSmall(t, windcomm, `--server ${server.origin['2']} ${size}`)
  const { sites, cells, clock, intervalMs, holdMs, rateHz } = summary
  assert.deepEqual(sites, [{ name: 'here', profile: null, windows: 'browser', machine: 'this machine' }])
  for (const { mode, n, lost, duplicated, reordered } of cells)
    assert.deepEqual([n, lost + duplicated + reordered], [12, 0], mode)
  assert.equal(cells.length, 3)
  assert.deepEqual([intervalMs, holdMs], [20, 100])
  assert.ok(Number.isFinite(rateHz), String(rateHz))
  assert.deepEqual(
    clock.after.map(({ name }) => name),
    ['here, websocket/1.1', 'here, polling/1.1', 'here, sse/2'],
  )
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /The server: https:\/\/localhost:\d+\./)
})

test('a server without a sensor is refused', { timeout: 60_000 }, async (t) => {
  const folder = await makeServerFolder('windcomm-test')
  t.after(folder.remove)
  const flags = folder.flags({ host: 'localhost', port: 0, 'http1-port': 0, 'sensor-source': 'none' })
  const server = await startServerProcess(programs.server, flags)
  t.after(server.close)
  await assert.rejects(
    runSmall(t, windcomm, `--server ${server.origin['2']} --readings 2`),
    /The server at https:\S+ has no sensor: start it with another --sensor-source/,
  )
})

test('pages behind their own links receive every reading, and their clocks are known', {
  timeout: 120_000,
}, async (t) => {
  const size = '--sites lund --modes websocket/1.1,polling/1.1 --readings 12 --seed 3 --faster 5'
  // Any: a busy machine cannot compare them closely.
  const flags = `${size} --clock-error 1e9`
  const { summary, out } = await runSmall(t, windcomm, flags)
  assert.deepEqual(
    summary.cells.map(({ mode, windows, n, lost, duplicated, reordered }) => [
      mode,
      windows,
      n,
      lost + duplicated + reordered,
    ]),
    [
      ['websocket/1.1', 'browser', 12, 0],
      ['polling/1.1', 'browser', 12, 0],
    ],
  )
  assert.deepEqual(
    summary.clock.after.map(({ name }) => name),
    ['clients', 'lund, websocket/1.1', 'lund, polling/1.1'],
  )
  assert.match(summary.environment.browser, /chrom/i)
  assert.match(await readFile(join(out, 'report.html'), 'utf8'), /windows of a real browser/)
})
