// Reports of made-up windows runs: gaps, falls, failures, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { madeWindowsRun, type WindowsMaking } from './testing.ts'
import { windows } from './windows.ts'
import type { Run } from './windows-summary.ts'

const pageOf = (run: Run) => new JSDOM(fileOf(windows, run, 'report.html')).window.document
const markdown = (making?: WindowsMaking) => fileOf(windows, madeWindowsRun(making))
const run = madeWindowsRun()

test('where nothing arrived the table has no time; where windows used another mode it is marked', () => {
  const text = markdown()
  assert.match(text, /\| bare: SSE \+ XHR, HTTP\/1\.1 \| [\d.]+ \| [\d.]+ \| ✗ \| ✗ \| ✗ \|/)
  assert.match(text, /\| SSE \+ XHR, HTTP\/1\.1 \| [\d.]+ \| [\d.]+ \| [\d.]+ † \| [\d.]+ † \| [\d.]+ † \|/)
})

test('the figure has a cross for each number that failed, and a gap in the line', () => {
  const drawn = pageOf(run).querySelector('figure .wide svg')
  const count = (selector: string) => drawn?.querySelectorAll(`[aria-label=dot] ${selector}`).length
  // Five subjects with five numbers each; the bare page fails at three, Crosswind's windows fall back at three.
  assert.deepEqual([count('circle'), count('circle[fill="var(--paper)"]'), count('path')], [22, 3, 3])
  const ends = [...(drawn?.querySelectorAll('[aria-label=line] path') ?? [])].map(
    (path) => path.getAttribute('d')?.split(/[ML]/).length,
  )
  assert.deepEqual(ends.sort(), [3, 6, 6, 6, 6])
})

test('it says in which mode the others were, and why, and that this is no failure', () => {
  const text = markdown()
  assert.match(text, /\| 32 \| 32 \| 32 \| 5 \| 27 in SSE \+ XHR, HTTP\/2: connections taken \|/)
  assert.match(text, /lets 5 windows of a browser hold one in SSE \+ XHR over HTTP\/1\.1 .* not a failure/)
  assert.ok(!markdown({ subjects: ['sse/2', 'websocket/1.1'] }).includes('not a failure'))
})

test('losses are tabled, and their absence is said', () => {
  assert.match(markdown(), /\| bare: SSE \+ XHR, HTTP\/1\.1 \| 32 \| 960 \| 960 \| 100 \| 0 \| 0 \|/)
  assert.match(
    markdown({ subjects: ['sse/2', 'websocket/1.1'] }),
    /samples none was lost, none came twice and none came out of order/,
  )
})

test('the paper’s table stands beside, and what was not measured is not compared', () => {
  assert.match(markdown(), /\| SSE \+ XHR, HTTP\/1\.1 \| 198\.45 \| 2\.25 \|/)
  assert.ok(!markdown({ subjects: ['sse/2'], baseline: null }).includes('198.45'))
})

test('samples.csv has a row for each sample, windows.csv one for each window', () => {
  for (const file of ['samples.csv', 'windows.csv'])
    assert.ok(pageOf(run).querySelector(`a[href="${file}"]`), file)
  const samples = fileOf(windows, run, 'samples.csv').trimEnd().split('\n')
  assert.equal(
    samples[0],
    'mode,session,windows,browsers,key,id,receiver,sent_at,received_at,transmission_ms,accepted_at,copies,reordered',
  )
  assert.equal(samples.length, 1 + run.cells.flatMap((cell) => cell.samples).length)
  const opened = fileOf(windows, run, 'windows.csv').trimEnd().split('\n')
  assert.equal(opened[0], 'mode,session,windows,browsers,window,shown,open,mode_used,fall')
  assert.equal(opened.length, 1 + 3 * 5 * (1 + 2 + 6 + 8 + 32))
  assert.ok(opened.includes('sse/1.1,1,8,1,6,true,true,sse/2,full'))
})

testRefusals(windows, [
  ['--counts 1,many', /--counts is "1,many": must be whole numbers from 1 to 200\./],
  ['--counts ,', /--counts is ",": must be whole numbers/],
  ['--browsers 4 --counts 2', /each of --browsers needs a window at least/],
  ['--share all', /--share is "all": there are auto, browser, none\./],
  ['--peers ws', /--peers is "ws": there are bare, none\./],
  ['--modes sse/3', /--modes names "sse\/3"/],
])
