// A toy study with known properties: figures, comparisons by session, verdicts, costs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingOfStudy } from '../report/study-finding.ts'
import { studySections } from '../report/study-report.ts'
import {
  analyseStudy,
  axesOf,
  type Design,
  isDecided,
  type Measured,
  type Row,
  sessionsNeeded,
} from './study.ts'
import { readRows } from './study-experiment.ts'

const design: Design = {
  question: 'Which drink cools faster?',
  factors: [
    { name: 'drink', title: 'Drink' },
    { name: 'cups', title: 'Cups' },
  ],
  measures: [{ name: 'coolingMs', title: 'Cooling', unit: 'ms', better: 'less' }],
  notes: () => [],
}

/** Five sessions; `timeOf` in ms. */
function made(timeOf: (drink: string, cups: number, session: number) => number | null): Measured {
  const sessions = [1, 2, 3, 4, 5]
  const samples = sessions.flatMap((session) =>
    ['tea', 'coffee'].flatMap((drink) =>
      [1, 2].map((cups): Row => ({ drink, cups, session, coolingMs: timeOf(drink, cups, session) })),
    ),
  )
  return { levels: { drink: ['tea', 'coffee'], cups: [1, 2] }, baseline: 'tea', samples }
}

const twice = made((drink, cups, session) => (drink === 'tea' ? 10 : 20) * cups + session / 10)

test('each place has its figures, in order of the levels', () => {
  const { figures, sessions } = analyseStudy(design, twice)
  assert.equal(sessions, 5)
  assert.deepEqual(
    figures.map(({ mode, mean, n, expected }) => [mode, mean, n, expected]),
    [
      ['tea, 1', 10.3, 5, 5],
      ['tea, 2', 20.3, 5, 5],
      ['coffee, 1', 20.3, 5, 5],
      ['coffee, 2', 40.3, 5, 5],
    ],
  )
  assert.deepEqual(figures[0]?.sessions, [10.1, 10.2, 10.3, 10.4, 10.5])
})

test('a level is compared with the baseline where the other factors are the same', () => {
  const { comparisons } = analyseStudy(design, twice)
  assert.deepEqual(
    comparisons.map(({ mode, baseline, verdict }) => [mode, baseline, verdict]),
    [
      ['coffee, 1', 'tea', 'higher'],
      ['coffee, 2', 'tea', 'higher'],
    ],
  )
  assert.deepEqual([comparisons[1]?.sessions[0]?.session, comparisons[1]?.sessions[0]?.ratio], [1, 1.99502])
  for (const { ratio, ratioCi95, p, pCorrected } of comparisons) {
    assert.ok(ratio > 1.9 && ratio < 2 && ratioCi95 && ratioCi95[0] < ratio && ratio < ratioCi95[1])
    assert.ok(p !== null && pCorrected !== null && pCorrected >= p)
  }
})

test('a difference within the clocks’ error, or with an interval around 1, is undecided', () => {
  const within = { ...twice, boundMs: 15 }
  assert.deepEqual(
    analyseStudy(design, within).comparisons.map(({ verdict }) => verdict),
    ['undecided', 'higher'],
  )
  const mixed = made((drink, _, session) => (drink === 'tea' ? 10 : session % 2 === 0 ? 5 : 20))
  assert.equal(analyseStudy(design, mixed).comparisons[0]?.verdict, 'undecided')
})

test('an interval within the difference that matters is alike', () => {
  const near = made((drink, _, session) => (drink === 'tea' ? 10 : 10 + (session % 2 === 0 ? 0.3 : -0.3)))
  const verdictOf = (measured: Measured) => analyseStudy(design, measured).comparisons[0]?.verdict
  assert.equal(verdictOf({ ...near, matters: { amount: 10, isPercent: true } }), 'alike')
  assert.equal(verdictOf({ ...near, matters: { amount: 1, isPercent: false } }), 'alike')
  assert.equal(verdictOf({ ...near, matters: { amount: 1, isPercent: true } }), 'undecided')
  assert.equal(verdictOf(near), 'undecided')
})

