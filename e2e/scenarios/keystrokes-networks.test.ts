// Modes over several networks, from constructed samples: ratios, who waits for a lost packet, finding and report.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Network } from '../lab/run-environment.ts'
import type { Sample } from '../lab/samples.ts'
import { fileOf } from '../lab/testing.ts'
import { keystrokes } from './keystrokes.ts'
import { latenessOf } from './keystrokes-networks.ts'
import { keyRow } from './keystrokes-report.ts'
import { type Making, madeRun } from './testing.ts'

const windows = 4
const modes = ['sse/2 wan', 'sse/2 wan+5%', 'websocket/1.1 wan', 'websocket/1.1 wan+5%']
const networks = ['wan', 'wan+5%']
const behaviours = modes.map((mode) => ({ mode, medianMs: 60 }))
const making: Making = { behaviours, sessions: 3, keys: 40, blocks: 1, windows }

interface Wait {
  readonly upMs?: number
  readonly downMs?: number
}

/** 25 ms each way, and what `waitOf` adds; the second session is three times as slow. */
function constructed(waitOf: (sample: Sample) => Wait): readonly Sample[] {
  return madeRun(making).samples.map((sample) => {
    const { upMs = 0, downMs = 0 } = waitOf(sample)
    const slowness = sample.session === 2 ? 3 : 1
    const acceptedAt = sample.sentAt + slowness * (25 + upMs)
    return { ...sample, acceptedAt, receivedAt: acceptedAt + slowness * (25 + downMs) }
  })
}

const isLossy = ({ mode }: Sample) => mode.endsWith('+5%')

/** Every fifth message waits: at all windows of `sse/2`, and at one of WebSocket in turn. */
const waits = constructed((sample) => {
  const isHit = isLossy(sample) && sample.key % 5 === 0
  const waitsHere = sample.mode.startsWith('sse') || sample.receiver === 1 + ((sample.key / 5) % windows)
  return { downMs: isHit && waitsHere ? 100 : 0 }
})

test('where a packet holds back all windows, a late message is late at all; else at one alone', () => {
  const found = latenessOf(modes, waits)
  assert.deepEqual(
    found.map((row) => [row.mode, row.messages, row.lateMessages, row.lateAtOne, row.lateAtAll]),
    [
      ['sse/2 wan', 120, 0, 0, 0],
      ['sse/2 wan+5%', 120, 24, 0, 24],
      ['websocket/1.1 wan', 120, 0, 0, 0],
      ['websocket/1.1 wan+5%', 120, 24, 24, 0],
    ],
  )
  const [, shared, , apart] = found
  assert.deepEqual([shared?.lateWindows, shared?.lateWindowsCi95], [4, [4, 4]])
  assert.deepEqual([apart?.lateWindows, apart?.sessionLateWindows], [1, [1, 1, 1]])
  // One of 20 deliveries is late: 4 × 0.05 / (1 − 0.95⁴).
  assert.ok(Math.abs((apart?.lateWindowsByChance ?? 0) - 1.0782) < 0.001)
})

test('late is what the same network without loss would not have been, if it was measured', () => {
  const overLan = waits
    .filter(({ mode }) => mode === 'sse/2 wan')
    .map((sample) => ({ ...sample, mode: 'sse/2 lan', receivedAt: (sample.acceptedAt ?? 0) + 1 }))
  const late = (...names: readonly string[]) =>
    latenessOf(names, [...overLan, ...waits]).map(({ lateMessages }) => lateMessages)
  assert.deepEqual(late('sse/2 lan', 'sse/2 wan', 'sse/2 wan+5%'), [0, 0, 24])
  assert.deepEqual(late('sse/2 lan', 'sse/2 wan+5%'), [0, 120])
})

test('the ratios are to the same mode over the first network, by session', () => {
  const { comparisons } = analysed(waits)
  const lossy = comparisons.find(({ mode }) => mode === 'sse/2 wan+5%')
  // 50 ms, and every fifth time 100 more.
  assert.ok(Math.abs((lossy?.ratio ?? 0) - 1.4) < 1e-4)
  assert.deepEqual([lossy?.baseline, lossy?.medianRatio, lossy?.p95Ratio], ['sse/2 wan', 1, 3])
})

test('a message that was late on the way to the server, or lost, is not late on the way from it', () => {
  const samples = constructed((sample) => ({ upMs: isLossy(sample) && sample.key % 4 === 0 ? 300 : 0 }))
  const gone = samples.map((sample) => (sample.key === 7 ? { ...sample, receivedAt: null } : sample))
  for (const row of latenessOf(modes, gone)) assert.equal(row.lateMessages, 0, row.mode)
})

const described = (profile: string, place: number): Network => {
  const lost = { sent: 1000, lost: 50, overflowed: 0, lostShare: 0.05, lostShareCi95: [0.04, 0.07] } as const
  const packets = {
    congestion: 'cubic',
    plantedShare: 0.05 * place,
    burst: 1,
    up: lost,
    down: lost,
  }
  return { profile, source: `The source of ${profile}.`, lateMs: 0.1, packets }
}

