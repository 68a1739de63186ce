// Reports of made-up windows runs: gaps, falls, failures, hostile text, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { madeWindowsRun, type WindowsMaking } from './testing.ts'
import { analyse, type Run } from './windows-analysis.ts'
import { windowsFiles } from './windows-report.ts'

const filesOf = (run: Run) => windowsFiles(run, analyse(run))
const fileOf = (run: Run, name: string) => filesOf(run)[name] ?? ''
const pageOf = (run: Run) => new JSDOM(fileOf(run, 'report.html')).window.document
const markdown = (making?: WindowsMaking) => fileOf(madeWindowsRun(making), 'report.md')
const run = madeWindowsRun()

test('the finding stands on top, tables have captions and the figure a description', () => {
  const page = pageOf(run)
  assert.equal(page.querySelector('header .finding')?.textContent, analyse(run).finding)
  for (const table of page.querySelectorAll('table')) {
    assert.ok(table.querySelector('caption')?.textContent)
    assert.equal(new Set([...table.querySelectorAll('tr')].map((row) => row.children.length)).size, 1)
  }
  assert.ok(page.querySelector('figure [role=img]')?.getAttribute('aria-label'))
})

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
  assert.match(
    markdown(),
    /\| bare: SSE \+ XHR, HTTP\/1\.1 \| 32 \| 30 \| 960 \| 0 \| 960 \| 100 \| 0 \| 0 \|/,
  )
  assert.match(
    markdown({ subjects: ['sse/2', 'websocket/1.1'] }),
    /samples none was lost, none came twice and none came out of order/,
  )
})

test('the paper’s table stands beside, and what was not measured is not compared', () => {
  assert.match(markdown(), /\| SSE \+ XHR, HTTP\/1\.1 \| 198\.45 \| 2\.25 \|/)
  assert.ok(!markdown({ subjects: ['sse/2'], baseline: null }).includes('198.45'))
})

test('one session, several browsers, settings of share and no subject at all are reports too', () => {
  for (const making of [
    { sessions: 1 },
    { browsers: [1, 4], counts: [1, 4, 32] },
    { subjects: ['sse/1.1 share=none', 'sse/1.1 share=browser'], baseline: null, counts: [1] },
    { subjects: [] },
  ]) {
    const html = fileOf(madeWindowsRun(making), 'report.html')
    assert.ok(
      !/NaN|undefined|Infinity|null/.test(html.replace(/<style>.*?<\/style>/gs, '')),
      JSON.stringify(making),
    )
  }
})

test('hostile text stays text', () => {
  const evil = '"><img src=x onerror=alert(1)></svg><script>alert(2)</script>'
  const page = pageOf({ ...madeWindowsRun({ subjects: [evil, 'sse/2'], baseline: null }), command: evil })
  assert.equal(page.querySelectorAll('img, script, [onerror]').length, 0)
})

test('samples.csv has a row for each sample, windows.csv one for each window', () => {
  for (const file of ['samples.csv', 'windows.csv'])
    assert.ok(pageOf(run).querySelector(`a[href="${file}"]`), file)
  const samples = fileOf(run, 'samples.csv').trimEnd().split('\n')
  assert.equal(
    samples[0],
    'mode,session,windows,browsers,key,id,receiver,sent_at,received_at,transmission_ms,accepted_at,copies,reordered',
  )
  assert.equal(samples.length, 1 + run.cells.flatMap((cell) => cell.samples).length)
  const windows = fileOf(run, 'windows.csv').trimEnd().split('\n')
  assert.equal(windows[0], 'mode,session,windows,browsers,window,shown,open,mode_used,fall')
  assert.equal(windows.length, 1 + 3 * 5 * (1 + 2 + 6 + 8 + 32))
  assert.ok(windows.includes('sse/1.1,1,8,1,6,true,true,sse/2,full'))
})