test('a run is decided once every interval is as narrow as the difference that matters; else it says how many sessions are missing', () => {
  const near = made((drink, _, session) => (drink === 'tea' ? 10 : 10 + (session % 2 === 0 ? 0.3 : -0.3)))
  const coarse = analyseStudy(design, { ...near, matters: { amount: 10, isPercent: true } })
  assert.ok(isDecided(coarse) && sessionsNeeded(coarse.comparisons, coarse.sessions) === 5)
  const fine = analyseStudy(design, { ...near, matters: { amount: 1, isPercent: true } })
  assert.ok(!isDecided(fine) && sessionsNeeded(fine.comparisons, fine.sessions) > 5)
})

test('a lost message is counted and has no time, and a session without any arrival gives no ratio', () => {
  const lossy = made((drink, cups, session) => (drink === 'coffee' && session < 4 ? null : 10 * cups))
  const { figures, comparisons } = analyseStudy(design, lossy)
  const coffee = figures.find(({ mode }) => mode === 'coffee, 1')
  assert.deepEqual([coffee?.n, coffee?.lost, coffee?.sessions.slice(0, 4)], [2, 3, [null, null, null, 10]])
  assert.deepEqual(
    comparisons[0]?.sessions.map(({ session }) => session),
    [4, 5],
  )
})

test('if the measure needs all, a session that lost something is not compared, not even for the sender', () => {
  const needing: Design = { ...design, measures: [{ ...design.measures[0], needsAll: true }] }
  const samples = twice.samples.flatMap((row) => {
    const lost = row.session === 1 && row.drink === 'tea' && row.cups === 1
    return [
      { ...row, receiver: 2 },
      { ...row, receiver: 1, coolingMs: lost ? null : 99 },
    ]
  })
  const sessionsOf = (of: Design) =>
    analyseStudy(of, { ...twice, samples }).comparisons.map((one) => one.sessions.length)
  assert.deepEqual(
    [sessionsOf(needing), sessionsOf(design)],
    [
      [4, 5],
      [5, 5],
    ],
  )
})

test('lines are drawn over the factor with numbers, in a panel for each level of the only other one', () => {
  const [drink, cups] = design.factors
  const milk = { name: 'milk', title: 'Milk' }
  const of = (levels: Measured['levels']) => {
    const { over, panel, varied } = axesOf({ ...design, factors: [drink, milk, cups ?? drink] }, { levels })
    return [over?.name, panel?.name, varied.map(({ name }) => name)]
  }
  assert.deepEqual(of({ milk: ['with', 'without'], cups: [1, 2] }), ['cups', 'milk', ['milk', 'cups']])
  assert.deepEqual(of({ milk: ['with'], cups: [1, 2] }), ['cups', undefined, ['cups']])
  assert.deepEqual(of({ milk: ['with', 'without'], cups: [1] }), [undefined, undefined, ['milk']])
})

test('if clocks put a session below 0, that pair is not compared, and the run is not decided', () => {
  const early = made((drink, cups, session) =>
    drink === 'coffee' && cups === 1 && session === 1 ? -1 : 10 * cups,
  )
  const found = analyseStudy(design, { ...early, matters: { amount: 50, isPercent: true } })
  assert.deepEqual(
    found.notCompared.map(({ mode, baseline }) => [mode, baseline]),
    [['coffee, 1', 'tea']],
  )
  assert.deepEqual(
    found.comparisons.map(({ mode }) => mode),
    ['coffee, 2'],
  )
  assert.equal(isDecided(found), false)
  assert.equal(isDecided({ ...found, notCompared: [] }), true)
})

test('if the machine’s speed doubles between sessions, the verdict holds, since it uses the ratio', () => {
  const doubling = made(
    (drink, _, session) => (drink === 'tea' ? 10 : 13 + session / 100) * (session === 5 ? 8 : 1),
  )
  const [one] = analyseStudy(design, doubling).comparisons
  assert.equal(one?.verdict, 'higher')
  assert.ok(one.differenceCi95 && one.differenceCi95[0] < 0, String(one.differenceCi95))
})