function analysed(samples: readonly Sample[], over = networks) {
  const mode = ['sse/2', 'websocket/1.1'].flatMap((name) => over.map((network) => `${name} ${network}`))
  const made = { ...madeRun(making), levels: { mode }, samples: samples.map(keyRow) }
  return keystrokes.analyse({ ...made, networks: over.map(described), baseline: 'websocket/1.1 wan' })
}

test('the finding judges the last network, and says what it means, who waits and what would decide', () => {
  const { finding, remarks } = analysed(waits)
  assert.equal(
    finding,
    'Every mode was slower over wan+5% than over wan: WebSocket took 1.10 (1.10 to 1.10) times as long and SSE + XHR over HTTP/2 1.40 (1.40 to 1.40). In brackets: 95 % intervals.',
  )
  assert.deepEqual(remarks, [
    'Over wan+5% a message came 8.33 ms later than over wan with WebSocket and 33.3 ms later with SSE + XHR over HTTP/2, which is less than a person would notice: in a test with a mouse, half of the people noticed a delay of 54 ms, and none noticed one below 34 ms (Forch and others, 2017).',
    'Over wan+5% a message that was late at one of the 4 windows was late at 4.00 (4.00 to 4.00) with SSE + XHR over HTTP/2, more than chance explains; and at 1.00 (1.00 to 1.00) with WebSocket, which chance alone may explain.',
  ])
})

test('with one session the finding is undecided', () => {
  const { finding, remarks } = analysed(waits.filter(({ session }) => session === 1))
  assert.equal(
    finding,
    'Undecided whether wan+5% or wan is faster: WebSocket took 1.10 times as long and SSE + XHR over HTTP/2 1.40. One session cannot show how far sessions differ.',
  )
  assert.match(remarks.at(-1) ?? '', /^To decide, use --sessions 5: /)
})

test('a mode that is slower stands apart from one that is undecided, and the first networks follow', () => {
  const samples = constructed(({ mode, session }) => ({
    upMs: mode === 'websocket/1.1 wan+5%' ? session - 2 : mode === 'sse/2 wan+5%' ? 30 + session : 0,
  }))
  const third = samples
    .filter(({ mode }) => mode.endsWith(' wan+5%'))
    .map((sample) => ({ ...sample, mode: sample.mode.replace('5%', '1%') }))
  const { finding, remarks } = analysed([...samples, ...third], ['wan', 'wan+1%', 'wan+5%'])
  const words = (network: string) =>
    new RegExp(
      `^One mode was slower over ${network} than over wan: SSE \\+ XHR over HTTP/2 took 1\\.\\d+ \\(.*\\) times as long\\. Undecided: WebSocket took \\S+ \\(.*\\) times as long\\.`,
    )
  assert.match(finding, words('wan\\+5%'))
  assert.match(remarks.find((remark) => remark.startsWith('One mode')) ?? '', words('wan\\+1%'))
  assert.match(remarks.at(-1) ?? '', /^To (decide|tell differences of 5 %), use --sessions \d+: /)
})

test('the finding over several networks names what was lost', () => {
  const gone = waits.map((sample) =>
    sample.key === 7 && sample.mode === 'sse/2 wan+5%' ? { ...sample, receivedAt: null } : sample,
  )
  assert.match(analysed(gone).finding, /^SSE \+ XHR over HTTP\/2 \(wan\+5%\) lost \d+ of \d+ samples\. /)
})

test('the report counts each network’s packets, and compares each mode with itself', () => {
  const run = {
    ...madeRun(making),
    samples: waits.map(keyRow),
    networks: networks.map(described),
    baseline: 'websocket/1.1 wan',
  }
  const { comparisons } = keystrokes.analyse(run)
  assert.deepEqual(
    comparisons.map(({ mode, baseline, verdict }) => [mode, baseline, verdict]),
    [
      ['sse/2 wan+5%', 'sse/2 wan', 'higher'],
      ['websocket/1.1 wan+5%', 'websocket/1.1 wan', 'higher'],
    ],
  )
  const report = fileOf(keystrokes, run)
  assert.match(
    report,
    /^# Crosswind lab: How long does a key take from one window to the others over simulated networks\?$/m,
  )
  assert.match(report, /\| wan, to the server \|.*\n.*wan, to the windows.*\n\| wan\+5%, to the server \|/)
  assert.match(report, /\| SSE \+ XHR, HTTP\/2 \(wan\+5%\) \| 1\.40 \(1\.40 to 1\.40\) \| 1\.00 .* \| 3\.00 /)
  assert.match(
    report,
    /\| WebSocket \(wan\+5%\) \| 120 \| 24 \(20 %\) \| 24 \(100 %\) \| 0 \(0 %\) \| 1\.00 /,
  )
  assert.match(report, /The source of wan\. .*\n+.*The source of wan\+5%\./)
  assert.doesNotMatch(report, /Beside the 2021 paper/)
})
