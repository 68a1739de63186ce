// The four papers against the reference reports, their commands, and the two files made for readers.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { Estimate } from '../lab/estimate.ts'
import { type Experiment, readOptions } from '../lab/experiment.ts'
import type { FigureRow } from '../lab/study.ts'
import type { StudySummary } from '../lab/study-experiment.ts'
import { capacity } from '../scenarios/capacity.ts'
import type { CapacitySummary } from '../scenarios/capacity-study.ts'
import { keystrokes } from '../scenarios/keystrokes.ts'
import { type Summary as KeystrokesSummary, publishedMeansMs } from '../scenarios/keystrokes-report.ts'
import { pubsub } from '../scenarios/pubsub.ts'
import { windcomm } from '../scenarios/windcomm.ts'
import { papers, sideOf } from './papers.ts'
import { judge, pageOf, readReproduction } from './reproduce.ts'

const root = join(import.meta.dirname, '../..')
const text = (path: string) => readFileSync(join(root, path), 'utf8')
const reproduced = await Promise.all(papers.map((paper) => readReproduction(paper, join(root, 'reports'))))

test('docs/results.md is what the reference reports give', () => {
  const advice =
    'docs/results.md is not what the reports give; its first comment has the command that makes it'
  assert.equal(text('docs/results.md'), pageOf(reproduced, join(root, 'docs/results.md')), advice)
})

test('every figure of the papers is measured', () => {
  for (const { results } of reproduced)
    for (const { what, verdict } of results) assert.notEqual(verdict, 'not measured', what)
})

test('an interval within the band agrees, one outside differs, one across its end decides nothing', () => {
  const claim = { given: [2, 3], margin: 0.1 } as const
  const sides = [
    [1.8, 3.3],
    [1.7, 1.79],
    [3.4, 9],
    [1.7, 2.5],
    [1, 9],
  ].map(([low = 0, high = 0]) => sideOf(claim, { value: 2, interval: [low, high] }))
  assert.deepEqual(sides, ['within', 'below', 'above', null, null])
  assert.equal(sideOf(claim, { value: 3.31, interval: null }), 'above')
  assert.equal(sideOf({ given: [1, Infinity], margin: 0 }, { value: 0.99, interval: null }), 'below')
})

/** Writes a changed copy of one of the paper's own runs. */
async function folderWith(t: TestContext, change: (summary: KeystrokesSummary) => void): Promise<string> {
  const parent = temporaryFolder(t)
  const summary = JSON.parse(text('reports/reference-keystrokes-2021/summary.json'))
  change(summary)
  await mkdir(join(parent, 'keystrokes-2021'))
  await writeFile(join(parent, 'keystrokes-2021/summary.json'), JSON.stringify(summary))
  return parent
}

const [thesis = assert.fail('There is no paper.')] = papers

for (const [name, value, words] of [
  ['editors', 'shared', 'editors shared in place of mirror'],
  ['windows', 3, 'windows 3 in place of 5'],
] as const)
  test(`a run with ${words} is refused: it is another experiment`, async (t) => {
    const parent = await folderWith(t, ({ parameters }) => Object.assign(parameters, { [name]: value }))
    await assert.rejects(
      readReproduction(thesis, parent),
      new RegExp(
        `keystrokes-2021 is not the paper’s experiment: it has ${words}\\. Measure that with: npm run lab`,
      ),
    )
  })

test('a run’s differences from the paper stand beside each of its figures', async (t) => {
  const parent = await folderWith(t, ({ parameters }) => Object.assign(parameters, { keys: 30 }))
  const page = pageOf([await readReproduction(thesis, parent)], join(parent, 'results.md'))
  assert.equal(page.match(/ ms; 30 keys in place of 200\)/g)?.length, 3)
  assert.doesNotMatch(text('docs/results.md'), /keys in place of/)
})

test('a maximum that the run did not reach decides nothing', () => {
  const [capacityRun] = reproduced.flatMap(({ runs }) =>
    runs.filter(({ run }) => run.name === 'capacity-most'),
  )
  assert.ok(capacityRun)
  const [claim] = capacityRun.run.claims
  assert.ok(claim)
  const summary = capacityRun.summary as never as CapacitySummary
  const first = summary.ramps.find(({ experiment }) => experiment === 'most')
  const others = summary.ramps.filter(({ experiment }) => experiment !== 'most')
  const most = (...changes: readonly object[]) =>
    judge(claim, {
      ...summary,
      ramps: [...others, ...changes.map((change) => ({ ...first, ...change }))],
    } as never)
  const whole = (windows: number) => ({ windows, opened: windows, failed: 0, dropped: 0, missing: 0 })
  const failed = { ...whole(26_000), opened: 25_900, failed: 100, limitedBy: null, reasons: 'reset 100' }
  const words = 'of 26,000 windows 100 failed, reset 100, and 0 pings were not answered'
  for (const [ramps, ...expected] of [
    [[whole(25_000)], 'undecided', 25_000, 'more were not tried'],
    [[whole(25_000), whole(37_500)], 'differs', 37_500, 'more were not tried'],
    [[whole(24_000), failed], 'agrees', 24_000, words],
    [
      [whole(24_000), { ...failed, reasons: 'EMFILE 100' }],
      'undecided',
      24_000,
      `the clients’ limit: ${words.replace('reset', 'EMFILE')}`,
    ],
  ] as const) {
    const found = most(...ramps)
    assert.deepEqual([found.verdict, found.value, found.words], expected)
  }
})

