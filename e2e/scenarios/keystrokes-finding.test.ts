// Summaries of made-up runs: known counts, verdicts and finding.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDecided, sessionsNeeded } from '../lab/comparisons.ts'
import { atAllWindows } from '../lab/samples.ts'
import { analyse } from './keystrokes-report.ts'
import { type Making, madeRun, threeModes, withPeers } from './testing.ts'

const summaryOf = (making: Making = {}) => analyse(madeRun(making))
const modeOf = (making: Making, name: string) => {
  const found = summaryOf(making).modes.find(({ mode }) => mode === name)
  assert.ok(found)
  return found
}

test('the fastest mode is named first, then every other with its ratio and interval', () => {
  const { finding, comparisons } = summaryOf()
  assert.match(
    finding,
    /^WebSocket was the fastest of 3 modes, by less than a person would notice\. It took \d\.\d ms on average; SSE \+ XHR over HTTP\/1\.1 took \d\.\d+ times as long \(95 % interval \d\.\d+ to \d\.\d+\) and SSE \+ XHR over HTTP\/2 \d\.\d+ times \(\d\.\d+ to \d\.\d+\)\.$/,
  )
  assert.deepEqual(
    comparisons.map(({ verdict }) => verdict),
    ['faster', 'faster'],
  )
  for (const {
    differenceMs,
    ci95Ms: [low, high],
    sessions,
  } of comparisons) {
    assert.ok(low < differenceMs && differenceMs < high && high < 0)
    assert.deepEqual(
      sessions.map(({ session }) => session),
      [1, 2, 3, 4],
    )
  }
})

test('if the baseline is fastest, it is compared with the next', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 1 },
    { mode: 'sse/1.1', medianMs: 3 },
  ]
  assert.match(
    summaryOf({ behaviours }).finding,
    /^SSE \+ XHR over HTTP\/2 was faster, by .*; SSE \+ XHR over HTTP\/1.1 took \d\.\d+ times as long \(/,
  )
})

test('equal modes are undecided', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 3 },
    { mode: 'sse/1.1', medianMs: 3 },
  ]
  const { finding, comparisons } = summaryOf({ behaviours })
  assert.equal(comparisons[0]?.verdict, 'undecided')
  assert.match(finding, /^Undecided whether SSE .* or SSE .* is faster: /)
  const three = threeModes.map(({ mode }) => ({ mode, medianMs: 3 }))
  assert.match(summaryOf({ behaviours: three }).finding, /^Undecided which mode is fastest: \w+/)
})

test('a difference within the clock error is undecided, however small its p', () => {
  const run = madeRun()
  const { comparisons } = analyse({ ...run, clock: { method: 'server exchange', boundMs: 50 } })
  for (const { verdict, pCorrected } of comparisons) assert.ok(verdict === 'undecided' && pCorrected < 0.01)
})

test('of two similar modes faster than the baseline, neither is called fastest', () => {
  const behaviours = threeModes.map(({ mode }) => ({ mode, medianMs: mode === 'sse/2' ? 6 : 2 }))
  const { finding } = summaryOf({ behaviours })
  assert.match(finding, /^Undecided whether (WebSocket or SSE .*1\.1|SSE .*1\.1 or WebSocket) is faster: /)
  assert.match(finding, /\. SSE \+ XHR over HTTP\/2 took \d\.\d+ times as long \(\d\.\d+ to \d\.\d+\)\.$/)
})

test('one session decides nothing, however many keys it has', () => {
  const { finding, comparisons, notCompared } = summaryOf({ sessions: 1, keys: 500 })
  assert.match(
    finding,
    /^Undecided: one session cannot show how far sessions differ\. On average WebSocket \d\.\d ms, SSE /,
  )
  assert.deepEqual([comparisons.length, notCompared.length], [0, 2])
})

test('if sessions differ more than the modes, nothing is decided', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 3 },
    { mode: 'sse/1.1', medianMs: 3.2 },
  ]
  assert.equal(summaryOf({ behaviours, sessionSpread: 0, keys: 400 }).comparisons[0]?.verdict, 'slower')
  assert.equal(summaryOf({ behaviours, sessionSpread: 0.3, keys: 400 }).comparisons[0]?.verdict, 'undecided')
})

