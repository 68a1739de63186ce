// Reports of made-up payload runs: tables, figure, losses, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { analyse, type Run } from './payload-analysis.ts'
import { payloadFiles } from './payload-report.ts'
import { madePayloadRun } from './testing.ts'

const fileOf = (run: Run, name: string) => payloadFiles(run, analyse(run))[name] ?? ''
const run = madePayloadRun()

test('the finding stands on top, and the figure has a line for each mode and a mark for each size', () => {
  const page = new JSDOM(fileOf(run, 'report.html')).window.document
  assert.equal(page.querySelector('header .finding')?.textContent, analyse(run).finding)
  const drawn = page.querySelector('figure .wide svg')
  assert.equal(drawn?.querySelectorAll('[aria-label=line] path').length, 2)
  assert.equal(drawn?.querySelectorAll('[aria-label=dot] circle').length, 8)
  assert.match(drawn?.textContent ?? '', /10 B1 kB100 kB1 MB/)
})

test('tables have a column for each size', () => {
  const text = fileOf(run, 'report.md')
  assert.match(text, /\| Mode \| 10 B \| 1 kB \| 100 kB \| 1 MB \|/)
  assert.match(
    text,
    /Median, times that of WebSocket[\s\S]*\| SSE \+ XHR, HTTP\/2 \| [\d.]+ \([\d.]+ to [\d.]+\) \|/,
  )
  assert.match(text, /Of 1,440 samples none was lost, none came twice and none came out of order/)
})

test('losses are tabled; one mode, one session and nothing at all are reports too', () => {
  assert.match(
    fileOf(madePayloadRun({ lost: 0.2 }), 'report.md'),
    /\| SSE \+ XHR, HTTP\/2 \| 10 B \| 180 \| \d+ \| 0 \| 0 \|/,
  )
  for (const making of [{ lost: 1 }, { sessions: 1 }, { modes: ['sse/2'], sizes: [10] }]) {
    const html = fileOf(madePayloadRun(making), 'report.html')
    assert.ok(
      !/NaN|undefined|Infinity|null/.test(html.replace(/<style>.*?<\/style>/gs, '')),
      JSON.stringify(making),
    )
  }
})

test('samples.csv has the size of each message', () => {
  assert.match(fileOf(run, 'report.html'), /href="samples\.csv"/)
  const [header, row, ...more] = fileOf(run, 'samples.csv').trimEnd().split('\n')
  assert.equal(
    header,
    'mode,session,bytes,message,id,receiver,sent_at,received_at,transmission_ms,accepted_at,sent_bytes,received_bytes,copies,reordered',
  )
  assert.match(row ?? '', /^sse\/2,1,10,1,/)
  assert.equal(more.length, run.samples.length - 1)
})