test('a hypothesis agrees if both tests accept it, or neither does', () => {
  const run = reproduced.flatMap(({ runs }) => runs.filter(({ run }) => run.name === 'pubsub'))[0]
  assert.ok(run)
  const verdicts = (change: (row: FigureRow) => object) => {
    const { figures, ...summary } = run.summary as never as StudySummary
    const changed = figures.map((row) => ({ ...row, ...change(row) }))
    return run.run.claims
      .filter(({ what }) => what.startsWith('H1'))
      .map((claim) => judge(claim, { ...summary, figures: changed } as never).verdict)
  }
  const agrees = 'agrees'
  const differs = 'differs'
  assert.deepEqual(
    verdicts(() => ({})),
    [agrees, agrees, agrees, agrees, differs, differs],
  )
  const lostWithout = verdicts(({ at, measure }) =>
    measure === 'lost' && at.broker === 'none' ? { mean: 500, sd: 20 } : {},
  )
  assert.deepEqual(lostWithout, [differs, differs, differs, differs, agrees, agrees])
})

/** Each reason that the reports give, and a change of the run after which it is not true. */
const untrue: Readonly<Record<string, (summary: never) => void>> = {
  'neither this page nor this server': ({ figures }: { figures: { mode: string; sessions: number[] }[] }) => {
    const published: Readonly<Record<string, number>> = publishedMeansMs
    for (const row of figures) {
      const ms = published[row.mode.replace('bare:', '')] ?? 1
      if (row.mode.startsWith('bare:')) Object.assign(row, { mean: ms, sessions: row.sessions.map(() => ms) })
    }
  },
  'loses no packets': (run: { sites: { profile: object }[] }) => {
    for (const { profile } of run.sites) Object.assign(profile, { loss: { share: 0.01, burst: 1 } })
  },
  'every message came back': (run: { figures: object[] }) =>
    Object.assign(run.figures.at(-1) ?? {}, { lost: 1 }),
  'processor decides': ({ figures }: { figures: { measure: string }[] }) => {
    for (const row of figures) if (row.measure === 'serverCpuMicros') Object.assign(row, { mean: 1 })
  },
  'bytes over time': ({ figures }: { figures: { measure: string }[] }) => {
    for (const row of figures) if (row.measure === 'bytesPerMessage') Object.assign(row, { mean: 100 })
  },
  'in one process': (run: { ramps: object[] }) => {
    for (const ramp of run.ramps) Object.assign(ramp, { workers: 3 })
  },
}

for (const [words, change] of Object.entries(untrue))
  test(`a reason is given only while it is true: ${words}`, () => {
    const judged = reproduced.flatMap(({ runs }) =>
      runs.flatMap(({ run, summary }) => {
        const changed = structuredClone(summary)
        return run.claims
          .filter((claim) => judge(claim, summary).because?.includes(words))
          .map((claim) => {
            change(changed as never)
            return judge(claim, changed)
          })
      }),
    )
    assert.ok(judged.length > 0)
    for (const { what, verdict, because } of judged)
      assert.deepEqual([what, verdict, because], [what, 'differs', null])
  })

test('every command is one that the lab takes, and a paper fits an hour', () => {
  const scenarios = { capacity, keystrokes, pubsub, windcomm } as unknown as Record<string, Experiment>
  for (const { year, minutes, runs } of papers) {
    const planned = runs.map(({ scenario, flags, quick }) => {
      const experiment = scenarios[scenario]
      assert.ok(experiment, scenario)
      const plannedMs = (words: string) => {
        const { options } = readOptions(experiment, words.split(' '))
        const { sessions = 1 } = options as { readonly sessions?: number }
        return experiment.plan ? (new Estimate(sessions, experiment.plan(options), () => 0).leftMs ?? 0) : 0
      }
      assert.ok(plannedMs(`${flags} ${quick}`) <= plannedMs(flags))
      return plannedMs(flags)
    })
    const wholeMinutes = planned.reduce((sum, ms) => sum + ms, 0) / 60_000
    assert.ok(wholeMinutes <= minutes && minutes <= 60, `${year}: ${wholeMinutes} of ${minutes} minutes`)
  }
})

test('CITATION.cff has the fields that CFF 1.2.0 requires, and the licence of package.json', () => {
  const fields = new Map(
    Array.from(text('CITATION.cff').matchAll(/^([a-z-]+): ?(.*)$/gm), ([, name, value]) => [name, value]),
  )
  const required = ['authors', 'cff-version', 'message', 'title']
  assert.deepEqual(
    required.filter((name) => !fields.has(name)),
    [],
  )
  const { license } = JSON.parse(text('package.json'))
  assert.deepEqual([fields.get('cff-version'), fields.get('license')], ['1.2.0', license])
})
