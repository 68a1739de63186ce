// Made-up keystroke runs: pairs, stages and sizes, and their reports: figures, several machines, peers, CSV.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sample } from '../lab/samples.ts'
import { fileOf } from '../lab/testing.ts'
import { parsed } from '../report/dom.ts'
import { keystrokes } from './keystrokes.ts'
import type { Run } from './keystrokes-report.ts'
import { type Making, madeRun, threeModes, withPeers, withSamples } from './testing.ts'

const small: Making = { sessions: 2, keys: 10, blocks: 2, windows: 3 }

const html = (run: Run) => fileOf(keystrokes, run, 'report.html')
const markdown = (run: Run) => fileOf(keystrokes, run)
const pageOf = (run: Run) => parsed(html(run))
const textOf = (run: Run) => pageOf(run).querySelector('main')?.textContent ?? ''

test('every sample that arrived at a window that does not type is drawn', () => {
  const run = madeRun({ ...small, behaviours: [{ mode: 'sse/2', medianMs: 4, lost: 0.2 }] })
  const arrived = run.samples.filter(
    ({ receivedAt, receiver }) => receivedAt !== null && receiver !== 1,
  ).length
  assert.ok(arrived > 0 && arrived < run.samples.length)
  for (const drawn of pageOf(run).querySelectorAll('#transmission-time .wide, #through-the-run .wide')) {
    const strokes = [...drawn.querySelectorAll('path[stroke-linecap=round]')].map(
      (path) => path.getAttribute('d') ?? '',
    )
    assert.equal(strokes.join('').split('h0').length - 1, arrived)
  }
})

const detailsOf = (run: Run) => keystrokes.analyse(run).details
const modeOf = (making: Making, name: string) => {
  const found = detailsOf(madeRun(making)).modes.find(({ mode }) => mode === name)
  assert.ok(found)
  return found
}
const pairsIn = (run: Run) =>
  keystrokes.analyse(run).comparisons.map(({ mode, baseline }) => [mode, baseline])

test('each mode is compared with its peer', () => {
  assert.deepEqual(
    pairsIn(madeRun({ ...small, behaviours: withPeers })).map(([mode, baseline]) => `${mode} - ${baseline}`),
    [
      'sse/1.1 - sse/2',
      'websocket/1.1 - sse/2',
      'sse/2 - bare:sse/2',
      'sse/1.1 - bare:sse/1.1',
      'websocket/1.1 - bare:websocket/1.1',
    ],
  )
})

test("a system is compared with its transport's mode, and with none if that was not measured", () => {
  const systems = [
    { mode: 'socket.io:websocket/1.1', medianMs: 2 },
    { mode: 'ws:websocket/1.1', medianMs: 1.5 },
    { mode: 'mercure:sse/3', medianMs: 5 },
  ]
  assert.deepEqual(
    pairsIn(madeRun({ ...small, behaviours: [...threeModes, ...systems] })).filter(([, baseline]) =>
      baseline?.includes(':'),
    ),
    [
      ['websocket/1.1', 'socket.io:websocket/1.1'],
      ['websocket/1.1', 'ws:websocket/1.1'],
    ],
  )
})

const twoEditors = ['sse/2 shared', 'websocket/1.1 shared', 'sse/2 mirror', 'websocket/1.1 mirror'].map(
  (mode, place) => ({ mode, medianMs: 2 + place }),
)

test('with two editors each mode is compared with the baseline, and shared with mirror in the same mode', () => {
  const run = { ...madeRun({ behaviours: twoEditors }), baseline: 'websocket/1.1 mirror' }
  assert.deepEqual(pairsIn(run), [
    ['sse/2 shared', 'websocket/1.1 mirror'],
    ['websocket/1.1 shared', 'websocket/1.1 mirror'],
    ['sse/2 mirror', 'websocket/1.1 mirror'],
    ['sse/2 shared', 'sse/2 mirror'],
  ])
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
  const [first, , third] = detailsOf({ ...withSamples(run, slow), windows }).windows
  assert.ok(first && third)
  for (const [mode, ms] of Object.entries(third.p50Ms)) {
    assert.ok(ms !== null && ms > 100 && (first.p50Ms[mode] ?? 0) < 20, mode)
  }
  assert.deepEqual([third.boundMs, third.missed.length, first.missed], [9, 1, []])
  assert.deepEqual(detailsOf(run).windows, [])
})

