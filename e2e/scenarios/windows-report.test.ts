// Summaries and reports of made-up windows runs: limits, ratios, finding, failures, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenBounds } from '../lab/budget.ts'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { madeWindowsRun, type WindowsMaking } from './testing.ts'
import { windows } from './windows.ts'
import { analyse, type Run } from './windows-report.ts'

const pageOf = (run: Run) => parsed(fileOf(windows, run, 'report.html'))
const markdown = (making?: WindowsMaking) => fileOf(windows, madeWindowsRun(making))
const run = madeWindowsRun()
const page = pageOf(run)
const text = markdown()

test('if nothing arrived the table has no time; windows that used another mode are marked', () => {
  assert.match(text, /\| bare: SSE \+ XHR, HTTP\/1\.1 \| – \| [\d.]+ \| ✗ \| ✗ \| ✗ \|/)
  assert.match(text, /\| SSE \+ XHR, HTTP\/1\.1 \| – \| [\d.]+ \| [\d.]+ † \| [\d.]+ † \| [\d.]+ † \|/)
})

test('the figure has a cross for each failed number, and a gap in the line', () => {
  const drawn = page.querySelector('figure .wide svg')
  const count = (selector: string) => drawn?.querySelectorAll(`[aria-label=dot] ${selector}`).length
  // Five subjects with five numbers each, of which one window has no time; the bare page fails at
  // three, Crosswind's windows fall back at three.
  assert.deepEqual([count('circle'), count('circle[fill="var(--paper)"]'), count('path')], [17, 3, 3])
  const ends = [...(drawn?.querySelectorAll('[aria-label=line] path') ?? [])].map(
    (path) => path.getAttribute('d')?.split(/[ML]/).length,
  )
  assert.deepEqual(ends.sort(), [2, 5, 5, 5, 5])
})

test('says which mode the others used and why, and that this is no failure', () => {
  assert.match(text, /\| 32 \| 32 \| 32 \| 5 \| 27 in SSE \+ XHR, HTTP\/2: connections taken \|/)
  assert.match(text, /lets 5 windows of a browser hold one in SSE \+ XHR over HTTP\/1\.1 .* not a failure/)
  assert.ok(!markdown({ subjects: ['sse/2', 'websocket/1.1'] }).includes('not a failure'))
})

test('losses are in a table, and their absence is stated', () => {
  assert.match(text, /\| bare: SSE \+ XHR, HTTP\/1\.1 \| 32 \| 960 \| 960 \| 100 \| 0 \| 0 \|/)
  assert.match(
    markdown({ subjects: ['sse/2', 'websocket/1.1'] }),
    /samples none was lost, none arrived twice and none arrived out of order/,
  )
})

test('the paper’s table is beside the results, and what was not measured is not compared', () => {
  assert.match(text, /\| SSE \+ XHR, HTTP\/1\.1 \| 198\.45 \| 2\.25 \|/)
  assert.ok(!markdown({ subjects: ['sse/2'], baseline: null }).includes('198.45'))
})

test('samples.csv.gz has a row per sample, windows.csv one per window', () => {
  for (const file of ['samples.csv.gz', 'windows.csv'])
    assert.ok(page.querySelector(`a[href="${file}"]`), file)
  const samples = fileOf(windows, run, 'samples.csv.gz').trimEnd().split('\n')
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
  ['--browsers 4 --counts 2', /each of --browsers needs at least one window/],
  ['--share all', /--share is "all": there are auto, browser, none\./],
  ['--peers ws', /--peers is "ws": there are bare, none\./],
  ['--modes sse/3', /--modes names "sse\/3"/],
])

const summary = analyse(madeWindowsRun())

const modeOf = (name: string, { modes } = summary) => modes.find(({ mode }) => mode === name)
const cellOf = (name: string, { cells } = summary) => cells.find(({ mode }) => mode === name)

test('a mode carries the windows up to the first number at which something is missing', () => {
  const ends = summary.modes.map(({ mode, carries, failsAt }) => [mode, carries, failsAt])
  assert.deepEqual(ends, [
    ['sse/2', 32, 0],
    ['sse/1.1', 32, 0],
    ['websocket/1.1', 32, 0],
    ['bare:sse/2', 32, 0],
    ['bare:sse/1.1', 2, 6],
  ])
})

test('a key is lost at each requested window, whether it opened or not', () => {
  const cell = cellOf('bare:sse/1.1, 32 windows, 1 browser')
  assert.deepEqual(
    [cell?.opened, cell?.shown, cell?.keys, cell?.expected, cell?.received, cell?.lost, cell?.p50Ms],
    [6, 6, 30, 960, 0, 960, null],
  )
})

test("windows beyond a mode's limit are counted under the mode they used, and no key is lost", () => {
  const cell = cellOf('sse/1.1, 8 windows, 1 browser')
  assert.deepEqual(cell?.falls, [{ mode: 'sse/2', why: 'full', windows: 3 }])
  assert.deepEqual([cell?.inMode, cell?.opened, cell?.lost], [5, 8, 0])
  assert.deepEqual(cellOf('sse/1.1, 2 windows, 1 browser')?.falls, [])
})

