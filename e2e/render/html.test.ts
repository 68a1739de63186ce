// report.html: its structure, its silence towards the network, hostile text, and runs that went wrong.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import type { Run } from '../lab/samples.ts'
import { analyse } from '../lab/stats/analysis.ts'
import { type Making, madeRun, threeModes, withPeers } from '../lab/stats/made-run.ts'
import { html } from './html.ts'

const small: Making = { keys: 20, blocks: 2, windows: 3 }

function pageOf(run: Run) {
  return new JSDOM(html(run, analyse(run))).window.document
}

const textOf = (run: Run) => pageOf(run).querySelector('main')?.textContent ?? ''

test('the finding stands on top, and headings are in order', () => {
  const run = madeRun(small)
  const page = pageOf(run)
  assert.equal(page.querySelector('header .finding')?.textContent, analyse(run).finding)
  assert.equal(page.querySelectorAll('h1').length, 1)
  assert.ok(page.querySelectorAll('h2').length > 8)
  assert.equal(page.querySelectorAll('h3').length, 0)
})

test('every table has a caption and scopes, every figure a caption and a description', () => {
  const page = pageOf(madeRun({ ...small, behaviours: withPeers }))
  for (const table of page.querySelectorAll('table')) {
    assert.ok(table.querySelector('caption')?.textContent)
    assert.ok([...table.querySelectorAll('th')].every((cell) => cell.hasAttribute('scope')))
    const widths = new Set([...table.querySelectorAll('tr')].map((row) => row.children.length))
    assert.equal(widths.size, 1)
  }
  const figures = [...page.querySelectorAll('figure')]
  assert.equal(figures.length, 4)
  for (const figure of figures) {
    assert.ok(figure.querySelector('figcaption')?.textContent)
    assert.ok([...figure.querySelectorAll('[role=img]')].every((drawn) => drawn.getAttribute('aria-label')))
  }
})

test('every sample that arrived is drawn', () => {
  const run = madeRun({ ...small, behaviours: [{ mode: 'sse/2', medianMs: 4, lost: 0.2 }] })
  const arrived = run.samples.filter(({ receivedAt }) => receivedAt !== null).length
  assert.ok(arrived > 0 && arrived < run.samples.length)
  for (const drawn of pageOf(run).querySelectorAll('figure .wide')) {
    const strokes = [...drawn.querySelectorAll('path[stroke-linecap=round]')].map(
      (path) => path.getAttribute('d') ?? '',
    )
    assert.equal(strokes.join('').split('h0').length - 1, arrived)
  }
})

test('nothing is asked of anybody, and no script runs', () => {
  const page = pageOf(madeRun({ ...small, behaviours: withPeers }))
  assert.equal(page.querySelectorAll('script, link, img, iframe, [src], [href]').length, 0)
  assert.ok(
    ![...page.querySelectorAll('style')].some((style) => /url\(|@import/.test(style.textContent ?? '')),
  )
})

test('hostile text stays text', () => {
  const evil = '"><img src=x onerror=alert(1)></svg><script>alert(2)</script>'
  const run = madeRun({
    ...small,
    behaviours: [
      { mode: evil, medianMs: 3 },
      { mode: 'sse/2', medianMs: 3 },
    ],
  })
  const environment = { ...run.environment, browser: evil, machine: evil }
  const samples = run.samples.map((sample) => ({ ...sample, id: `${evil}${sample.id}` }))
  const page = pageOf({
    ...run,
    environment,
    samples,
    command: evil,
    scenario: evil,
    parameters: { [evil]: evil },
  })
  assert.equal(page.querySelectorAll('img, script, [onerror]').length, 0)
  assert.equal(page.querySelector('pre')?.textContent, evil)
})

test('peers are set against the goal only where they ran', () => {
  assert.ok(!textOf(madeRun(small)).includes('Against bare peers'))
  assert.ok(textOf(madeRun({ ...small, behaviours: withPeers })).includes('Against bare peers'))
})

test('a run in which all was lost says so', () => {
  const text = textOf(madeRun({ ...small, behaviours: threeModes.map((mode) => ({ ...mode, lost: 1 })) }))
  assert.ok(text.includes('Nothing arrived: there is nothing to draw.'))
  assert.ok(text.includes('Nothing was compared.'))
  assert.ok(text.includes('WebSocket could not be compared with SSE + XHR over HTTP/2'))
  assert.ok(!/NaN|undefined|Infinity|null/.test(text))
})

test('one mode, one sample and no mode at all are reports too', () => {
  const runs = [
    madeRun({ ...small, behaviours: threeModes.slice(0, 1) }),
    madeRun({ keys: 1, blocks: 1, windows: 1 }),
    madeRun({ behaviours: [] }),
  ]
  for (const run of runs) {
    assert.ok(textOf(run).includes('Nothing was compared.'))
    assert.ok(
      !/NaN|undefined|Infinity|null/.test(html(run, analyse(run)).replace(/<style>.*?<\/style>/gs, '')),
    )
  }
})

test('times that a clock made negative are drawn on a linear axis, and it is said', () => {
  const run = madeRun(small)
  const early = run.samples.map((sample) => ({
    ...sample,
    receivedAt: sample.sentAt - 0.1 + sample.receiver,
  }))
  const text = textOf({
    ...run,
    samples: early.map((sample, place) =>
      place === 0 ? { ...sample, receivedAt: sample.sentAt - 0.1 } : sample,
    ),
  })
  assert.ok(text.includes('The axis is linear, as some times are not above 0'))
  assert.ok(textOf(run).includes('The axis is logarithmic'))
})
