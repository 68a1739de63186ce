import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mode, modes, type WindowMode, windowModes } from '../../protocol/modes.ts'
import { createSeededRandom, drawNormal, shuffled } from '../../protocol/time.ts'
import {
  estimateOf,
  failureOf,
  formatLoss,
  formatVerdict,
  isLastRound,
  medianOf,
  pauseBefore,
  planAsked,
  type Row,
  rowsOf,
  type Turn,
  usualPlan,
  verdictOf,
} from './comparison.ts'
import { fragmentOf, resultIn } from './result-link.ts'

const [first, second, third] = modes.map(({ name }) => name)

/** Rows of the first modes, with these medians by round. */
function rowsWith(...medians: readonly (readonly (number | null)[])[]): Row[] {
  return medians.map((of, index) => {
    const mode = modes[index]
    assert.ok(mode)
    return { mode, serverHttp: mode.http, sent: 10, received: 10, medians: of, failure: null }
  })
}

const turnOf = (index: number, change: Partial<Turn>): Turn => {
  const mode = modes[index]
  assert.ok(mode)
  const usual = { openMs: 5, serverHttp: mode.http, roundTripMs: 3, closing: null, times: [1, 2, 3] }
  return { mode, ...usual, ...change }
}

test('a missing probe counts as later than every one that arrived', () => {
  assert.equal(medianOf([3, 1, 2]), 2)
  assert.equal(medianOf([4, 1, 2, 3]), 2.5)
  assert.equal(medianOf([1, null, 2]), 2)
  assert.equal(medianOf([1, null, null]), null)
  assert.equal(medianOf([1, null]), null)
  assert.equal(medianOf([]), null)
})

test('the interval covers the true median in 95 % of comparisons, and needs three rounds', () => {
  const random = createSeededRandom(11)
  let covered = 0
  for (let run = 0; run < 4000; run += 1) {
    const medians = Array.from({ length: 6 }, () => 4 * Math.exp(0.3 * drawNormal(random)))
    const [low = 0, high = 0] = estimateOf(rowsWith(medians)[0] as Row)?.interval ?? []
    if (low <= 4 && 4 <= high) covered += 1
  }
  assert.ok(covered > 3740 && covered < 3860, `${covered} of 4000`)
  assert.deepEqual(estimateOf(rowsWith([4, 9, null])[0] as Row), {
    medianMs: Math.exp(Math.log(36) / 2),
    interval: null,
  })
  assert.equal(estimateOf(rowsWith([null])[0] as Row), null)
})

test('names the fastest mode if it is faster in every round, however much the rounds differ', () => {
  const rounds = [10, 40, 15, 80, 22, 31]
  const rows = rowsWith(
    rounds.map((ms, round) => ms * (1.2 + round / 100)),
    rounds,
    rounds.map((ms, round) => ms * (3 + round / 10)),
  )
  assert.deepEqual([verdictOf(rows).modes.map(({ name }) => name), verdictOf(rows).compared], [[second], 2])
})

test('modes that cannot be told apart are undecided; slower ones are excluded', () => {
  const rows = rowsWith([5, 6, 5, 6, 5, 6], [6, 5.1, 5.9, 5, 6, 5.2], [50, 60, 50, 60, 55, 58], [null, null])
  assert.deepEqual(
    verdictOf(rows).modes.map(({ name }) => name),
    [first, second],
  )
  // Two rounds decide nothing.
  assert.equal(verdictOf(rowsWith([1, 1], [100, 100])).modes.length, 2)
  assert.deepEqual(verdictOf([]), { modes: [], compared: 0 })
  assert.deepEqual(
    verdictOf(rowsWith([null], [3])).modes.map(({ name }) => name),
    [second],
  )
})

test('the verdict covers every mode: the fastest, the slower ones, and those without a figure', () => {
  const fast = [5, 6, 5, 6, 5, 6]
  const alike = [6, 5.1, 5.9, 5, 6, 5.2]
  const slow = fast.map((ms, round) => ms * (9 + round / 10))
  const [one, two, three] = modes.map(({ label }) => `“${label}”`)
  const { label } = modes[0] as Mode
  const figure = /^The fastest: (.+), 5\.5 ms \([\d.]+ to [\d.]+ ms\); the other 2 were slower\.$/
  for (const [medians, words] of [
    [[fast, alike, slow, slow, slow], `Undecided between ${one} and ${two}; the other 3 were slower.`],
    [[fast, alike, slow], `Undecided between ${one} and ${two}; the other one was slower.`],
    [[fast, alike], `Undecided between ${one} and ${two}.`],
    [[fast, alike, [null]], `Undecided between ${one} and ${two}. Without a figure: ${three}.`],
    [[[null], [null]], 'No mode got through.'],
  ] as const)
    assert.equal(formatVerdict(rowsWith(...medians)), words)
  assert.equal(figure.exec(formatVerdict(rowsWith(fast, slow, slow)))?.[1], label)
  assert.match(
    formatVerdict(rowsWith(fast, slow, [null])),
    /\); the other one was slower\. Without a figure: ./,
  )
  assert.match(
    formatVerdict(rowsWith(fast, [null], [null])),
    /^Only .* got through: 5\.5 ms .*Without a figure: ./,
  )
})

test('for equal modes, one is named fastest in at most 5 % of comparisons', () => {
  const random = createSeededRandom(5)
  const draw = () => Array.from({ length: 8 }, () => Math.exp(0.3 * drawNormal(random)))
  let named = 0
  for (let run = 0; run < 2000; run += 1)
    if (verdictOf(rowsWith(draw(), draw())).modes.length === 1) named += 1
  assert.ok(named < 130, `${named} of 2000`)
})