test('if the machine’s speed doubles between sessions, the verdict holds, since it uses the ratio', () => {
  const run = madeRun({ sessions: 4, keys: 100 })
  const samples = run.samples.map((sample) => {
    const factor = sample.session % 2 ? 1 : 4
    const receivedAt = sample.receivedAt && sample.sentAt + factor * (sample.receivedAt - sample.sentAt)
    return { ...sample, receivedAt }
  })
  for (const { verdict, ci95Ms } of analyse({ ...run, samples }).comparisons)
    assert.ok(verdict === 'faster' && ci95Ms[1] > 0, `${verdict}, to ${ci95Ms[1]} ms`)
})

test("clocks that put a session's mean below 0 decide nothing", () => {
  const run = madeRun()
  const samples = run.samples.map((sample) =>
    sample.mode === 'websocket/1.1' && sample.session === 1 && sample.receivedAt
      ? { ...sample, receivedAt: sample.sentAt - 1 }
      : sample,
  )
  const { notCompared, comparisons } = analyse({ ...run, samples })
  assert.deepEqual(notCompared, [{ mode: 'websocket/1.1', baseline: 'sse/2' }])
  assert.equal(comparisons.length, 1)
})

test('until decided: narrow intervals settle the smallest difference that matters; wide ones say how many sessions are missing', () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 3 },
    { mode: 'sse/1.1', medianMs: 3 },
  ]
  const until = { matters: { amount: 1, unit: 'ms' }, outcome: 'decided' } as const
  const narrow = analyse({ ...madeRun({ behaviours, keys: 200 }), until })
  assert.equal(narrow.comparisons[0]?.verdict, 'alike')
  assert.match(narrow.finding, /^No difference that matters between SSE .*; 1\.0 ms would matter\.$/)
  assert.ok(isDecided(narrow))
  assert.equal(sessionsNeeded(narrow.comparisons, narrow.sessions), 4)
  const wide = analyse({ ...madeRun({ behaviours, sessionSpread: 0.5 }), until })
  assert.equal(wide.comparisons[0]?.verdict, 'undecided')
  assert.ok(!isDecided(wide) && sessionsNeeded(wide.comparisons, wide.sessions) > 4)
})