test('a level that is left out of the comparisons keeps its figures', () => {
  const { comparisons, figures } = analyseStudy(design, { ...twice, uncompared: ['coffee'] })
  assert.deepEqual([comparisons.length, figures.length], [0, 4])
})

test('all p are corrected together', () => {
  const { comparisons } = analyseStudy(
    design,
    made((drink, cups, session) => (drink === 'tea' ? 10 : 10 + cups * (session % 2 === 0 ? 0.5 : 3))),
  )
  const [largest, ...others] = comparisons.map(({ p }) => p ?? 0).toSorted((one, other) => other - one)
  const corrected = comparisons.map(({ pCorrected }) => pCorrected ?? 0)
  assert.ok((largest ?? 0) > 0 && corrected.every((p) => p >= 2 * Math.min(...others)))
})

test('a comparison of one session, which has no p, is none of those that are corrected', () => {
  const { comparisons } = analyseStudy(
    design,
    made((drink, cups, session) => (cups === 1 && session > 1 ? null : drink === 'tea' ? 10 : 20 + session)),
  )
  const [one, other] = comparisons
  assert.deepEqual([one?.p, one?.pCorrected, other?.pCorrected], [null, null, other?.p])
  assert.equal(other?.verdict, 'higher')
})

test('figures have at most six significant digits', () => {
  const odd = made(
    (drink, cups, session) => (drink === 'tea' ? Math.PI : Math.E * 3) * cups * Math.sqrt(session),
  )
  const { figures, comparisons } = analyseStudy(design, odd)
  const all = [
    ...figures.flatMap(({ mean, sd, p95, sessions }) => [mean, sd, p95, ...sessions]),
    ...comparisons.flatMap(({ ratio, ratioCi95, difference }) => [ratio, difference, ...(ratioCi95 ?? [])]),
  ]
  for (const one of all) assert.equal(one, Number(one?.toPrecision(6)))
})

test('one session gives a ratio without an interval, and decides nothing', () => {
  const once = { ...twice, samples: twice.samples.filter(({ session }) => session === 1) }
  const [one] = analyseStudy(design, once).comparisons
  assert.deepEqual([one?.ratio, one?.ratioCi95, one?.p, one?.verdict], [1.9901, null, null, 'undecided'])
})

test('a message counts once, with its mean over the windows', () => {
  const at = { drink: 'tea', cups: 1, session: 1 }
  const samples: Row[] = [
    { ...at, id: 'a', coolingMs: 10 },
    { ...at, id: 'a', coolingMs: 30 },
    { ...at, id: 'b', coolingMs: 50 },
  ]
  const { figures } = analyseStudy(design, { ...twice, samples })
  assert.deepEqual([figures[0]?.mean, figures[0]?.sessions], [30, [35]])
})

test('the window that sends is summarised apart', () => {
  const samples = twice.samples.flatMap((row) => [
    { ...row, receiver: 2 },
    { ...row, receiver: 1, coolingMs: 99 },
  ])
  const { figures, echoes } = analyseStudy(design, { ...twice, samples })
  assert.deepEqual([figures[0]?.mean, echoes[0]?.mean], [10.3, 99])
})

test('costs are summed by the factors that they name', () => {
  const costs = [1, 2].map((session) => ({
    drink: 'tea',
    session,
    cpuMs: 10,
    rssBytes: session * 1e6,
    machineBusy: session / 10,
  }))
  assert.deepEqual(analyseStudy(design, { ...twice, costs }).costs, [
    {
      mode: 'tea',
      at: { drink: 'tea' },
      serverCpuMs: 20,
      serverCpuMicrosPerSample: 2000,
      serverRssBytes: 2e6,
      machineBusy: 0.15,
    },
  ])
})

test('pairs of other levels may be compared', () => {
  const { comparisons } = analyseStudy({ ...design, pairs: () => [['tea', 'coffee']] }, twice)
  assert.deepEqual(
    comparisons.map(({ mode, baseline, verdict }) => [mode, baseline, verdict]),
    [
      ['tea, 1', 'coffee', 'lower'],
      ['tea, 2', 'coffee', 'lower'],
    ],
  )
})