test("the stages add up to the time from input to paint, without the typing window; unreported stages count as the network's", () => {
  const run = madeRun({ behaviours: [{ mode: 'sse/2', medianMs: 4 }], windows: 3 })
  const received = run.samples.filter(({ receiver, paintedAt }) => receiver !== 1 && paintedAt !== null)
  const whole = received.map(({ inputAt, paintedAt }) => (paintedAt ?? 0) - (inputAt ?? 0))
  const pathIn = (given: typeof run) => detailsOf(given).modes[0]?.path ?? []
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
    return (detailsOf({ ...run, samples: cut }).modes[0]?.path ?? []).map(({ stage }) => stage)
  }
  assert.deepEqual(stagesWithout(1), stagesWithout(0))
  assert.ok(stagesWithout(0).includes('Painted') && !stagesWithout(2).includes('Painted'))
})

test('sizes are means: of sent messages, and of received samples', () => {
  const sizes = modeOf({ keys: 3, blocks: 1, windows: 2 }, 'sse/2')
  assert.deepEqual([sizes.sentBytes, sizes.receivedBytes], [152, 192])
  const lost = { behaviours: [{ mode: 'sse/2', medianMs: 2, lost: 1 }], keys: 3, blocks: 1 }
  assert.deepEqual([modeOf(lost, 'sse/2').sentBytes, modeOf(lost, 'sse/2').receivedBytes], [152, null])
})

test('the growing document has a row per size and editor', () => {
  const run = madeRun({ behaviours: twoEditors, sessions: 1, keys: 4, windows: 2 })
  const growing = [200, 10_000].flatMap((characters) =>
    run.samples.map((sample) => ({ ...sample, characters })),
  )
  const rows = detailsOf({ ...run, growing }).growing
  assert.deepEqual(
    rows.map(({ characters, mode }) => [characters, mode]),
    [200, 10_000].flatMap((characters) => twoEditors.map(({ mode }) => [characters, mode])),
  )
  for (const { n, expected, p50Ms, applyMs, showMs, sentBytes } of rows) {
    assert.deepEqual([n, expected, sentBytes], [8, 8, 152.5])
    assert.ok((p50Ms ?? 0) > 0 && (applyMs ?? 0) > 0 && (showMs ?? 0) > (applyMs ?? 0))
  }
  assert.deepEqual(detailsOf(run).growing, [])
})

test('peers are compared with the goal only if they ran', () => {
  assert.ok(!textOf(madeRun(small)).includes('Against bare peers'))
  assert.ok(textOf(madeRun({ ...small, behaviours: withPeers })).includes('Against bare peers'))
})

test('ratios to bare peers tell the window that types from the others', () => {
  const run = madeRun({ ...small, behaviours: withPeers })
  const isSlow = ({ receiver, mode }: Sample) => receiver === 1 && !mode.includes(':')
  const later = (sample: Sample) =>
    isSlow(sample) && sample.receivedAt !== null
      ? { ...sample, receivedAt: sample.receivedAt + 1000 }
      : sample
  const { bareRatios } = keystrokes.analyse(withSamples(run, run.samples.map(later))).details
  assert.ok(bareRatios.length > 0 && bareRatios.length % 2 === 0)
  for (const { windows, ratio, p95Ratio } of bareRatios)
    assert.deepEqual([ratio > 20, (p95Ratio ?? 0) > 20], Array(2).fill(windows !== 'the others'), windows)
})

test('other systems are named with their versions, and have no goal', () => {
  const behaviours = [
    ...threeModes,
    { mode: 'socket.io:websocket/1.1', medianMs: 2 },
    { mode: 'hub:sse/3', medianMs: 5 },
  ]
  const local = { name: 'socket.io', label: 'Socket.IO', transport: 'WebSocket' } as const
  const distant = { name: 'hub', label: 'hub', transport: 'SSE' } as const
  const peers = [
    { ...local, version: '4.8.4, client 4.8.3', address: null },
    { ...distant, version: null, address: 'https://host/hub' },
  ]
  const text = textOf({ ...madeRun({ ...small, behaviours }), peers })
  assert.ok(!text.includes('Against bare peers') && !text.includes('goal'))
  assert.match(text, /Against other systems/)
  assert.match(text, /WebSocket \/ Socket\.IO/)
  assert.match(text, /Socket\.IO4\.8\.4, client 4\.8\.3WebSocketstarted for the run/)
  assert.match(text, /hubunknownSSEhttps:\/\/host\/hub/)
  assert.match(text, /hub has no comparison/)
})

