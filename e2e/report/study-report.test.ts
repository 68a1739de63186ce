// The finding and the report of a toy study, which needs no file for either.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, drawNormal } from '../../client/wire.ts'
import { analyseStudy, type Design, type Measured, type Row } from '../lab/study.ts'
import { parsed } from './dom.ts'
import { reportFiles } from './render.ts'
import { findingOfStudy, formatNextSteps } from './study-finding.ts'
import { briefTables, studySections } from './study-report.ts'

const design: Design = {
  question: 'Which drink cools faster?',
  factors: [{ name: 'drink', title: 'Drink' }],
  measures: [{ name: 'coolingMs', title: 'Cooling', unit: 'ms', better: 'less' }],
  notes: () => ['Cups were of one size.'],
}

/** `timeOf`: by drink and session, ms; null if it never cooled. */
function made(timeOf: Readonly<Record<string, (session: number) => number | null>>, sessions = 5): Measured {
  const drinks = Object.keys(timeOf)
  const samples = Array.from({ length: sessions }, (_, index) => index + 1).flatMap((session) =>
    drinks.map((drink): Row => ({ drink, session, coolingMs: timeOf[drink]?.(session) ?? null })),
  )
  return { levels: { drink: drinks }, baseline: drinks[0] ?? null, samples }
}

const near = (ms: number) => (session: number) => ms + session / 100
const jumping = (ms: number) => (session: number) => ms * (session % 2 === 0 ? 0.5 : 2)

const findingOf = (measured: Measured, of = design) =>
  findingOfStudy(of, measured, analyseStudy(of, measured))

test('the fastest is named first, then every other with its ratio and interval', () => {
  assert.match(
    findingOf(made({ tea: near(10), coffee: near(20), soup: near(35) })),
    /^Tea was the fastest of 3 drinks\. It took 10\.0 ms on average; coffee took 2\.00 times as long \(95 % interval 2\.00 to 2\.00\) and soup 3\.49 times \(3\.49 to 3\.50\)\.$/,
  )
  assert.match(findingOf(made({ tea: near(20), coffee: near(10) })), /^Coffee was faster\. It took 10\.0 ms/)
})

