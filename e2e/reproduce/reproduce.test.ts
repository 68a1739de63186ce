// The four papers against the reference reports, their commands, and the two files made for readers.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Estimate } from '../lab/estimate.ts'
import { type Experiment, readOptions } from '../lab/experiment.ts'
import { capacity } from '../scenarios/capacity.ts'
import { keystrokes } from '../scenarios/keystrokes.ts'
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

/** Each reason that the reports give, and a change of the run after which it is not true. */
const untrue: Readonly<Record<string, (summary: never) => void>> = {
  'three computers': (run: { environment: { server: string } }) => {
    run.environment.server = 'https://elsewhere.example'
  },
  'loses no packets': (run: { sites: { profile: object }[] }) => {
    for (const { profile } of run.sites) Object.assign(profile, { loss: { share: 0.01, burst: 1 } })
  },
  'every message came back': (run: { groups: { lost: number }[] }) =>
    Object.assign(run.groups.at(-1) ?? {}, { lost: 1 }),
  'processor decides': (run: { groups: object[] }) => {
    for (const group of run.groups) Object.assign(group, { serverCpuMicrosPerMessage: 1 })
  },
  'bytes over time': (run: { groups: object[] }) => {
    for (const group of run.groups) Object.assign(group, { bytesPerMessage: 100 })
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
