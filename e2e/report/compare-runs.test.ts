// Two runs side by side: decided and undecided differences, and runs that cannot be compared.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type ComparedRun, compareRuns, comparisonReport, readRun } from './compare-runs.ts'
import { reportFiles } from './render.ts'

const measure = 'transmissionMs'

function runOf(
  means: Readonly<Record<string, readonly number[]>>,
  change: Partial<ComparedRun> = {},
): ComparedRun {
  const figures = Object.entries(means).map(([mode, sessions]) => {
    const mean = sessions.reduce((sum, ms) => sum + ms, 0) / sessions.length
    const counts = { n: 5000, lost: 0 }
    return { mode, measure, ...counts, mean, p50: mean, p95: mean * 2, sessions: [...sessions] }
  })
  return {
    scenario: 'keystrokes',
    command: 'npm run lab -- keystrokes',
    startedAt: '2026-11-23T01:02:03.000Z',
    environment: { commit: 'abc', node: 'v26' },
    parameters: { windows: 5, seed: 1 },
    folder: 'a',
    measures: [{ name: measure, title: 'Transmission time', unit: 'ms' }],
    figures,
    ...change,
  }
}

test('a difference larger than the sessions’ is decided; a smaller one is not', () => {
  const first = runOf({ 'sse/2': [7, 7.2, 6.9, 7.1, 7], 'websocket/1.1': [3, 4, 3.5, 3.2, 3.9] })
  const second = runOf({ 'sse/2': [5, 5.1, 4.9, 5.2, 5], 'websocket/1.1': [3.3, 3.9, 3.6, 3.4, 4] })
  const { figures, finding } = compareRuns(first, second)
  assert.deepEqual(
    figures.map(({ mode, verdict }) => [mode, verdict]),
    [
      ['sse/2', 'lower'],
      ['websocket/1.1', 'undecided'],
    ],
  )
  // R 4.4: t.test(c(5,5.1,4.9,5.2,5), c(7,7.2,6.9,7.1,7))
  const [sse] = figures
  assert.ok(Math.abs((sse?.difference ?? 0) + 2) < 1e-9)
  assert.match(
    finding,
    /^Faster in the second run: SSE \+ XHR, HTTP\/2 by 2\.00 ms \(1\.\d\d to 2\.\d\d\)\. Undecided: WebSocket\.$/,
  )
})

test('if every mode moved the same way, it is said once; peers show that it was the machine', () => {
  const times = (by: number) => ({
    'sse/2': [7 + by, 7.1 + by],
    'sse/1.1': [5 + by, 5.1 + by],
    'bare:sse/2': [4 + by, 4.1 + by],
  })
  const { finding } = compareRuns(runOf(times(0)), runOf(times(2)))
  assert.equal(
    finding,
    'All 3 were slower in the second run, by 2.00 to 2.00 ms. None of the peers is Crosswind’s code, so the machine or its other load differs.',
  )
})

test('runs of two machines say so first', () => {
  const environment = { commit: 'abc', cpu: 'Xeon', cores: 2 }
  const first = runOf({ 'sse/2': [7, 7.2], 'websocket/1.1': [3, 3.1] }, { environment })
  const second = runOf(
    { 'sse/2': [9, 9.2], 'websocket/1.1': [5, 5.1] },
    { environment: { ...environment, cpu: 'Ryzen', cores: 8 } },
  )
  assert.match(
    compareRuns(first, second).finding,
    /^Two machines: the first run is of Xeon, 2, the second of Ryzen, 8\. Their figures cannot be compared/,
  )
})

test('runs that do not differ, and runs of one session', () => {
  const five = runOf({ 'sse/2': [7, 7.2, 6.9, 7.1, 7] })
  assert.equal(
    compareRuns(five, five).finding,
    'No mode differs between the two runs by more than their sessions do.',
  )
  const one = runOf({ 'sse/2': [7] })
  const { figures, finding } = compareRuns(one, five)
  assert.deepEqual([figures[0]?.verdict, figures[0]?.differenceCi95], ['one session', null])
  assert.equal(finding, 'A run of one session decides nothing.')
})

test('names other differences between the runs, and modes that only one run has', () => {
  const first = runOf({ 'sse/2': [7, 7.2], 'sse/1.1': [5, 5] })
  const second = runOf(
    { 'sse/2': [7, 7.3], 'websocket/2': [4, 4] },
    { environment: { commit: 'def', node: 'v27' }, parameters: { windows: 5, seed: 2 }, folder: 'b' },
  )
  const comparison = compareRuns(first, second)
  assert.deepEqual(comparison.circumstances, [{ name: 'node', before: 'v26', after: 'v27' }])
  const words = reportFiles(comparisonReport(comparison), comparison)['report.md'] ?? ''
  assert.match(words, /Only in the first run: SSE \+ XHR, HTTP\/1\.1\./)
  assert.match(words, /Only in the second run: WebSocket, HTTP\/2\./)
  assert.match(words, /node \| v26 \| v27/)
})

test('any study is compared, with its other factors and further measures', () => {
  const measures = [
    { name: measure, title: 'Transmission time', unit: 'ms' },
    { name: 'lostPercent', title: 'Messages lost', unit: '%', by: 'median' as const },
  ]
  const of = (by: number) => {
    const run = runOf({ 'sse/2, 10 kB': [5 + by, 5.1 + by], 'sse/2, 1 MB': [50, 50.1] }, { measures })
    const [lost] = runOf({ 'sse/2, 10 kB: lostPercent': [1 + by, 1.1 + by] }).figures
    return { ...run, figures: [...run.figures, ...(lost ? [{ ...lost, measure: 'lostPercent' }] : [])] }
  }
  const comparison = compareRuns(of(0), of(2))
  assert.match(
    comparison.finding,
    /^Slower in the second run: SSE \+ XHR, HTTP\/2; 10 kB by 2\.00 ms \([^)]*\)\. Undecided: SSE \+ XHR, HTTP\/2; 1 MB\.$/,
  )
  const files = reportFiles(comparisonReport(comparison), comparison)
  const words = files['report.md'] ?? ''
  assert.match(files['figures/differences-messages-lost.svg'] ?? '', /10 kB/)
  assert.doesNotMatch(files['figures/differences-messages-lost.svg'] ?? '', /1 MB/)
  assert.match(
    words,
    /Medians of both runs, in %\n\n.*\n.*\n\| SSE \+ XHR, HTTP\/2; 10 kB \| .* \| higher \|/,
  )
})

test('runs that cannot be compared are rejected by name', () => {
  const first = runOf({ 'sse/2': [7, 7.2] })
  assert.throws(
    () => compareRuns(first, runOf({ 'sse/2': [7] }, { scenario: 'windcomm', folder: 'b' })),
    /a is a run of keystrokes, b of windcomm/,
  )
  assert.throws(() => compareRuns(first, runOf({ 'sse/1.1': [7, 8] })), /no mode in common/)
})

const folder = temporaryFolder()

test('reads a report, and says what a folder lacks', async () => {
  const reference = join(import.meta.dirname, '../../reports/reference-keystrokes')
  const run = await readRun(reference)
  assert.equal(run.figures.find(({ mode }) => mode === 'sse/2')?.sessions.length, 5)
  assert.equal(compareRuns(run, run).figures.length, run.figures.length)
  await assert.rejects(readRun(join(folder, 'none')), /is no folder; name the folder of a report/)
  await assert.rejects(readRun(folder), /contains no summary\.json/)
  await writeFile(join(folder, 'summary.json'), '{"scenario":"windcomm"}')
  await assert.rejects(readRun(folder), /has no figures by session/)
})
