// Made-up payload runs: sizes, throughput, ratios, loss and finding; the parts of the report.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenBounds } from '../lab/budget.ts'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { payload } from './payload.ts'
import { madePayloadRun } from './testing.ts'

const { analyse } = payload

const summary = analyse(madePayloadRun())
const at = (name: string, { sizes } = summary) => sizes.find(({ mode }) => mode === name)

const isNear = (value: number | null | undefined, wanted: number) =>
  assert.ok(Math.abs((value ?? Number.NaN) / wanted - 1) < 0.1, `${value}, not ${wanted}`)

test('each size in each mode has its times, and the throughput is the size over them', () => {
  isNear(at('sse/2, 10 B')?.p50Ms, 4)
  isNear(at('websocket/1.1, 1 MB')?.p50Ms, 52)
  isNear(at('websocket/1.1, 1 MB')?.kilobytesPerSecond, 1_000_000 / 52)
  assert.deepEqual([at('sse/2, 1 kB')?.n, at('sse/2, 1 kB')?.expected], [120, 120])
  assert.equal(summary.echoes.find(({ mode }) => mode === 'sse/2, 1 kB')?.n, 60)
})

test('the ratio is to the baseline at the same size, with an interval over sessions', () => {
  const { ratio, ratioCi95 } = at('sse/2, 10 B') ?? {}
  isNear(ratio, 2)
  assert.ok(ratioCi95 && ratioCi95[0] < 2 && 2 < ratioCi95[1])
  assert.equal(at('websocket/1.1, 10 B')?.ratio, null)
  assert.equal(at('sse/2, 10 B', analyse(madePayloadRun({ sessions: 1 })))?.ratioCi95, null)
})

test('the finding says up to which size the size hardly matters, what the largest takes, and where the modes are alike', () => {
  assert.match(
    summary.finding,
    /^Up to 1 kB the size hardly matters: at most 1\.25 times the time of 10 B in every mode; in the median 1 MB takes 5\d\.\d+ ms by WebSocket, 5\d\.\d+ ms by SSE \+ XHR over HTTP\/2\. Within 1\.25 times the fastest, the modes are alike at 100 kB, 1 MB\.$/,
  )
  const apart = analyse(
    madePayloadRun({ medianOf: (mode, bytes) => (mode.startsWith('sse') ? 2 : 1) * bytes }),
  )
  assert.match(
    apart.finding,
    /^The size matters from 1 kB on in some mode; .* At no size are the modes within 1\.25/,
  )
})

test('lost probes are counted and reported, and have no time', () => {
  const { modes, finding } = analyse(madePayloadRun({ lost: 1 }))
  assert.equal(finding, 'No transmission time was measured.')
  assert.deepEqual([modes[0]?.lost, modes[0]?.expected, modes[0]?.largestP50Ms], [480, 480, null])
  assert.match(analyse(madePayloadRun({ lost: 0.1 })).finding, /\d+ samples were lost\.$/)
})

test('budgets bound modes and sizes', () => {
  const most = (most: number) => ({ least: Number.NEGATIVE_INFINITY, most })
  const budget = { modes: { '*': { lost: most(0) } }, sizes: { 'sse/2, 1 MB': { p50Ms: most(10) } } }
  assert.match(brokenBounds(budget, summary).join(), /^sse\/2, 1 MB: p50Ms is 5\d\.\d+, at most 10 allowed$/)
})

const run = madePayloadRun()

test('the figure has a line per mode and a mark per size', () => {
  const page = parsed(fileOf(payload, run, 'report.html'))
  const drawn = page.querySelector('figure .wide svg')
  assert.equal(drawn?.querySelectorAll('[aria-label=line] path').length, 2)
  assert.equal(drawn?.querySelectorAll('[aria-label=dot] circle').length, 8)
  assert.match(drawn?.textContent ?? '', /10 B1 kB100 kB1 MB/)
})

test('tables have a column per size', () => {
  const text = fileOf(payload, run)
  assert.match(text, /\| Mode \| 10 B \| 1 kB \| 100 kB \| 1 MB \|/)
  assert.match(
    text,
    /Median, relative to WebSocket[\s\S]*\| SSE \+ XHR, HTTP\/2 \| [\d.]+ \([\d.]+ to [\d.]+\) \|/,
  )
  assert.match(text, /Of 1,440 samples none was lost, none arrived twice and none arrived out of order/)
})

test('losses are in a table', () => {
  assert.match(
    fileOf(payload, madePayloadRun({ lost: 0.2 })),
    /\| SSE \+ XHR, HTTP\/2 \| 10 B \| 180 \| \d+ \| [\d.]+ \| 0 \| 0 \|/,
  )
})

test('samples.csv.gz has the size of each message', () => {
  assert.match(fileOf(payload, run, 'report.html'), /href="samples\.csv\.gz"/)
  const [header, row, ...more] = fileOf(payload, run, 'samples.csv.gz').trimEnd().split('\n')
  assert.equal(
    header,
    'mode,session,bytes,message,id,receiver,sent_at,received_at,transmission_ms,accepted_at,sent_bytes,received_bytes,copies,reordered',
  )
  assert.match(row ?? '', /^sse\/2,1,10,1,/)
  assert.equal(more.length, run.samples.length - 1)
})

testRefusals(payload, [
  ['--sizes 3000000', /--sizes is "3000000": must be whole numbers from 1 to 2000000\./],
  ['--windows 6', /--windows is 6: sse\/1\.1 supports 5 windows per browser/],
  ['--modes ,', /--modes names no mode/],
])
