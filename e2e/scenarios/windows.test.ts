// Made-up windows runs: what the scenario declares, as its summary, report and samples show it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenBounds } from '../lab/budget.ts'
import { fileOf, testRefusals } from '../lab/testing.ts'
import { madeWindowsRun } from './testing.ts'
import { windows } from './windows.ts'

const run = madeWindowsRun()
const summary = windows.analyse(run)
const report = fileOf(windows, run)
const figuresOf = (name: string) => summary.figures.find(({ mode }) => mode === name)
const openingOf = (name: string) => summary.openings.find(({ mode }) => mode === name)

test('the finding says how far a mode goes, what it takes, and how many windows used another mode', () => {
  assert.match(
    summary.finding,
    /^SSE \+ XHR over HTTP\/1\.1 on a bare page lost nothing up to 2 windows and lost all 1,380 samples from 6 windows on\. SSE \+ XHR over HTTP\/2 took 1\.\d+ times as long as WebSocket with 2 windows \(95 % .*\) and 1\.\d+ times with 32 windows .*\.$/,
  )
  assert.deepEqual(summary.remarks.slice(0, 1), [
    'Of 6 windows of SSE + XHR over HTTP/1.1, 1 used SSE + XHR over HTTP/2; of 32 windows, 27 used SSE + XHR over HTTP/2.',
  ])
})

test('a key is lost at each requested window, whether it opened or not; one window alone has no time', () => {
  const stuck = figuresOf('bare:sse/1.1, 32 windows, 1 browser')
  assert.deepEqual([stuck?.n, stuck?.expected, stuck?.lost, stuck?.mean], [0, 930, 930, null])
  const alone = figuresOf('sse/2, 1 window, 1 browser')
  assert.deepEqual([alone?.expected, alone?.mean], [0, null])
  assert.match(report, /\| bare: SSE \+ XHR, HTTP\/1\.1 \| – \| [\d.]+ \| ✗ \| ✗ \| ✗ \|/)
})

test('peers are compared with nothing', () => {
  const compared = new Set(summary.comparisons.map(({ at, baseline }) => `${at.mode} ${baseline}`))
  assert.deepEqual([...compared], ['sse/2 websocket/1.1', 'sse/1.1 websocket/1.1'])
})

test('a number of windows at which one key was lost has no time, and that session no ratio', () => {
  const isLost = (row: (typeof run.samples)[number]) =>
    row.mode === 'sse/2' && row.windows === 2 && row.session === 1 && row.key === 1 && row.receiver === 2
  const samples = run.samples.map((row) => (isLost(row) ? { ...row, transmissionMs: null } : row))
  const lossy = { ...run, samples }
  const one = windows.analyse(lossy).comparisons.find(({ mode }) => mode === 'sse/2, 2 windows, 1 browser')
  assert.deepEqual(
    one?.sessions.map(({ session }) => session),
    [2, 3],
  )
  assert.match(fileOf(windows, lossy), /\| SSE \+ XHR, HTTP\/2 \| – \| ✗ \| [\d.]+ \|/)
})

test('windows that did not open, or in another mode, are listed with the reason, and no others', () => {
  const { falls, inMode, opened, shown } = openingOf('sse/1.1, 8 windows, 1 browser') ?? {}
  assert.deepEqual([inMode, opened, shown, falls], [5, 8, 8, [{ mode: 'sse/2', why: 'full', windows: 3 }]])
  const bare = openingOf('bare:sse/1.1, 32 windows, 1 browser')
  assert.deepEqual([bare?.shown, bare?.opened, bare?.inMode, bare?.falls], [6, 6, 6, []])
  assert.match(report, /\| 32 \| 1 \| 32 \| 32 \| 5 \| 27 in SSE \+ XHR, HTTP\/2: connections taken \|/)
  const whole = fileOf(windows, madeWindowsRun({ subjects: ['sse/2', 'websocket/1.1'] }))
  assert.match(whole, /All windows opened, in the mode asked for\./)
})

test('the limit is per browser: in four, four times as many windows fit', () => {
  const { finding, openings } = windows.analyse(madeWindowsRun({ counts: [4, 16, 32], browsers: [1, 4] }))
  assert.match(finding, /bare page in 1 browser lost nothing up to 4 windows and .* from 16 windows on\./)
  assert.match(finding, /bare page in 4 browsers lost nothing up to 16 windows and .* with 32 windows\./)
  const four = openings.find(({ mode }) => mode === 'sse/1.1, 16 windows, 4 browsers')
  assert.deepEqual(four?.falls, [])
})

test('samples.csv.gz has a row per key and requested window, with the window’s state', () => {
  const [header, ...rows] = fileOf(windows, run, 'samples.csv.gz').trimEnd().split('\n')
  assert.match(
    header ?? '',
    /^mode,session,windows,browsers,shown,open,mode_used,fall,switched,key,id,receiver,/,
  )
  assert.equal(rows.length, 3 * 5 * 10 * (1 + 2 + 6 + 8 + 32))
  assert.ok(rows.some((row) => /^sse\/1\.1,1,8,1,true,true,sse\/2,full,false,1,[^,]+,6,\d/.test(row)))
  assert.ok(rows.some((row) => /^bare:sse\/1\.1,1,8,1,false,false,,,false,1,[^,]+,8,.*,0,false$/.test(row)))
})

test('budgets bound single numbers of windows', () => {
  const most = (most: number) => ({ lost: { least: Number.NEGATIVE_INFINITY, most } })
  const figures = { 'sse/2, 32 windows, 1 browser': most(0), 'bare:sse/1.1, 6 windows, 1 browser': most(0) }
  assert.deepEqual(brokenBounds({ figures }, summary), [
    'bare:sse/1.1, 6 windows, 1 browser: lost is 150, at most 0 allowed',
  ])
})

testRefusals(windows, [
  ['--counts 1,many', /--counts is "1,many": must be whole numbers from 1 to 200\./],
  ['--counts ,', /--counts is ",": must be whole numbers/],
  ['--browsers 4 --counts 2', /each of --browsers needs at least one window/],
  ['--share all', /--share is "all": there are auto, browser, none\./],
  ['--peers ws', /--peers is "ws": there are bare, none\./],
  ['--modes sse/3', /--modes names "sse\/3"/],
])