test('a broken sample is in no figure, its session stays empty, and the finding begins with it', () => {
  const samples = twice.samples.map((row) =>
    row.session === 2 && row.drink === 'coffee' ? { ...row, broken: 'A cup broke.' } : row,
  )
  const found = analyseStudy(design, { ...twice, samples })
  const coffee = found.figures.find(({ mode }) => mode === 'coffee, 1')
  assert.deepEqual([coffee?.n, coffee?.expected, coffee?.sessions], [4, 4, [20.1, null, 20.3, 20.4, 20.5]])
  assert.deepEqual(
    found.comparisons[0]?.sessions.map(({ session }) => session),
    [1, 3, 4, 5],
  )
  assert.match(
    findingOfStudy(design, { ...twice, samples }, found),
    /^A cup broke\. A cup broke\. Coffee took/,
  )
})

const weighed: Design = {
  ...design,
  areMessages: false,
  measures: [
    ...design.measures,
    { name: 'grams', title: 'Sugar', unit: 'g', better: 'less', isCompared: false },
  ],
}

test('a measure that is only described is in one table, and in no comparison', () => {
  const samples = twice.samples.map((row) => ({ ...row, grams: row.drink === 'tea' ? row.session : 9 }))
  const found = analyseStudy(weighed, { ...twice, samples })
  assert.deepEqual([...new Set(found.comparisons.map(({ measure }) => measure))], ['coolingMs'])
  const sections = studySections(weighed, found, samples)
  const described = sections.find(({ title }) => title === 'Also measured')
  assert.deepEqual(
    described?.tables?.flatMap(({ rows }) => rows),
    [
      ['tea', '1', '3.00'],
      ['tea', '2', '3.00'],
      ['coffee', '1', '9.00'],
      ['coffee', '2', '9.00'],
    ],
  )
  assert.ok(!sections.some(({ title }) => title === 'Sugar'))
  const without = studySections(weighed, analyseStudy(weighed, twice), twice.samples)
  assert.ok(!without.some(({ title }) => title === 'Also measured'))
})

test('samples that are not messages are never lost', () => {
  const never = made((drink, cups) => (drink === 'coffee' ? null : 10 * cups))
  const found = analyseStudy(weighed, never)
  assert.match(findingOfStudy(design, never, found), /lost all 5 samples/)
  assert.doesNotMatch(findingOfStudy(weighed, never, found), /lost/)
  const titles = studySections(weighed, found, never.samples).map(({ title }) => title)
  assert.ok(!titles.includes('Lost, duplicated, reordered'))
})

test('pairs may rest on columns that are no factors', () => {
  const samples = twice.samples.map((row) => ({ ...row, isHot: row.drink === 'tea' }))
  const hotter: Design = {
    ...design,
    pairs: (levels, _, rows) => {
      const hot = levels.filter((level) => rows.some(({ drink, isHot }) => drink === level && isHot))
      return levels.flatMap((level) => hot.filter((one) => one !== level).map((one) => [level, one] as const))
    },
  }
  assert.deepEqual(
    analyseStudy(hotter, { ...twice, baseline: null, samples }).comparisons.map(({ mode }) => mode),
    ['coffee, 1', 'coffee, 2'],
  )
})

test('cells of a samples file may have commas and quotes', () => {
  assert.deepEqual(readRows('drink,session,why_not\n"tea, ""green""",2,\n,3,true\n'), [
    { drink: 'tea, "green"', session: 2, whyNot: null },
    { drink: null, session: 3, whyNot: true },
  ])
})
test('a row may stand for many samples, with their counts', () => {
  const counts = { expected: 100, lost: 3, duplicated: 2, reordered: 1 }
  const samples = twice.samples.map((row) => ({ ...row, ...counts }))
  const [tea] = analyseStudy(design, { ...twice, samples }).figures
  assert.deepEqual(
    [tea?.expected, tea?.n, tea?.lost, tea?.duplicated, tea?.reordered, tea?.mean],
    [500, 485, 15, 10, 5, 10.3],
  )
})