test('every mode and every peer is named in the verdict or the remarks', () => {
  const systems = [
    { mode: 'bare:websocket/1.1', medianMs: 1.5 },
    { mode: 'mercure:sse/3', medianMs: 5 },
  ]
  const { finding, remarks } = summaryOf({ behaviours: [...threeModes, ...systems] })
  for (const name of ['WebSocket was', 'HTTP/2 ', 'HTTP/1.1 ']) assert.ok(finding.includes(name), finding)
  const others = remarks.find((words) => words.startsWith('Other systems: '))
  assert.match(others ?? '', /WebSocket took \d\.\d+ times as long as bare \(.*; mercure took \d\.\d ms\.$/)
})

test('what lies between the modes is told by what people notice, and what programs can send', () => {
  const meaningOf = (slowMs: number) => {
    const behaviours = [
      { mode: 'websocket/1.1', medianMs: 2 },
      { mode: 'sse/2', medianMs: slowMs },
    ]
    return summaryOf({ behaviours }).remarks
  }
  const [people, programs] = meaningOf(5)
  assert.match(
    people ?? '',
    /^Between WebSocket and SSE .* lie \d\.\d ms, which is less than a person .*34 ms/,
  )
  assert.match(programs ?? '', /sends [45]\d\d a second with WebSocket and [12]\d\d with SSE .*µs with SSE/)
  assert.match(meaningOf(43)[0] ?? '', / enough for some people to notice: /)
  assert.match(meaningOf(100)[0] ?? '', / enough for most people to notice: /)
})

const close = [
  { mode: 'sse/2', medianMs: 3 },
  { mode: 'sse/1.1', medianMs: 3.4 },
]
const lastRemark = (run: ReturnType<typeof madeRun>) => analyse(run).remarks.at(-1) ?? ''

test('undecided says what to do next and how long that takes; decided does not', () => {
  const making = { behaviours: close, sessionSpread: 0.2, keys: 20 }
  const run = { ...madeRun(making), startedAt: '2026-01-01T10:00:00Z', finishedAt: '2026-01-01T10:04:00Z' }
  const next = lastRemark(run).match(/^To decide, use --sessions (\d+): about (\d+) minutes\.$/)
  // Four sessions took four minutes.
  assert.ok(next && Number(next[1]) > 4 && next[1] === next[2], lastRemark(run))
  const until = { matters: { amount: 5, unit: '%' }, outcome: 'limit' } as const
  assert.match(lastRemark({ ...run, until }), /^To decide, use --limit \d+: about /)
  const behaviours = close.map(({ mode }) => ({ mode, medianMs: 3 }))
  const equal = lastRemark(madeRun({ ...making, behaviours, sessionSpread: 0, sessions: 8, keys: 60 }))
  assert.match(equal, /^To tell differences of 5 %, use --sessions \d+: about /)
  assert.match(lastRemark(madeRun({ ...making, sessions: 1 })), /^To decide, use --sessions 5: about /)
  assert.doesNotMatch(lastRemark(madeRun()), /--sessions/)
})

test('of ten undecided runs, at least eight are decided with the sessions that they ask for', () => {
  const making = { behaviours: close, sessionSpread: 0.1, keys: 6, blocks: 1, windows: 3 }
  const needed = Array.from({ length: 40 }, (_, seed) => lastRemark(madeRun({ ...making, seed })))
    .flatMap((words) => words.match(/--sessions (\d+)/)?.[1] ?? [])
    .slice(0, 10)
  const decided = needed.filter((sessions, place) => {
    const [again] = analyse(madeRun({ ...making, sessions: Number(sessions), seed: 100 + place })).comparisons
    return again?.verdict === 'slower'
  })
  assert.equal(needed.length, 10)
  assert.ok(decided.length >= 8, `${decided.length} of 10, with ${needed}`)
})

test('a quick run says what it cannot decide, and how long the full one takes', () => {
  const quick = { fullMs: 360_000 }
  const last = (making: Making) => lastRemark({ ...madeRun(making), quick })
  assert.match(
    last({}),
    /^A quick run cannot decide differences below \d+ %, nor how slow the slowest keys are\. Without --quick it takes about 6 minutes\.$/,
  )
  assert.match(last({ sessions: 1 }), /^A quick run cannot decide which mode is faster, nor /)
})

test('a percentage that matters is a share of the mean that a mode is compared with', () => {
  const until = { matters: { amount: 5, unit: '%' }, outcome: 'limit' } as const
  const { comparisons, modes } = analyse({ ...madeRun(), until })
  const baseline = modes.find(({ mode }) => mode === comparisons[0]?.baseline)
  assert.ok(Math.abs((comparisons[0]?.mattersMs ?? 0) - 0.05 * (baseline?.meanMs ?? 0)) < 1e-4)
  assert.equal(summaryOf().comparisons[0]?.mattersMs, null)
})

test('a message received by five windows weighs no more than one received by a single window', () => {
  const alone = madeRun({ windows: 1 })
  const samples = alone.samples.flatMap((sample) =>
    [1, 2, 3, 4, 5].map((receiver) => ({ ...sample, receiver })),
  )
  assert.deepEqual(analyse({ ...alone, samples }).comparisons, analyse(alone).comparisons)
})

test('each mode is compared with its peer, and all p are corrected together', () => {
  const { comparisons } = summaryOf({ behaviours: withPeers })
  assert.deepEqual(
    comparisons.map(({ mode, baseline }) => `${mode} - ${baseline}`),
    [
      'sse/1.1 - sse/2',
      'websocket/1.1 - sse/2',
      'sse/2 - bare:sse/2',
      'sse/1.1 - bare:sse/1.1',
      'websocket/1.1 - bare:websocket/1.1',
    ],
  )
  const largest = comparisons.toSorted((a, b) => b.p - a.p)[0]
  assert.ok(
    comparisons.every(({ p, pCorrected }) => pCorrected >= p) && largest && largest.pCorrected >= largest.p,
  )
  assert.ok(comparisons.some(({ p, pCorrected }) => pCorrected > p))
  const webSocket = comparisons.at(-1)
  assert.ok(webSocket && webSocket.medianRatio > 1.1 && webSocket.medianRatio < 1.35)
})

test("a system is compared with its transport's mode, and with none if that was not measured", () => {
  const systems = [
    { mode: 'socket.io:websocket/1.1', medianMs: 2 },
    { mode: 'ws:websocket/1.1', medianMs: 1.5 },
    { mode: 'mercure:sse/3', medianMs: 5 },
  ]
  const { comparisons } = summaryOf({ behaviours: [...threeModes, ...systems] })
  assert.deepEqual(
    comparisons
      .filter(({ baseline }) => baseline.includes(':'))
      .map(({ mode, baseline }) => [mode, baseline]),
    [
      ['websocket/1.1', 'socket.io:websocket/1.1'],
      ['websocket/1.1', 'ws:websocket/1.1'],
    ],
  )
})

test('lost, duplicated and reordered messages are counted and come first in the finding', () => {
  const faulty = { mode: 'sse/2', medianMs: 5, lost: 0.02, duplicated: 0.01, reordered: 0.01 }
  const behaviours = [faulty, { mode: 'websocket/1.1', medianMs: 2 }]
  const { modes, echoes, finding } = summaryOf({ behaviours })
  assert.deepEqual([modes[0]?.expected, echoes[0]?.expected], [800, 200])
  const [all] = atAllWindows(modes, echoes)
  assert.ok(all && echoes[0])
  const { n, expected, lost, duplicated, reordered } = all
  assert.ok(echoes[0].lost > 0 && lost > echoes[0].lost && duplicated > 0 && reordered > 0)
  assert.equal(n + lost, expected)
  assert.match(
    finding,
    new RegExp(
      `^SSE \\+ XHR over HTTP/2 lost ${lost} of 1,000 samples, duplicated ${duplicated}, reordered ${reordered}\\. WebSocket was faster, by `,
    ),
  )
})

test("stages have medians, on the machine's clock and on the server’s", () => {
  for (const oneMachine of [true, false]) {
    const { inputMs, upMs, downMs, applyMs, paintMs } = modeOf({ oneMachine }, 'sse/2')
    assert.ok(inputMs && inputMs > 0.2 && inputMs < 0.4)
    assert.ok(upMs && downMs && downMs > upMs)
    assert.ok(applyMs && paintMs && paintMs > 6 && paintMs < 10)
  }
})

test('windows on several machines have their own medians, excluding missed turns', () => {
  const run = madeRun({ windows: 3, oneMachine: false })
  const windows = [0.2, 0.3, 9].map((boundMs, place) => ({
    receiver: place + 1,
    name: `window ${place + 1}`,
    boundMs,
    missed: place === 2 ? ['session 1, block 1, sse/2: was hidden'] : [],
  }))
  const slow = run.samples.map((sample) =>
    sample.receiver === 3 && sample.receivedAt !== null
      ? { ...sample, receivedAt: sample.receivedAt + 100 }
      : sample,
  )
  const [first, , third] = analyse({ ...run, samples: slow, windows }).windows
  assert.ok(first && third)
  for (const [mode, ms] of Object.entries(third.p50Ms)) {
    assert.ok(ms !== null && ms > 100 && (first.p50Ms[mode] ?? 0) < 20, mode)
  }
  assert.deepEqual([third.boundMs, third.missed.length, first.missed], [9, 1, []])
  assert.deepEqual(analyse(run).windows, [])
})

test("the stages add up to the time from input to paint, without the typing window; unreported stages count as the network's", () => {
  const run = madeRun({ behaviours: [{ mode: 'sse/2', medianMs: 4 }], windows: 3 })
  const received = run.samples.filter(({ receiver, paintedAt }) => receiver !== 1 && paintedAt !== null)
  const whole = received.map(({ inputAt, paintedAt }) => (paintedAt ?? 0) - (inputAt ?? 0))
  const pathIn = (given: typeof run) => analyse(given).modes[0]?.path ?? []
  const path = pathIn(run)
  assert.equal(path.length, 9)
  const sum = path.reduce((total, { meanMs }) => total + meanMs, 0)
  assert.ok(Math.abs(sum - whole.reduce((total, ms) => total + ms, 0) / whole.length) < 0.001, String(sum))
  const untold = { arrivedAt: null, acceptedAt: null, committingAt: null, storedAt: null, writtenAt: null }
  const far = pathIn({ ...run, samples: run.samples.map((sample) => ({ ...sample, ...untold })) })
  assert.deepEqual(
    far.map(({ stage, by }) => [stage, by]),
    [
      ['Input → sent', 'page'],
      ['Way up … Way down', 'way'],
      ['Applied', 'page'],
      ['Painted', 'page'],
    ],
  )
})

test('of three messages the last may be read before it is drawn, and two may not', () => {
  const { samples, ...run } = madeRun({
    behaviours: [{ mode: 'sse/2', medianMs: 4 }],
    windows: 2,
    sessions: 1,
    keys: 3,
    blocks: 1,
  })
  const stagesWithout = (undrawn: number) => {
    const cut = samples.map((sample) =>
      sample.key > 3 - undrawn ? { ...sample, appliedAt: null, paintedAt: null } : sample,
    )
    return (analyse({ ...run, samples: cut }).modes[0]?.path ?? []).map(({ stage }) => stage)
  }
  assert.deepEqual(stagesWithout(1), stagesWithout(0))
  assert.ok(stagesWithout(0).includes('Painted') && !stagesWithout(2).includes('Painted'))
})

test('a built-in delay is compared with the relay’s own stamps, built-in faults with the ids', () => {
  const behaviours = ['bare:sse/2', 'bare+5ms:sse/2', 'bare+faults:sse/2'].map((mode) => ({
    mode,
    medianMs: 4,
  }))
  const made = madeRun({ behaviours, sessionSpread: 0, keys: 100, blocks: 1, windows: 2 })
  const samples = made.samples.map((sample) => {
    const at = sample.acceptedAt ?? 0
    const addedMs = sample.mode.includes('5ms') ? 5 : 0
    const late = (ms: number | null) => (ms === null ? null : ms + addedMs)
    const id = `${sample.mode}.${sample.session}-${sample.key}`
    const isLost = sample.mode.includes('faults') && sample.key === 30
    return { ...sample, id, committingAt: at + addedMs, receivedAt: isLost ? null : late(sample.receivedAt) }
  })
  const { knownFaults, comparisons } = analyse({ ...made, samples })
  assert.equal(comparisons.length, 0)
  const [delayed, spoiled] = knownFaults
  assert.ok(delayed && spoiled)
  assert.deepEqual([delayed.sound, delayed.builtMs, delayed.holds], ['bare:sse/2', 5, true])
  assert.ok(Math.abs(delayed.foundMs - 5) < 0.5, String(delayed.foundMs))
  assert.deepEqual(
    [spoiled.lost, spoiled.duplicated, spoiled.reordered],
    [
      { built: 8, found: 8 },
      { built: 8, found: 0 },
      { built: 8, found: 0 },
    ],
  )
})

test('without a sound relay, a delay is compared with the relay that delays least', () => {
  const behaviours = ['bare+20ms:sse/2', 'bare+25ms:sse/2'].map((mode, place) => ({
    mode,
    medianMs: 20 + 5 * place,
  }))
  const made = madeRun({ behaviours, sessionSpread: 0, keys: 40, blocks: 1, windows: 2 })
  const samples = made.samples.map((sample) => ({
    ...sample,
    committingAt: (sample.acceptedAt ?? 0) + (sample.mode.includes('25') ? 25 : 20),
  }))
  const { knownFaults } = analyse({ ...made, samples })
  assert.deepEqual(
    knownFaults.map(({ mode, sound, builtMs }) => [mode, sound, builtMs]),
    [['bare+25ms:sse/2', 'bare+20ms:sse/2', 5]],
  )
})

const twoEditors = ['sse/2 shared', 'websocket/1.1 shared', 'sse/2 mirror', 'websocket/1.1 mirror'].map(
  (mode, place) => ({ mode, medianMs: 2 + place }),
)

test('with two editors each mode is compared with the baseline, and shared with mirror in the same mode', () => {
  const run = { ...madeRun({ behaviours: twoEditors }), baseline: 'websocket/1.1 mirror' }
  assert.deepEqual(
    analyse(run).comparisons.map(({ mode, baseline }) => [mode, baseline]),
    [
      ['sse/2 shared', 'websocket/1.1 mirror'],
      ['websocket/1.1 shared', 'websocket/1.1 mirror'],
      ['sse/2 mirror', 'websocket/1.1 mirror'],
      ['sse/2 shared', 'sse/2 mirror'],
    ],
  )
})

test('sizes are means: of sent messages, and of received samples', () => {
  const sizes = modeOf({ keys: 3, blocks: 1, windows: 2 }, 'sse/2')
  assert.deepEqual([sizes.sentBytes, sizes.receivedBytes], [152, 192])
  const lost = { behaviours: [{ mode: 'sse/2', medianMs: 2, lost: 1 }], keys: 3, blocks: 1 }
  assert.deepEqual([modeOf(lost, 'sse/2').sentBytes, modeOf(lost, 'sse/2').receivedBytes], [152, null])
})

test('the growing document has a row per size and editor', () => {
  const run = madeRun({ behaviours: twoEditors, sessions: 1, keys: 4, windows: 2 })
  const growing = [200, 10_000].map((characters) => ({ characters, samples: run.samples }))
  const rows = analyse({ ...run, growing }).growing
  assert.deepEqual(
    rows.map(({ characters, mode }) => [characters, mode]),
    [200, 10_000].flatMap((characters) => twoEditors.map(({ mode }) => [characters, mode])),
  )
  for (const { n, expected, p50Ms, applyMs, showMs, sentBytes } of rows) {
    assert.deepEqual([n, expected, sentBytes], [8, 8, 152.5])
    assert.ok((p50Ms ?? 0) > 0 && (applyMs ?? 0) > 0 && (showMs ?? 0) > (applyMs ?? 0))
  }
  assert.deepEqual(analyse(run).growing, [])
})

test('if everything was lost, that is the finding, and nothing is compared', () => {
  const behaviours = threeModes.map((mode) => ({ ...mode, lost: 1 }))
  const { finding, comparisons, notCompared, modes } = summaryOf({ behaviours })
  assert.match(finding, /lost all 1,000 samples.*No transmission time was measured\.$/)
  assert.deepEqual([comparisons.length, notCompared.length], [0, 2])
  assert.deepEqual([modes[0]?.meanMs, modes[0]?.p99Ms, modes[0]?.lost], [null, null, 800])
})

test('one mode only, and none at all', () => {
  assert.match(
    summaryOf({ behaviours: threeModes.slice(0, 1) }).finding,
    /; it was the only mode of Crosswind in this run\.$/,
  )
  assert.equal(summaryOf({ behaviours: [] }).finding, 'No transmission time was measured.')
})

test('figures have at most six significant digits', () => {
  const summary = summaryOf()
  for (const figure of [
    ...summary.modes.map(({ meanMs }) => meanMs),
    ...summary.comparisons.flatMap(({ ci95Ms }) => ci95Ms),
  ]) {
    assert.equal(figure, Number(figure?.toPrecision(6)))
  }
})

test('a trend within the sessions is found with its size and sign, and none if there is none', () => {
  const run = madeRun({ sessions: 6, keys: 90 })
  // 3 ms from the first key to the last: 2 ms from the middle of the first third to that of the
  // last.
  const slowed = run.samples.map((sample) => {
    const laterMs = sample.mode === 'sse/2' ? (3 * sample.key) / 90 : 0
    return { ...sample, receivedAt: sample.receivedAt === null ? null : sample.receivedAt + laterMs }
  })
  const { drifts } = analyse({ ...run, samples: slowed.toReversed() })
  assert.deepEqual(
    drifts.map(({ mode, verdict }) => [mode, verdict]),
    [
      ['sse/2', 'slower'],
      ['sse/1.1', 'none found'],
      ['websocket/1.1', 'none found'],
    ],
  )
  const [sse] = drifts
  assert.ok(sse && sse.ci95Ms[0] < 2 && sse.ci95Ms[1] > 2, String(sse?.ci95Ms))
  assert.deepEqual(analyse(madeRun({ sessions: 1 })).drifts, [])
})

test('samples from sessions that are far apart count for few', () => {
  const worthOf = (sessionSpread: number) =>
    analyse(madeRun({ sessions: 8, sessionSpread })).modes.map(({ effectiveN }) => effectiveN ?? 0)
  assert.ok(
    worthOf(0.3).every((worth) => worth < 100),
    String(worthOf(0.3)),
  )
  assert.ok(
    worthOf(0).every((worth) => worth > 200),
    String(worthOf(0)),
  )
  assert.deepEqual(
    new Set(analyse(madeRun({ sessions: 1 })).modes.map(({ effectiveN }) => effectiveN)),
    new Set([null]),
  )
})