test('two or many undecided levels are named, and the rest is still reported', () => {
  const two = findingOf(made({ tea: near(10), coffee: jumping(10) }))
  assert.match(two, /^Undecided whether tea or coffee is faster: tea took /)
  const all = findingOf(made({ tea: near(10), coffee: jumping(10), soup: jumping(10) }))
  assert.match(all, /^Undecided which drink is fastest: /)
  const rest = findingOf(made({ tea: near(10), coffee: jumping(10), soup: near(90) }))
  assert.match(rest, /^Undecided whether .* is faster: .* Soup took 8\.\d+ times as long \(/)
})

test('one session decides nothing, one level is only described, and nothing is no finding', () => {
  assert.match(
    findingOf(made({ tea: near(10), coffee: near(20) }, 1)),
    /^Undecided: one session cannot show how far sessions differ\. On average tea 10\.0 ms and coffee 20\.0 ms\.$/,
  )
  assert.equal(findingOf(made({ tea: near(10) })), 'Tea took 10.0 ms on average.')
  assert.equal(findingOf(made({})), 'No cooling was measured.')
})

test('losses come first, and if nothing arrived that is the finding', () => {
  const lost = made({ tea: near(10), coffee: (session) => (session < 3 ? null : 20) })
  assert.match(findingOf(lost), /^Coffee lost 2 of 5 samples\. Tea was faster\. /)
  assert.equal(
    findingOf(made({ tea: () => null, coffee: () => null })),
    'Tea lost all 5 samples. Coffee lost all 5 samples. No cooling was measured.',
  )
})

test('duplicates and reordered messages are counted too, at every window', () => {
  const samples = [1, 2].flatMap((receiver) =>
    [1, 2, 3, 4, 5].map(
      (session): Row => ({
        drink: 'tea',
        session,
        receiver,
        coolingMs: session === receiver ? null : 10,
        copies: session === 3 ? 2 : 1,
        reordered: session === 4 && receiver === 1,
      }),
    ),
  )
  assert.equal(
    findingOf({ levels: { drink: ['tea'] }, baseline: 'tea', samples }),
    'Tea lost 2 of 10 samples, repeated 2 and reordered 1. Tea took 10.0 ms on average.',
  )
})

test('at several places without comparisons, each level is described at each place, or once if it is the same', () => {
  const several: Design = { ...design, factors: [...design.factors, { name: 'cup', title: 'Cup' }] }
  const samples = ['tea', 'soup'].flatMap((drink) =>
    ['tin', 'clay'].map(
      (cup): Row => ({ drink, cup, session: 1, coolingMs: drink === 'tea' ? 5 : cup.length }),
    ),
  )
  assert.equal(
    findingOf({ levels: { drink: ['tea', 'soup'], cup: ['tin', 'clay'] }, baseline: null, samples }, several),
    'Cooling on average: tea 5.00 ms everywhere; soup 3.00 ms at tin and 4.00 ms at clay.',
  )
})

test('a difference that does not matter is reported as none', () => {
  const measured: Measured = {
    ...made({ tea: near(10), coffee: (session) => 10 + (session % 2 === 0 ? 0.2 : -0.1) }),
    matters: { amount: 10, isPercent: true },
  }
  assert.match(
    findingOf(measured),
    /^No difference that matters between (tea and coffee|coffee and tea): .*; 10 % would matter\.$/,
  )
})

test('if two alike are faster than the baseline, neither is called the fastest', () => {
  const finding = findingOf(
    made({ tea: near(60), coffee: jumping(10), soup: (session) => jumping(10)(session + 1) }),
  )
  assert.match(
    finding,
    /^Undecided whether (coffee or soup|soup or coffee) is faster: .* Tea took \d\.\d+ times as long \(/,
  )
})

test('only subjects are ranked; their baselines are not', () => {
  const isSubject = (drink: unknown) => drink !== 'water'
  const run = made({ tea: near(10), coffee: near(20), water: near(1) })
  assert.match(
    findingOf(run, { ...design, isSubject }),
    /^Tea was faster\. It took 10\.0 ms on average; coffee took [^;]*$/,
  )
})

test('if clocks leave nothing to compare, the finding is the averages', () => {
  assert.match(
    findingOf(made({ tea: near(10), coffee: (session) => (session === 1 ? -1 : 20) })),
    /^Undecided: messages arrived in too few sessions, or clock errors put a mean below 0\. On average tea /,
  )
})

test('for a measure other than time, more may be better', () => {
  const rate = { name: 'coolingMs', title: 'Sips', unit: 'sips', better: 'more' } as const
  assert.match(
    findingOf(made({ tea: near(10), coffee: near(20) }), { ...design, measures: [rate] }),
    /^Coffee was higher\. It had 20\.0 sips on average; tea had 0\.50 times as much \(/,
  )
})

/** Cooling times whose sessions differ by this share; `apart`: coffee's time over tea's. */
function drawn({ apart, sessions, seed }: { apart: number; sessions: number; seed: number }): Measured {
  const random = createSeededRandom(seed)
  const drawnTime = (ms: number) => () => ms * Math.exp(0.1 * drawNormal(random))
  return made({ tea: drawnTime(10), coffee: drawnTime(10 * apart) }, sessions)
}

const minuteMs = 60_000
const nextOf = (measured: Measured) => formatNextSteps(measured, analyseStudy(design, measured), minuteMs)

test('an undecided run says what to do next and how long that takes; a decided one does not', () => {
  const open = made({ tea: near(10), coffee: (session) => 10 + (session % 2 === 0 ? -1 : 3) })
  const [next = ''] = nextOf(open)
  const found = next.match(/^To decide, use --sessions (\d+): about (\d+) minutes\.$/)
  assert.ok(found && Number(found[1]) > 5 && found[1] === found[2], next)
  const limited = { ...open, matters: { amount: 5, isPercent: true }, until: 'limit' } as const
  assert.match(nextOf(limited)[0] ?? '', /^To decide, use --limit \d+: about /)
  assert.deepEqual(nextOf({ ...limited, until: 'decided' }), [])
  const small = made({ tea: near(10), coffee: (session) => 10 + (session % 2 === 0 ? -1 : 0.8) })
  assert.match(nextOf(small)[0] ?? '', /^To tell differences of 5 %, use --sessions \d+: about /)
  assert.deepEqual(nextOf(made({ tea: near(10), coffee: near(20) })), [])
  assert.deepEqual(nextOf(made({ tea: near(10), coffee: near(20) }, 1)), [
    'To decide, use --sessions 5: about 5 minutes.',
  ])
  assert.deepEqual(nextOf(made({ tea: near(10) }, 1)), [])
})

test('at least eight of ten undecided runs are decided with the sessions that they ask for', () => {
  const needed = Array.from({ length: 60 }, (_, seed) => nextOf(drawn({ apart: 1.13, sessions: 4, seed })))
    .flatMap(([words]) => words?.match(/--sessions (\d+)/)?.[1] ?? [])
    .slice(0, 10)
  const decided = needed.filter((sessions, index) => {
    const again = drawn({ apart: 1.13, sessions: Number(sessions), seed: 100 + index })
    return analyseStudy(design, again).comparisons[0]?.verdict === 'higher'
  })
  assert.equal(needed.length, 10)
  assert.ok(decided.length >= 8, `${decided.length} of 10, with ${needed}`)
})

test('a quick run says what it cannot decide, and how long the whole one takes', () => {
  const quick = { fullMs: 6 * minuteMs }
  const open = made({ tea: near(10), coffee: jumping(10) })
  assert.match(
    nextOf({ ...open, quick })[0] ?? '',
    /^A quick run cannot decide differences below (\d+ %|a factor of \d\.\d\d), nor how slow the slowest are\. Without --quick it takes about 6 minutes\.$/,
  )
  const once = made({ tea: near(10), coffee: near(20) }, 1)
  assert.match(nextOf({ ...once, quick })[0] ?? '', /^A quick run cannot decide what is faster, nor /)
})

const textOf = (measured: Measured, of = design) => {
  const found = analyseStudy(of, measured)
  const sections = studySections(
    of,
    { ...found, matters: measured.matters, until: measured.until },
    measured.samples,
  )
  return reportFiles({ title: of.question, subtitle: '', finding: '', sections }, found)
}

test('a run until everything is decided says why it ended', () => {
  const matters = { amount: 10, isPercent: true } as const
  const narrow = { ...made({ tea: near(10), coffee: near(20) }), matters, until: 'decided' } as const
  assert.match(
    textOf(narrow)['report.md'] ?? '',
    /A difference of less than 10 % of what .* for 5 sessions\./,
  )
  const wide = { ...made({ tea: near(10), coffee: jumping(10) }), matters, until: 'limit' } as const
  assert.match(textOf(wide)['report.md'] ?? '', /The time limit ended it after 5 sessions; about \d+ would /)
})

test('ratios are drawn on an axis with whole steps, and what could not be compared is named', () => {
  const run = made({ tea: near(2), coffee: near(40), soup: () => null })
  const files = textOf(run)
  assert.match(files['figures/comparisons.svg'] ?? '', />1<.*>2<.*>5<.*>10<.*>20</s)
  assert.match(files['report.md'] ?? '', /soup could not be compared with tea: no session has values of both/)
  const nothing = textOf(made({ tea: () => null, coffee: () => null }))['report.md'] ?? ''
  assert.match(nothing, /Nothing was compared\./)
})

test('times that a clock error made negative are drawn on a linear axis, which is stated', () => {
  assert.match(
    textOf(made({ tea: near(10) }))['report.md'] ?? '',
    /The axis is logarithmic and not truncated/,
  )
  const early = made({ tea: (session) => session - 3 })
  assert.match(textOf(early)['report.md'] ?? '', /The axis is linear, as some values are not above 0/)
})

test('the window that sends is not among the samples that are drawn', () => {
  const others = made({ tea: near(10) })
  const samples = [1, 2].flatMap((receiver) => others.samples.map((row) => ({ ...row, receiver })))
  const strokes = (measured: Measured) => textOf(measured)['figures/cooling.svg']?.split('h0').length
  assert.equal(strokes({ ...others, samples }), strokes(others))
})

test('the report has the plot of every sample, the table with ratios, and the notes', () => {
  const measured = made({ tea: near(10), coffee: near(20) })
  const found = analyseStudy(design, measured)
  const files = reportFiles(
    {
      title: design.question,
      subtitle: '',
      finding: findingOfStudy(design, measured, found),
      sections: studySections(design, found, measured.samples),
    },
    found,
  )
  const text = files['report.md'] ?? ''
  assert.match(text, /Cooling in ms\n\n\| Drink \| Mean ± sd \| Median \| p95 \| Ratio \| Received \|/)
  assert.match(text, /\| coffee \| 20\.0 ± 0\.02 \| 20\.0 \| 20\.0 \| 2\.00 \(2\.00 to 2\.00\) \| 5 of 5 \|/)
  assert.match(text, /Cups were of one size\./)
  assert.match(text, /\| coffee \/ tea \| 2\.00 \| 2\.00 to 2\.00 \| 10\.0 \(10\.0 to 10\.0\) \| slower \|/)
  assert.match(text, /Of 10 samples none was lost/)
  assert.match(files['figures/cooling.svg'] ?? '', /coffee/)
  assert.deepEqual(
    briefTables(design, found).map(({ rows }) => rows.map(([drink]) => drink)),
    [['tea (baseline)', 'coffee']],
  )
})

test('a measure that explains the others is in the tables, and has no section of its own', () => {
  const spoons = {
    name: 'spoons',
    title: 'Spoons',
    unit: 'a cup',
    better: 'less',
    isCompared: false,
  } as const
  const of: Design = { ...design, measures: [...design.measures, spoons] }
  const plain = made({ tea: near(10), coffee: near(20) })
  const measured = { ...plain, samples: plain.samples.map((row) => ({ ...row, spoons: 3 })) }
  const found = analyseStudy(of, measured)
  assert.deepEqual([...new Set(found.comparisons.map(({ measure }) => measure))], ['coolingMs'])
  const sections = studySections(of, found, measured.samples)
  assert.equal(
    sections.some(({ title }) => title === 'Spoons'),
    false,
  )
  const [, others] = briefTables(of, found)
  assert.deepEqual(
    others?.columns.map(({ title }) => title),
    ['Drink', 'Spoons, a cup'],
  )
  assert.deepEqual(others?.rows, [
    ['tea', '3.00'],
    ['coffee', '3.00'],
  ])
})

/** Cups by number, with milk and without; coffee is lost from `from` cups on. */
function madeCups(from: number, baseline: string | null = 'tea') {
  const levels = { drink: ['tea', 'coffee', 'decaf'], cups: [1, 2, 4], milk: ['with', 'without'] }
  const samples = [1, 2, 3].flatMap((session) =>
    levels.drink.flatMap((drink) =>
      levels.cups.flatMap((cups) =>
        levels.milk.map((milk): Row => {
          const ms = (drink === 'tea' ? 10 : 20) * cups + session
          const isLost = drink === 'coffee' && milk === 'with' && cups >= from
          return { drink, cups, milk, session, coolingMs: isLost ? null : ms }
        }),
      ),
    ),
  )
  return { levels, baseline, samples } satisfies Measured
}

const cupsDesign: Design = {
  ...design,
  factors: [
    { name: 'drink', title: 'Drink', family: (drink) => (drink === 'decaf' ? 'coffee' : drink) },
    { name: 'cups', title: 'Cups', label: (cups) => `${cups} cups`, short: String },
    { name: 'milk', title: 'Milk', label: (milk) => `${milk} milk`, spoken: (milk) => `${milk} milk` },
  ],
  measures: [{ ...design.measures[0], needsAll: true }],
}

test('over a numeric factor the finding says up to where nothing was lost', () => {
  const some = findingOf(madeCups(4), cupsDesign)
  assert.match(some, /^Coffee with milk lost nothing up to 2 cups and lost all 3 samples at 4 cups\. /)
  assert.match(findingOf(madeCups(2), cupsDesign), /up to 1 cups and lost all 6 samples from 2 cups on\. /)
  assert.match(
    findingOf(madeCups(1), cupsDesign),
    /^Coffee at 1 cups with milk lost all 3 samples\. Coffee at/,
  )
  assert.match(
    findingOf(madeCups(9, null), cupsDesign),
    /^Cooling on average: tea 12\.0 ms at 1 cups with milk and 42\.0 ms at 4 cups with milk; tea 12\.0 ms/,
  )
})

test('a number and another factor: a panel and rows for each level, a cross for losses, dashes in a family', () => {
  const measured = madeCups(4)
  const found = analyseStudy(cupsDesign, measured)
  const sections = studySections(cupsDesign, found, measured.samples)
  const files = reportFiles({ title: '', subtitle: '', finding: '', sections }, found)
  const text = files['report.md'] ?? ''
  assert.match(text, /\| Drink \| Milk \| 1 cups \| 2 cups \| 4 cups \|/)
  assert.match(text, /\| coffee \| with milk \| 22\.0 \| 42\.0 \| ✗ \|/)
  assert.match(text, /✗ Samples were lost;/)
  const drawn = parsed(files['figures/cooling.svg'] ?? '')
  const count = (selector: string) => drawn.querySelectorAll(selector).length
  assert.deepEqual([count('[aria-label=dot] circle'), count('[aria-label=dot] path')], [17, 1])
  assert.deepEqual([count('[aria-label=line]'), count('[stroke-dasharray]')], [6, 2])
  assert.match(files['figures/cooling.svg'] ?? '', />with milk<.*>without milk</s)
})

test('a factor with one level stands in the caption, not in a column', () => {
  const measured = { ...madeCups(9), levels: { ...madeCups(9).levels, milk: ['with'] } }
  const samples = measured.samples.filter(({ milk }) => milk === 'with')
  const one = { ...measured, samples }
  const [first] = studySections(cupsDesign, analyseStudy(cupsDesign, one), samples)
  assert.equal(first?.tables?.[0]?.caption, 'Mean in ms, with milk')
  assert.deepEqual(
    first?.tables?.[0]?.columns.map(({ title }) => title),
    ['Drink', '1 cups', '2 cups', '4 cups'],
  )
})

const levels = { drink: ['tea', 'coffee'], cups: [1, 2, 4], room: ['hall', 'cellar'] }
const threeFactors: Design = {
  ...design,
  factors: [
    ...design.factors,
    { name: 'cups', title: 'Cups', spoken: (cups) => `with ${cups} cups` },
    { name: 'room', title: 'Room', spoken: (room) => `in the ${room}` },
  ],
  measures: [
    ...design.measures,
    {
      name: 'spilledPercent',
      title: 'Spilled',
      unit: '%',
      better: 'less',
      by: 'mean',
      isCompared: false,
    },
  ],
}

function madeInRooms(): Measured {
  const samples = levels.drink.flatMap((drink) =>
    levels.cups.flatMap((cups) =>
      levels.room.flatMap((room) =>
        [1, 2, 3].map(
          (session): Row => ({
            drink,
            cups,
            room,
            session,
            coolingMs: (drink === 'tea' ? 10 : 20) * cups + session / 100,
            spilledPercent: session === 3 ? 4 : 1,
          }),
        ),
      ),
    ),
  )
  return { levels, baseline: 'tea', samples }
}

function reportOf(measured: Measured) {
  const found = analyseStudy(threeFactors, measured)
  const finding = findingOfStudy(threeFactors, measured, found)
  const sections = studySections(threeFactors, found, measured.samples)
  return reportFiles({ title: '', subtitle: '', finding, sections }, found)
}

test('the finding names only factors with several levels', () => {
  const measured = madeInRooms()
  const hall = {
    ...measured,
    levels: { ...levels, room: ['hall'] },
    samples: measured.samples.filter(({ room }) => room === 'hall'),
  }
  assert.match(
    findingOf(hall, threeFactors),
    /^Coffee took 2\.00 times as long as tea with 1 cups \(.*\) and 2\.00 times with 4 cups \(/,
  )
  assert.match(
    findingOf(measured, threeFactors),
    /^Coffee took 2\.00 .* in the hall \(.*\)\. Coffee took 2\.00 .* in the cellar \(/,
  )
  // Four sentences would be too many.
  const soup = measured.samples.map((row) => ({ ...row, drink: row.drink === 'tea' ? 'tea' : 'soup' }))
  const more = { ...measured, levels: { ...levels, drink: ['tea', 'coffee', 'soup'] } }
  assert.match(
    findingOf(
      { ...more, samples: [...measured.samples, ...soup.filter(({ drink }) => drink === 'soup')] },
      threeFactors,
    ),
    /^Coffee took between 2\.00 .* and 2\.00 times .*\. Soup took between [^.]*2\.00 .* and 2\.00 times [^.]*\./,
  )
})

test('measures that are only described share one table, of means if each measure says so', () => {
  assert.match(
    reportOf(madeInRooms())['report.md'] ?? '',
    /Means over all sessions\n\n\| Drink \| Cups \| Room \| Spilled, % \|\n.*\n\| tea \| 1 \| hall \| 2\.00 \|/,
  )
})