test('a system whose adapter failed is named with the reason, and not compared', () => {
  const behaviours = [...threeModes, { mode: 'hub:sse/2', medianMs: 3 }]
  const endedPeers = [{ name: 'hub', session: 3, why: 'its process ended: out of memory' }]
  const failed = { endedPeers, uncompared: ['hub:sse/2'] }
  const text = textOf({ ...madeRun({ ...small, behaviours }), ...failed })
  assert.match(text, /hub was left out: its process ended: out of memory\./)
  assert.match(text, /hub3its process ended: out of memory/)
  assert.ok(!text.includes('HTTP/2 / hub'))
  assert.match(textOf(madeRun({ ...small, behaviours })), /HTTP\/2 \/ hub/)
})

test('with windows elsewhere, each is listed with its clock and missed turns', () => {
  const run = madeRun({ ...small, oneMachine: false })
  const missed = Array.from({ length: 7 }, (_, turn) => `session 1, block ${turn + 1}, sse/2: was hidden`)
  const windows = [
    { receiver: 1, name: 'window 1, this machine, types', boundMs: 0.2, missed: [] },
    { receiver: 2, name: 'device 1, Chrome 156 on Android', boundMs: 7.5, missed },
  ]
  const text = markdown({ ...run, windows })
  assert.match(text, /\| device 1, Chrome 156 on Android \| .* \| ± 7\.5\d* \| 60 \| 0 \| 7 \|/)
  assert.match(text, /block 5, sse\/2: was hidden; and 2 more\. Its samples in these turns are excluded/)
  assert.doesNotMatch(markdown(run), /Window by window/)
})

test("each mode's line ends at the share that arrived, and the caption says what is lost", () => {
  const behaviours = [
    { mode: 'sse/2', medianMs: 4, lost: 0.5 },
    { mode: 'websocket/1.1', medianMs: 3, lost: 1 },
    { mode: 'bare:sse/2', medianMs: 3 },
  ]
  const page = pageOf(madeRun({ ...small, behaviours }))
  const [wide, narrow] = ['wide', 'narrow'].map((kind) =>
    page.querySelector(`#how-many-arrive-within-a-time .${kind}`),
  )
  const lines = [...(wide?.querySelectorAll('g[aria-label=line] path') ?? [])]
  assert.equal(lines.length, 2)
  const [whole, half] = lines
    .map((line) =>
      Math.min(
        ...(line.getAttribute('d') ?? '')
          .split(/[ML]/)
          .slice(1)
          .map((at) => Number(at.split(',')[1])),
      ),
    )
    .sort((one, other) => one - other)
  assert.ok((half ?? 0) > (whole ?? 0) + 100, `${whole}, ${half}`)
  assert.ok(wide?.textContent?.includes('bare: SSE + XHR, HTTP/2'))
  assert.ok(narrow?.textContent?.includes('1  bare: SSE + XHR, HTTP/2'))
  assert.match(wide?.closest('figure')?.textContent ?? '', /dashed line .* ends below 100 % lost the rest/)
})

test('the doubts name drift and dependence, with what is known of each', () => {
  const doubts = (run: Run) => pageOf(run).querySelector('#doubts')?.textContent ?? ''
  assert.match(doubts(madeRun(small)), /Drift: none was found .*Dependence: .*independent/s)
  const one = doubts(madeRun({ ...small, sessions: 1 }))
  assert.match(one, /Drift: one session cannot tell.*not known from one session/s)
})

