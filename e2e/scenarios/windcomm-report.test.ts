// The files of a WindComm report: their contents, and runs that went wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileOf, filesOf } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { madeMachineRun, madeWindRun, type WindMaking } from './testing.ts'
import { windcomm } from './windcomm.ts'
import { analyse, type WindRun } from './windcomm-summary.ts'

const small: WindMaking = { sites: ['lund', 'nagaoka'], readings: 30 }

const pageOf = (run: WindRun) => parsed(fileOf(windcomm, run, 'report.html'))

const textOf = (run: WindRun) => pageOf(run).querySelector('main')?.textContent ?? ''

test('the means are the answer, beside their figure, then comes whether the paper holds', () => {
  const run = madeWindRun(small)
  const page = pageOf(run)
  assert.match(page.querySelector('h1')?.textContent ?? '', /over simulated networks$/)
  assert.deepEqual(
    [...page.querySelectorAll('h2, h3')].slice(0, 4).map(({ textContent }) => textContent),
    ['Table 1, side by side', 'Mean times, here and in the paper', 'In detail', 'Does the paper hold here?'],
  )
  assert.equal(page.querySelector('thead th:nth-child(2)')?.textContent, 'Here')
  const verdicts = [...page.querySelectorAll('#does-the-paper-hold-here tbody tr')].map(
    (row) => row.children[1]?.textContent,
  )
  const words = {
    holds: ['yes', 'holds'],
    weaker: ['', 'only wider'],
    fails: ['NO', 'does NOT hold'],
  } as const
  const { checks } = analyse(run)
  assert.deepEqual(
    verdicts,
    (['paper', 'condition'] as const).flatMap((kind) =>
      checks
        .filter((check) => check.kind === kind)
        .map(({ outcome }) => words[outcome][kind === 'paper' ? 1 : 0]),
    ),
  )
  const elsewhere = pageOf(madeWindRun({ ...small, sites: ['lan'] }))
  assert.equal(elsewhere.querySelectorAll('h2')[1]?.textContent, 'Every method at every site')
})

test('the limitations name the simulation, clock, drift, dependence and loss', () => {
  const doubts = (run: WindRun) => pageOf(run).querySelector('#doubts')?.textContent ?? ''
  assert.match(
    doubts(madeWindRun({ ...small, readings: 300 })),
    /Simulation: .*Clock: .*Drift: none was found .*Dependence: .*one session.*Lost: none of 3,600 /s,
  )
  assert.match(
    doubts(madeWindRun({ ...small, lost: 1 })),
    /Drift: too few.*nothing arrived.*Lost: 360 of 360 /s,
  )
})

test('on real machines there is no model and no point of the paper; each clock is among the doubts', () => {
  const report = fileOf(windcomm, madeMachineRun({ readings: 30, sessions: 2, missed: [2] }))
  assert.match(
    report,
    /^# Crosswind lab: windcomm on real machines\n\n\*\*Here and at Device 1 long polling took/,
  )
  assert.doesNotMatch(report, /imulated network|Does the paper hold|\| Model \||Simulation:/)
  assert.match(report, /\| Device 1 \| Chrome 156 on Android \| browser \|/)
  assert.match(report, /Device 1 was hidden in session 2: what it received then is excluded/)
  assert.match(report, /\| Device 1 \| \+40\.0 \| ± 3\.00 \| ± 0\.04 \|/)
  assert.match(
    report,
    /Clock: .* at most 0\.30 ms here, where WebSocket’s mean is [\d.]+ ms; 3\.00 ms at Device 1, where .* off by at most 0\.04 ms/,
  )
  assert.match(report, /Lost: none of 270 deliveries was/)
})

test('several sessions are listed beside the paper', () => {
  const report = filesOf(windcomm, madeWindRun({ ...small, sessions: 3 }))['report.md'] ?? ''
  assert.match(report, /Session by session, beside the paper/)
  assert.match(report, /\| Nagaoka, WebSocket \| .* \| 153 to 163 \| .* \| 133 to 176 \| 1\.00 \| 1\.00 \|/)
  assert.match(report, /\| Site, method \| Session 1 \| Session 2 \| Session 3 \|/)
  assert.doesNotMatch(filesOf(windcomm, madeWindRun(small))['report.md'] ?? '', /Session by session/)
})

test('every reading is drawn over the run, at both widths', () => {
  const page = pageOf(madeWindRun({ ...small, sites: ['lund'], lost: 0.2 }))
  const { samples } = madeWindRun({ ...small, sites: ['lund'], lost: 0.2 })
  const arrived = samples.filter(({ receivedAt }) => receivedAt !== null).length
  assert.ok(arrived > 0 && arrived < samples.length)
  const course = page.querySelector('[id$=through-the-same-minutes]')
  assert.ok(course)
  for (const drawn of course.querySelectorAll('[role=img]')) {
    const paths = [...drawn.querySelectorAll('path[stroke-linecap=round]')]
    const dots = paths.map((path) => (path.getAttribute('d') ?? '').split('h0').length - 1)
    assert.equal(
      dots.reduce((sum, count) => sum + count, 0),
      arrived,
    )
  }
})

test('a sped-up run says so at the top and beside its times', () => {
  const page = pageOf(madeWindRun({ ...small, faster: 10 }))
  assert.match(page.querySelector('.finding')?.textContent ?? '', /^10 times as fast as asked for/)
  assert.match(page.querySelector('main')?.textContent ?? '', /scaled together/)
  assert.match(page.querySelector('figcaption')?.textContent ?? '', /means are taken 10 times/)
  assert.ok(!textOf(madeWindRun(small)).includes('times as fast'))
})

test('if nothing arrived, nothing is drawn', () => {
  assert.ok(textOf(madeWindRun({ ...small, lost: 1 })).includes('Nothing arrived: there is nothing to draw.'))
})

test('a row for each reading at each window, and one for each reading', () => {
  const files = filesOf(windcomm, madeWindRun({ ...small, readings: 3, sites: ['lund'], lost: 0.3 }))
  const [header, first, ...rest] = (files['samples.csv.gz'] ?? '').trim().split('\n')
  assert.equal(header, 'site,mode,reading,seq,id,accepted_at,received_at,latency_ms,copies,reordered')
  assert.match(
    first ?? '',
    /^lund,websocket\/1\.1,1,30,sensor-made-30,1778578200000\.200,1778578200\d{3}\.\d{3},\d+\.\d{3},1,false$/,
  )
  assert.equal(rest.length, 17)
  assert.ok(rest.some((row) => row.endsWith(',,,0,false')))
  const readings = (files['readings.csv'] ?? '').trim().split('\n')
  assert.equal(readings[1], '1,30,sensor-made-30,1778578200000.000,1778578200000.200,0.200')
  assert.equal(readings.length, 4)
})