test('rows count probes sent and received, by round, and say why a mode has none', () => {
  const unsupported = { code: 'unsupported', sentence: '', retryAfterMs: null } as const
  const rows = rowsOf(
    [
      [turnOf(1, {}), turnOf(0, { times: [1, null, 2] })],
      [turnOf(0, {}), turnOf(2, { openMs: null, times: [], closing: unsupported })],
    ],
    modes,
  )
  assert.equal(rows.length, modes.length)
  const [one, two, three, four] = rows
  assert.deepEqual([one?.sent, one?.received, one?.medians, one?.failure], [6, 5, [2, 2], 'missing'])
  assert.deepEqual([two?.sent, two?.medians, two?.failure], [3, [2, null], null])
  assert.deepEqual([three?.mode.name, three?.failure], [third, 'unsupported'])
  assert.deepEqual([four?.sent, four?.failure, four?.medians], [0, null, [null, null]])
  assert.equal(failureOf(turnOf(0, { openMs: null, times: [] })), 'late')
  assert.equal(failureOf(turnOf(0, { closing: { ...unsupported, code: 'draining' } })), 'lost')
})

test('the plan: every order is equally likely, pauses have random phases, and the last round ends near the budget', () => {
  const random = createSeededRandom(3)
  const orders = new Map<string, number>()
  for (let run = 0; run < 6000; run += 1) {
    const order = shuffled(['a', 'b', 'c'], random).join('')
    orders.set(order, (orders.get(order) ?? 0) + 1)
  }
  assert.equal(orders.size, 6)
  for (const count of orders.values()) assert.ok(count > 880 && count < 1120, `${count}`)
  for (const at of [0, 0.999]) {
    const pauseMs = pauseBefore(usualPlan, () => at)
    assert.ok(pauseMs >= usualPlan.pauseMs / 2 && pauseMs < usualPlan.pauseMs * 1.5)
  }
  assert.equal(isLastRound(usualPlan, 3, 60_000), false)
  assert.equal(isLastRound(usualPlan, 4, 60_000), true)
  assert.equal(isLastRound(usualPlan, 7, 25_000), false)
  assert.equal(isLastRound(usualPlan, 8, 28_500), true)
  assert.equal(isLastRound(usualPlan, 16, 1000), true)
  assert.equal(planAsked('?view=compare&rounds=3').rounds, 3)
  for (const asked of ['', '0', '61', '2.5', 'x'])
    assert.equal(planAsked(`?rounds=${asked}`).rounds, null, asked)
})

const result = {
  at: 1_795_000_000_000,
  browser: 'Firefox 128',
  rows: rowsWith([1.234, null, 30.5], [2, 2, 2]).map((row, index) =>
    index === 0 ? row : { ...row, serverHttp: null, received: 9, failure: 'missing' as const },
  ),
}

test('a link decodes to the result it was made from', () => {
  assert.deepEqual(resultIn(fragmentOf(result)), result)
  assert.equal(new URL(`https://localhost/${fragmentOf(result)}`).hash, fragmentOf(result))
  assert.equal(resultIn(''), null)
  assert.equal(resultIn('#document'), null)
})

test('a link of 16 rounds in every mode stays short', () => {
  const medians = Array.from({ length: 16 }, (_nothing, round) => 100 + round / 7)
  const rows = modes.flatMap((mode) => rowsWith(medians).map((row) => ({ ...row, mode })))
  assert.ok(fragmentOf({ ...result, rows }).length < 1500)
})

test('an altered link is rejected in one sentence', () => {
  const good = fragmentOf(result)
  for (const bad of [
    '#compared=',
    good.slice(0, 30),
    good.replace('=1~', '=2~'),
    good.replace('Firefox', '%3Cscript%3E'),
    good.replace('Firefox', '%E0%A4%A'),
    good.replace(`${first}*`, 'carrier-pigeon/1*'),
    good.replace(`~${second}*`, `~${first}*`),
    good.replace('*missing*', '*surely*'),
    `${good}.${'1.'.repeat(70)}`,
    `${good}.-5`,
    `${good}.zzzzzzzzzz`,
    `${good}.1jk`,
    `${good}*1`,
    `${good}~`,
    good.replace('*a*a*', '*a*b*'),
    good + '.1'.repeat(20_000),
  ]) {
    assert.notEqual(bad, good)
    assert.match(
      String(resultIn(bad)),
      /^This link carries no readable result.*measure here\.$/,
      bad.slice(0, 80),
    )
  }
})

test('many late messages are reported, with those over HTTP/3; a few are not', () => {
  const timesOf = (late: number, all = 20) => Array.from({ length: all }, (_, n) => (n < late ? 300 : 10))
  const turn = (http: string, late: number): Turn => {
    const mode = windowModes.find((one) => one.transport === 'sse' && one.http === http) as WindowMode
    return { ...turnOf(0, {}), mode, serverHttp: mode.http, times: timesOf(late) }
  }
  assert.equal(formatLoss([turn('2', 2), turn('1.1', 0), turn('3', 9)]), null)
  assert.match(
    formatLoss([turn('2', 4), turn('1.1', 1), turn('3', 1)]) ?? '',
    /^5 of 40 messages .* Over HTTP\/3 it was 1 of 20\.$/,
  )
  assert.match(formatLoss([turn('2', 4)]) ?? '', /does not offer/)
})

test('a mode over HTTP/3 for which the browser used HTTP/2 has no figure', () => {
  const mode = windowModes.find(({ isOverUdp }) => isOverUdp) as WindowMode
  assert.equal(failureOf({ ...turnOf(0, {}), mode, serverHttp: '2', openMs: null, times: [] }), 'instead')
})
