// Every scenario's report must have structure, no requests, escaped text and no missing figures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Experiment, Summary } from '../lab/experiment.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { fileOf, filesOf } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { capacity } from './capacity.ts'
import { conditions } from './conditions.ts'
import { keystrokes } from './keystrokes.ts'
import { payload } from './payload.ts'
import { pubsub } from './pubsub.ts'
import {
  madeCapacityRun,
  madeConditionsRun,
  madeMachineRun,
  madePayloadRun,
  madePubsubRun,
  madeRun,
  madeWindowsRun,
  madeWindRun,
  threeModes,
  withPeers,
} from './testing.ts'
import { windcomm } from './windcomm.ts'
import { windows } from './windows.ts'

const evil = '"><img src=x onerror=alert(1)></svg><script>alert(2)</script>'

function checkReports<Run extends Circumstances, Result extends Summary>(
  experiment: Pick<Experiment<Record<string, never>, unknown, Run, Result>, 'name' | 'analyse' | 'report'>,
  run: Run,
  ...odd: readonly Run[]
): void {
  const files = filesOf(experiment, run)
  const page = parsed(files['report.html'] ?? '')

  test(`${experiment.name}: the finding comes first, headings are in order, summary.json is complete`, () => {
    const summary = experiment.analyse(run)
    const finding = [...page.querySelectorAll('header .finding')].map(({ textContent }) => textContent)
    assert.equal(finding.join(' '), summary.finding)
    assert.equal(page.querySelectorAll('h1').length, 1)
    assert.ok(page.querySelectorAll('h3').length >= 3)
    for (const heading of page.querySelectorAll('h3'))
      assert.ok(heading.closest('section')?.querySelector('h2'), heading.textContent ?? '')
    assert.deepEqual(JSON.parse(files['summary.json'] ?? ''), JSON.parse(JSON.stringify(summary)))
    assert.deepEqual(summary, experiment.analyse(run))
  })

  test(`${experiment.name}: every table has a caption, scopes and even rows; every figure has a description`, () => {
    for (const table of page.querySelectorAll('table')) {
      assert.ok(table.querySelector('caption')?.textContent)
      assert.ok([...table.querySelectorAll('th')].every((cell) => cell.hasAttribute('scope')))
      assert.equal(new Set([...table.querySelectorAll('tr')].map((row) => row.children.length)).size, 1)
    }
    assert.ok(page.querySelector('figure'))
    for (const figure of page.querySelectorAll('figure')) {
      assert.ok(figure.querySelector('figcaption')?.textContent)
      assert.ok([...figure.querySelectorAll('[role=img]')].every((drawn) => drawn.getAttribute('aria-label')))
    }
  })

  test(`${experiment.name}: makes no requests, runs no script, and links every file`, () => {
    assert.equal(page.querySelectorAll('script, link, img, iframe, [src], :not(a)[href]').length, 0)
    const links = [...page.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')
    assert.ok(links.every((link) => link.startsWith('#') || files[link]))
    for (const name of Object.keys(files).filter((name) => /\.csv(\.gz)?$/.test(name)))
      assert.ok(links.includes(name), name)
    const styles = [...page.querySelectorAll('style')].map(({ textContent }) => textContent ?? '')
    assert.ok(!styles.some((style) => /url\(|@import/.test(style)))
  })

  test(`${experiment.name}: hostile text stays text`, () => {
    const environment = { ...run.environment, browser: evil, machine: evil }
    const hostile = { ...run, environment, command: evil, parameters: { [evil]: evil } }
    const shown = parsed(fileOf(experiment, hostile, 'report.html'))
    assert.equal(shown.querySelectorAll('img, script, [onerror]').length, 0)
    assert.ok([...shown.querySelectorAll('pre')].some(({ textContent }) => textContent === evil))
  })

  test(`${experiment.name}: no missing figure, however little was measured`, () => {
    for (const [place, of] of [files, ...odd.map((one) => filesOf(experiment, one))].entries())
      for (const [name, content] of Object.entries(of))
        if (/\.(html|md|svg)$/.test(name))
          assert.doesNotMatch(
            content.replaceAll(/<style>.*?<\/style>/gs, ''),
            /NaN|undefined|Infinity|null/,
            `${name} of run ${place}`,
          )
  })
}

const small = { sessions: 2, keys: 10, blocks: 2, windows: 3 }
checkReports(
  keystrokes,
  madeRun({ ...small, behaviours: withPeers }),
  madeRun({ ...small, behaviours: threeModes.slice(0, 1) }),
  madeRun({ ...small, behaviours: threeModes.map((mode) => ({ ...mode, lost: 1 })) }),
  madeRun({ sessions: 1, keys: 1, blocks: 1, windows: 1 }),
  madeRun({ behaviours: [] }),
)
checkReports(
  payload,
  madePayloadRun(),
  ...[{ lost: 1 }, { sessions: 1 }, { modes: ['sse/2'], sizes: [10] }].map(madePayloadRun),
)
checkReports(
  conditions,
  madeConditionsRun(),
  ...[{ lost: 1 }, { sessions: 1 }, { conditions: ['usual'] }].map(madeConditionsRun),
)
const nothingReturned = { meanMs: null, p50Ms: null, p95Ms: null, maxMs: null, bytesPerMessage: null }
checkReports(
  pubsub,
  madePubsubRun(),
  madePubsubRun({ sessions: 1, each: 1 }),
  madePubsubRun({ brokers: ['embedded'] }),
  madePubsubRun({ change: ({ users }) => ({ lost: Number(users), ...nothingReturned }) }),
)
checkReports(
  windows,
  madeWindowsRun(),
  madeWindowsRun({ sessions: 1 }),
  madeWindowsRun({ browsers: [1, 4], counts: [1, 4, 32] }),
  madeWindowsRun({ subjects: ['sse/1.1 share=none', 'sse/1.1 share=browser'], baseline: null, counts: [1] }),
  madeWindowsRun({ subjects: [] }),
)
const lost = { opened: 0, failed: 80, due: 0, sent: 0, answered: 0 }
checkReports(
  capacity,
  madeCapacityRun({ flags: ['--sessions', '1'] }),
  madeCapacityRun({ flags: ['--experiments', 'comparison', '--peers', '', '--sessions', '1'] }),
  madeCapacityRun({ flags: ['--experiments', 'comparison,most', '--sessions', '1'], lost: () => lost }),
  madeCapacityRun({
    flags: ['--experiments', 'workers', '--workers', '2', '--sessions', '1'],
    clientShare: () => 1,
    cpuMs: () => ({ log: 100, 'worker 1': 500, 'worker 2': 500 }),
  }),
  madeCapacityRun({ flags: ['--experiments', 'size,switching', '--sessions', '1'] }),
)
const wind = { sites: ['lund', 'nagaoka'], readings: 30 } as const
checkReports(
  windcomm,
  madeWindRun(wind),
  madeWindRun({ ...wind, lost: 1 }),
  madeWindRun({ ...wind, sites: ['lan'], modes: ['websocket/1.1'] }),
  madeWindRun({ ...wind, lost: 0.5, duplicated: 0.3, reordered: 0.3 }),
  madeWindRun({ ...wind, readings: 1 }),
  madeMachineRun({ readings: 30, sessions: 2, missed: [2] }),
  madeMachineRun({ readings: 30, missed: [1] }),
)

test('hostile names and ids in the samples also stay text', () => {
  const run = madeRun({ sessions: 2, keys: 10, blocks: 2, behaviours: [{ mode: evil, medianMs: 3 }] })
  const samples = run.samples.map((sample) => ({ ...sample, id: `${evil}${sample.id}` }))
  const page = parsed(fileOf(keystrokes, { ...run, samples }, 'report.html'))
  assert.equal(page.querySelectorAll('img, script, [onerror]').length, 0)
})