test('two editors are distinguished, and the paper is beside mirroring', () => {
  const behaviours = ['websocket/1.1 mirror', 'websocket/1.1 shared'].map((mode) => ({ mode, medianMs: 4 }))
  const run = { ...madeRun({ ...small, behaviours }), baseline: 'websocket/1.1 mirror' }
  const growing = run.samples.map((sample) => ({ ...sample, characters: 10_000 }))
  const text = markdown({ ...run, growing })
  assert.match(text, /\| WebSocket \(shared\) \/ WebSocket \(mirror\) \|/)
  assert.match(text, /\| WebSocket \| [\d.]+ \| 1\.00 \| 88\.171 \|/)
  assert.match(
    text,
    /<summary>A growing document<\/summary>[\s\S]*\| 10,000 \| WebSocket \(shared\) \| 60 \| 0 \|/,
  )
  assert.match(
    fileOf(keystrokes, { ...run, growing }, 'growing.csv.gz'),
    /^mode,session,block,key,.*,characters\n/,
  )
  assert.ok(!markdown(run).includes('A growing document'))
})

test('a mode whose other windows missed every turn has no times: the typist’s own do not stand in for them', () => {
  const run = madeRun(small)
  const samples = run.samples.filter(({ mode, receiver }) => mode !== 'sse/2' || receiver === 1)
  const { figures, echoes } = keystrokes.analyse({ ...run, samples })
  const of = (rows: readonly { readonly mode: string; readonly n: number }[]) =>
    rows.find(({ mode }) => mode === 'sse/2')?.n
  assert.deepEqual([of(figures), of(echoes)], [0, 20])
})

test('a server that merges keys is named with its setting', () => {
  const run = madeRun(small)
  const of = (mergeMs: number) => ({ ...run, parameters: { ...run.parameters, editors: 'shared', mergeMs } })
  assert.match(markdown(of(0)), /ran with mergeMs 0, so that one key is one message/)
  assert.match(
    markdown(of(15)),
    /The server ran with mergeMs 15: the shared editor sends a key that long after/,
  )
  assert.doesNotMatch(markdown(of(15)), /mergeMs 0/)
})

const peers = madeRun({ ...small, behaviours: withPeers })

test('the paper is beside the run, with its ratios to WebSocket', () => {
  const text = markdown(peers)
  assert.match(text, /\| SSE \+ XHR, HTTP\/1\.1 \| [\d.]+ \| [\d.]+ \| 198\.45 \| 2\.25 \|/)
  assert.match(text, /\| SSE \+ XHR, HTTP\/2 \| [\d.]+ \| [\d.]+ \| 79\.889 \| 0\.91 \|/)
})

const header =
  'mode,session,block,key,id,receiver,own,sent_at,received_at,transmission_ms,input_at,arrived_at,accepted_at,committing_at,stored_at,written_at,applied_at,painted_at,sent_bytes,received_bytes,copies,reordered'

const csvOf = (run: Run) => fileOf(keystrokes, run, 'samples.csv.gz')

test('samples.csv.gz: a header and a row per message and window', () => {
  const run = madeRun({ keys: 6, blocks: 2, windows: 3 })
  const lines = csvOf(run).split('\n')
  assert.equal(lines[0], header)
  assert.equal(lines.length, 1 + run.samples.length + 1)
  assert.equal(lines.at(-1), '')
  assert.ok(lines.slice(1, -1).every((line) => line.split(',').length === 22))
})

test('samples.csv.gz: times have three decimals; "never" is empty', () => {
  const run = madeRun({ sessions: 1, keys: 1, blocks: 1, windows: 1 })
  const times = {
    inputAt: 999.9,
    sentAt: 1000,
    arrivedAt: 1001,
    acceptedAt: null,
    committingAt: null,
    storedAt: null,
    writtenAt: 1002,
    receivedAt: 1002.5,
    appliedAt: 1003,
    paintedAt: 1016.12345,
  }
  const samples = run.samples.map((sample): Sample => ({ ...sample, ...times, id: 'window1:1' }))
  const row = csvOf(withSamples(run, samples)).split('\n')[1]
  assert.equal(
    row,
    'sse/2,1,1,1,window1:1,1,true,1000.000,1002.500,2.500,999.900,1001.000,,,,1002.000,1003.000,1016.123,151,191,1,false',
  )
})

test('samples.csv.gz: a lost sample is a row without a time', () => {
  const behaviours = threeModes.map((mode) => ({ ...mode, lost: 1 }))
  for (const row of csvOf(madeRun({ behaviours, keys: 2, blocks: 1 }))
    .trimEnd()
    .split('\n')
    .slice(1)) {
    assert.deepEqual(row.split(',').slice(8, 10), ['', ''])
    assert.deepEqual(row.split(',').slice(19, 21), ['', '0'])
  }
})
