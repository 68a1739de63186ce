// The files of a WindComm report: structure, no requests, hostile text, runs that went wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { madeWindRun, type WindMaking } from './testing.ts'
import { analyse } from './windcomm-analysis.ts'
import { windcommFiles, windcommTable } from './windcomm-report.ts'
import type { WindRun } from './windcomm-samples.ts'

const small: WindMaking = { sites: ['lund', 'nagaoka'], readings: 30 }

function filesOf(run: WindRun) {
  return windcommFiles(run, analyse(run))
}

function pageOf(run: WindRun) {
  return new JSDOM(filesOf(run)['report.html']).window.document
}

const textOf = (run: WindRun) => pageOf(run).querySelector('main')?.textContent ?? ''

test('the finding stands on top, then the means, then whether the paper holds', () => {
  const run = madeWindRun(small)
  const page = pageOf(run)
  assert.match(page.querySelector('h1')?.textContent ?? '', /over simulated networks$/)
  assert.equal(page.querySelector('header .finding')?.textContent, analyse(run).finding)
  assert.deepEqual(
    [...page.querySelectorAll('h2')].slice(0, 2).map(({ textContent }) => textContent),
    ['Mean times, here and in the paper', 'Does the paper hold here?'],
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
  assert.equal(elsewhere.querySelector('h2')?.textContent, 'Every method at every site')
})

test('the doubts name the simulation, clock, drift, dependence and loss', () => {
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

test('every table has a caption and even rows, every figure a caption and a description', () => {
  const page = pageOf(madeWindRun(small))
  const tables = [...page.querySelectorAll('table')]
  assert.ok(tables.length >= 9)
  for (const table of tables) {
    assert.ok(table.querySelector('caption')?.textContent)
    assert.equal(new Set([...table.querySelectorAll('tr')].map((row) => row.children.length)).size, 1)
  }
  const figures = [...page.querySelectorAll('figure')]
  assert.equal(figures.length, 2 + 2 * 3)
  for (const figure of figures) {
    assert.ok(figure.querySelector('figcaption')?.textContent)
    assert.ok([...figure.querySelectorAll('[role=img]')].every((drawn) => drawn.getAttribute('aria-label')))
  }
})

test('through the run every reading is drawn, at both widths', () => {
  const page = pageOf(madeWindRun({ ...small, sites: ['lund'], lost: 0.2 }))
  const { samples } = madeWindRun({ ...small, sites: ['lund'], lost: 0.2 })
  const arrived = samples.filter(({ receivedAt }) => receivedAt !== null).length
  assert.ok(arrived > 0 && arrived < samples.length)
  const course = [...page.querySelectorAll('section')].find((section) =>
    section.querySelector('h2')?.textContent?.includes('through the same minutes'),
  )
  for (const drawn of course?.querySelectorAll('[role=img]') ?? []) {
    const paths = [...drawn.querySelectorAll('path[stroke-linecap=round]')]
    const dots = paths.map((path) => (path.getAttribute('d') ?? '').split('h0').length - 1)
    assert.equal(
      dots.reduce((sum, count) => sum + count, 0),
      arrived,
    )
  }
})

test('nothing is asked of anybody, and no script runs', () => {
  const files = filesOf(madeWindRun(small))
  const page = new JSDOM(files['report.html']).window.document
  assert.equal(page.querySelectorAll('script, link, img, iframe, [src], :not(a)[href]').length, 0)
  const links = [...page.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')
  assert.ok(links.includes('samples.csv'))
  assert.ok(links.every((link) => link.startsWith('#') || files[link]))
})

test('hostile text stays text', () => {
  const evil = '"><img src=x onerror=alert(1)></svg><script>alert(2)</script>'
  const run = madeWindRun(small)
  const environment = { ...run.environment, browser: evil }
  const page = pageOf({ ...run, environment, command: evil, parameters: { [evil]: evil } })
  assert.equal(page.querySelectorAll('img, script, [onerror]').length, 0)
})

test('a run that was made faster says so at its head and where its times stand', () => {
  const page = pageOf(madeWindRun({ ...small, faster: 10 }))
  assert.match(page.querySelector('.finding')?.textContent ?? '', /^10 times as fast as asked for/)
  assert.match(page.querySelector('main')?.textContent ?? '', /scaled together/)
  assert.match(page.querySelector('figcaption')?.textContent ?? '', /means are taken 10 times/)
  assert.ok(!textOf(madeWindRun(small)).includes('times as fast'))
})

test('lost readings, empty cells, one site that is not the paper’s: all are reports without holes', () => {
  const runs = [
    madeWindRun({ ...small, lost: 1 }),
    madeWindRun({ ...small, sites: ['lan'], modes: ['websocket/1.1'] }),
    madeWindRun({ ...small, lost: 0.5, duplicated: 0.3, reordered: 0.3 }),
    madeWindRun({ ...small, readings: 1 }),
  ]
  for (const run of runs) {
    for (const name of ['report.html', 'report.md', 'summary.json'] as const) {
      const text = (filesOf(run)[name] ?? '').replace(/<style>.*?<\/style>/gs, '')
      assert.ok(!/NaN|undefined|Infinity/.test(text), `${name} of a run with ${run.samples.length} samples`)
    }
  }
  assert.ok(textOf(madeWindRun({ ...small, lost: 1 })).includes('Nothing arrived: there is nothing to draw.'))
})

test('a row for each reading at each window, and one for each reading', () => {
  const files = filesOf(madeWindRun({ ...small, readings: 3, sites: ['lund'], lost: 0.3 }))
  const [header, first, ...rest] = (files['samples.csv'] ?? '').trim().split('\n')
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

test('the terminal has a row for each cell and a line for each point', () => {
  const summary = analyse(madeWindRun(small))
  const lines = windcommTable(summary).split('\n')
  assert.equal(lines.length, 1 + summary.cells.length + 1 + summary.checks.length)
  assert.ok(lines.every((line) => line.length <= 100))
})