test('the limit is per browser: in four, four times as many windows fit', () => {
  const four = analyse(madeWindowsRun({ counts: [4, 16, 32], browsers: [1, 4] }))
  assert.equal(modeOf('bare:sse/1.1, 1 browser', four)?.failsAt, 16)
  assert.deepEqual(
    [modeOf('bare:sse/1.1, 4 browsers', four)?.carries, modeOf('bare:sse/1.1, 4 browsers', four)?.failsAt],
    [16, 32],
  )
  assert.deepEqual(cellOf('sse/1.1, 16 windows, 4 browsers', four)?.falls, [])
})

test('the ratio to WebSocket is in its interval; one session gives none', () => {
  const medianOf = (subject: string) => (subject === 'sse/1.1' ? 9 : 4)
  const cell = cellOf(
    'sse/1.1, 2 windows, 1 browser',
    analyse(madeWindowsRun({ medianOf, sessions: 5, keys: 40 })),
  )
  const [low, high] = cell?.ratioCi95 ?? [0, 0]
  assert.ok(low < 2.25 && 2.25 < high && high - low < 0.6, `${low} to ${high}`)
  const single = cellOf('sse/1.1, 2 windows, 1 browser', analyse(madeWindowsRun({ sessions: 1 })))
  assert.deepEqual([single?.ratioCi95, (single?.ratio ?? 0) > 1], [null, true])
})

test('what arrived at a failed number is compared with nothing', () => {
  const run = madeWindowsRun({ counts: [2] })
  const first = (run: Run): Run => ({
    ...run,
    cells: run.cells.map((cell) =>
      cell.subject === 'sse/2' && cell.session === 1 ? { ...cell, samples: cell.samples.slice(1) } : cell,
    ),
  })
  const place = 'sse/2, 2 windows, 1 browser'
  const [whole, broken] = [run, first(run)].map((one) => cellOf(place, analyse(one)))
  assert.equal(broken?.lost, 1)
  assert.notDeepEqual(broken?.ratioCi95, whole?.ratioCi95)
  assert.equal(modeOf('sse/2', analyse(first(run)))?.failsAt, 2)
})

test('the finding says how far each goes, and what that means for the paper', () => {
  assert.match(
    summary.finding,
    /^On a bare page SSE \+ XHR over HTTP\/1\.1 carried 2 windows of one browser and failed at 6: of 32, 6 opened and no key arrived; /,
  )
  assert.match(
    summary.finding,
    /SSE \+ XHR over HTTP\/2 delivered every key to all 32 windows in 7\.\d+ ms on average, 1\.\d+ times WebSocket’s/,
  )
  assert.match(
    summary.finding,
    /The 2021 paper had at most 2 windows on a computer, .* 2\.25 times WebSocket there, and with 2 windows it took [\d.]+ times here \([\d.]+ to [\d.]+\), with an editor that sends changes where the paper’s sends its whole content\.$/,
  )
})

test('without the bare page it says where Crosswind’s own windows used another mode', () => {
  const own = analyse(madeWindowsRun({ subjects: ['sse/1.1'], baseline: null }))
  assert.equal(
    own.finding,
    'SSE + XHR over HTTP/1.1 held 5 of 6 windows in that mode; the others used another.',
  )
  assert.equal(analyse(madeWindowsRun({ subjects: [] })).finding, 'Nothing was measured.')
})

test('a mode over HTTP/2 that loses keys is not said to deliver', () => {
  const run = madeWindowsRun({ subjects: ['sse/2'], baseline: null, counts: [1, 2] })
  const cells = run.cells.map((cell) =>
    cell.windows === 2 ? { ...cell, samples: cell.samples.slice(4) } : cell,
  )
  assert.equal(
    analyse({ ...run, cells }).finding,
    'SSE + XHR over HTTP/2 failed at 2 windows: 2 of 2 opened, 12 of 60 samples were lost.',
  )
})

test('a window that never opened has no time', () => {
  const run = madeWindowsRun({ subjects: ['sse/2'], baseline: null, counts: [1], sessions: 1 })
  const states = [{ isShown: false, isOpen: false, mode: null, fall: null }]
  const none = analyse({ ...run, cells: run.cells.map((cell) => ({ ...cell, states, samples: [] })) })
  const cell = cellOf('sse/2, 1 window, 1 browser', none)
  assert.deepEqual([cell?.opened, cell?.lost, cell?.p50Ms, cell?.sessionP50sMs], [0, 10, null, [null]])
})

test('budgets bound modes and single numbers of windows', () => {
  const budget = (figures: object) => ({
    least: Number.NEGATIVE_INFINITY,
    most: Number.POSITIVE_INFINITY,
    ...figures,
  })
  const broken = brokenBounds(
    {
      modes: { 'sse/2': { lost: budget({ most: 0 }), carries: budget({ least: 32 }) } },
      cells: { 'bare:sse/1.1, 6 windows, 1 browser': { lost: budget({ most: 0 }) } },
    },
    summary,
  )
  assert.deepEqual(broken, ['bare:sse/1.1, 6 windows, 1 browser: lost is 180, at most 0 allowed'])
})
