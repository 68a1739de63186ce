// Made-up ramps with known CPU and losses: ratios, speed-ups, bottlenecks and the finding.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionsOf, testRefusals } from '../lab/testing.ts'
import { capacity } from './capacity.ts'
import { joined, nextOf, type RampSetup, rampsOf } from './capacity-ramps.ts'
import { analyse, cpuBetween } from './capacity-summary.ts'
import { type CapacityMaking, madeCapacityRun } from './testing.ts'

const summaryOf = (making: CapacityMaking) => analyse(madeCapacityRun(making))
const comparing = ['--experiments', 'comparison', '--modes', 'websocket/1.1,sse/2', '--peers', 'engine.io,ws']

test('a ratio is of server CPU in ramps of one session; the median of the sessions counts', () => {
  const { comparisons, finding } = summaryOf({
    flags: [...comparing, '--sessions', '3'],
    // A slow session slows both down.
    cpuMs: ({ subject }, session) => ({
      server:
        session * (subject === 'websocket/1.1' ? 600 + 30 * session : subject === 'engine.io' ? 1000 : 500),
    }),
  })
  const against = (peer: string) =>
    comparisons.find(({ subject, peer: other }) => subject === 'websocket/1.1' && other === peer)
  assert.equal(against('engine.io')?.ratio, 0.66)
  assert.deepEqual(against('engine.io')?.ratioRange, { median: 0.66, min: 0.63, max: 0.69 })
  assert.equal(against('ws')?.ratio, 1.32)
  assert.match(
    finding,
    /WebSocket takes 0\.66 of the server CPU of Engine\.IO, 1\.32 of the server CPU of ws/,
  )
  // Once for each number of windows per session.
  assert.equal(comparisons.filter(({ subject }) => subject === 'sse/2').length, 4)
})

test('a ramp that lost windows is no sample; the finding names it with the server’s words, and the run fails', () => {
  const flags = ['--experiments', 'workers', '--workers', '1,3', '--peers', '', '--sessions', '3']
  const isKilled = ({ workers }: RampSetup, session: number) => workers === 3 && session === 2
  const cpuMs = (setup: RampSetup, session: number): Readonly<Record<string, number>> =>
    setup.workers === 1
      ? { server: 1200 }
      : { log: 100, 'worker 1': isKilled(setup, session) ? 10 : 600, 'worker 2': 10 }
  const run = madeCapacityRun({
    flags,
    cpuMs,
    lost: (setup, session) => (isKilled(setup, session) ? { dropped: setup.windows } : {}),
  })
  const summary = analyse(run)
  assert.deepEqual(
    summary.speedUps.map(({ speedUps }) => speedUps),
    [
      [1, 1, 1],
      [2, 2],
    ],
  )
  const setup = summary.ramps.find(({ workers }) => workers === 3)
  assert.equal(setup?.dropped, setup?.windows)
  assert.equal(setup?.busiestCpuMs.max, setup?.busiestCpuMs.min)
  assert.match(
    summary.finding,
    /^A ramp broke, and is in no figure: workers, WebSocket, 3 workers, session 2; of 3,200 windows 0 failed to open and 3,200 were dropped\. The server’s last line: worker 3 ended\. 3 workers carry 2\.00 times/,
  )
  const { isFailure, data } = capacity.report(run, summary)
  assert.equal(isFailure, true)
  assert.match(
    data?.['server-errors.txt'] ?? '',
    /^workers: .*3 workers, session 2\nworker 2 ended\nworker 3 ended/,
  )
  const sound = madeCapacityRun({ flags })
  assert.equal(capacity.report(sound, analyse(sound)).isFailure, false)
})

test('the speed-up is the busiest process’s, including the first, and shows what the first would allow', () => {
  const cpuMs = ({ workers }: RampSetup): Readonly<Record<string, number>> =>
    workers === 1
      ? { server: 1200 }
      : workers === 2
        ? { log: 100, 'worker 1': 650, 'worker 2': 550 }
        : { log: 600, 'worker 1': 450, 'worker 2': 450, 'worker 3': 450 }
  const flags = ['--experiments', 'workers', '--workers', '1,2,3', '--peers', '', '--sessions', '1']
  const { speedUps, finding } = summaryOf({ flags, cpuMs })
  assert.deepEqual(
    speedUps.map(({ workers, speedUp, busiest, thesis }) => [
      workers,
      Number(speedUp?.toFixed(3)),
      busiest,
      thesis,
    ]),
    [
      [1, 1, 'server', 0.5],
      [2, 1.846, 'worker 1', 1],
      [3, 2, 'log', 1.5],
    ],
  )
  assert.deepEqual(
    speedUps.map(({ ceiling, work }) => [ceiling.median, Number(work.median?.toFixed(3))]),
    [
      [null, 1],
      [12, 1.083],
      [2, 1.625],
    ],
  )
  assert.match(finding, /2 workers carry 1\.85 times what one carries; 3 workers carry 2\.00 times/)
})

test('if the clients were the bottleneck, the report says so and does not blame the server', () => {
  const flags = [
    '--experiments',
    'most,comparison',
    '--peers',
    'ws',
    '--windows',
    '0',
    '--connections',
    '1000',
    '--sessions',
    '1',
  ]
  const isMost = ({ experiment }: RampSetup) => experiment === 'most'
  const lost = (setup: RampSetup) =>
    isMost(setup) ? { opened: 990, failed: 6, dropped: 4, missing: 25 } : {}
  const limited = summaryOf({ flags, lost, clientShare: (setup) => (isMost(setup) ? 0.95 : 0.5) })
  const [ramp] = limited.ramps.filter(({ experiment }) => experiment === 'most')
  assert.equal(ramp?.limitedBy, 'their processor time')
  assert.deepEqual(limited.failures, [
    'WebSocket, 1,000 windows: 6 failed to open, 4 were dropped, 25 pings were not answered in time; the clients were the bottleneck, by their processor time.',
  ])
  assert.match(limited.finding, /The clients were the bottleneck in 1 of 5 setups/)
  const free = summaryOf({ flags, lost })
  assert.match(free.failures[0] ?? '', /not answered in time\.$/)
  assert.doesNotMatch(free.finding, /bottleneck/)
  assert.deepEqual(summaryOf({ flags }).failures, [])
})

test('a ramp that goes on until something fails breaks no promise, and says what failed', () => {
  const flags = [
    '--experiments',
    'most',
    '--peers',
    '',
    '--windows',
    '0',
    '--connections',
    '1000',
    '--sessions',
    '1',
  ]
  const run = madeCapacityRun({ flags })
  const [first] = run.ramps
  assert.ok(first)
  const larger = {
    ...first,
    windows: 1500,
    counts: { ...first.counts, opened: 1200, failed: 300 },
    reasons: { EMFILE: 300 },
  }
  const { failures, finding } = analyse({ ...run, ramps: [first, larger] })
  assert.deepEqual(failures, [])
  assert.match(
    finding,
    /1,500 windows on 2 workers: 1,200 opened, 300 failed and 0 were dropped \(EMFILE 300\)/,
  )
})

test('the next ramp is half as large again, up to the limit, and only where windows share no connection', () => {
  const setupsOf = (...flags: string[]) => rampsOf(optionsOf(capacity, '--experiments', 'most', ...flags))
  const [alone, shared] = setupsOf('--modes', 'websocket/1.1,sse/2', '--connections', '1000')
  assert.ok(alone && shared)
  const options = optionsOf(capacity, '--most-limit', '2000')
  assert.equal(nextOf(alone, options)?.windows, 1500)
  assert.equal(nextOf({ ...alone, windows: 1500 }, options), null)
  assert.equal(nextOf(shared, options), null)
  assert.equal(nextOf(alone, optionsOf(capacity)), null)
})

test('late clients are also the bottleneck', () => {
  const run = madeCapacityRun({ flags: [...comparing, '--modes', 'websocket/1.1', '--sessions', '1'] })
  const late = { p50: 1, p99: 101, max: 500 }
  const ramps = run.ramps.map((ramp) => (ramp.subject === 'ws' ? { ...ramp, pingLatenessMs: late } : ramp))
  assert.deepEqual(
    analyse({ ...run, ramps }).ramps.map(({ limitedBy }) => limitedBy),
    [null, null, 'their lateness'],
  )
})

test('a pong costs what the hold costs, an opening the rest', () => {
  const run = madeCapacityRun({
    flags: ['--experiments', 'comparison', '--modes', 'websocket/1.1', '--peers', '', '--sessions', '1'],
  })
  const [ramp] = run.ramps
  assert.ok(ramp)
  // 20 s of opening 800 windows, 8 s of pongs only.
  const samples = [
    { atMs: 0, cpuMs: 100, rssBytes: 1e6 },
    { atMs: 20_000, cpuMs: 2100, rssBytes: 5e6 },
    { atMs: 28_000, cpuMs: 2180, rssBytes: 9e6 },
  ]
  const { ramps } = analyse({
    ...run,
    ramps: [{ ...ramp, server: [{ name: 'server', samples, pssBytes: null }] }],
  })
  const [found] = ramps
  const answered = ramp.counts.answered
  assert.equal(found?.cpuMicrosPerPong.median?.toFixed(3), (80_000 / ((answered * 8) / 28)).toFixed(3))
  assert.equal(found?.cpuMsPerOpening.median?.toFixed(3), ((2080 - 80 - (80 / 8) * 20) / 800).toFixed(3))
  assert.equal(found?.bytesPerWindow.median, 10_000)
  assert.equal(found?.pssBytes.median, null)
  assert.equal(cpuBetween({ samples }, 5000, 15_000), 1000)
})

test('the counts of several load processes add up, second by second', () => {
  const second = (open: number, sent: number) => ({
    open,
    opened: open,
    failed: 0,
    dropped: 0,
    sent,
    answered: sent,
  })
  const tally = (roundTrips: readonly number[]) => ({
    windows: 2,
    opened: 2,
    failed: 1,
    dropped: 0,
    due: 4,
    sent: 4,
    answered: 3,
    missing: 1,
    repeated: 0,
    reasons: { reset: 1 },
    roundTripsMs: Float64Array.from(roundTrips),
    roundTripSeconds: Float64Array.from(roundTrips.map((_, place) => Math.min(1, place))),
    openedAfterMs: Float64Array.of(5),
    openingLatenessMs: Float64Array.of(),
    pingLatenessMs: Float64Array.of(1),
    seconds: [second(1, 1), second(2, 2)],
  })
  const { counts, reasons, seconds, roundTripMs, openingLatenessMs } = joined([
    tally([1, 2, 3]),
    tally([5, 6, 10]),
  ])
  assert.deepEqual([counts.opened, counts.missing, reasons.reset], [4, 2, 2])
  assert.deepEqual(
    seconds.map(({ open, sent, roundTripP50Ms }) => [open, sent, roundTripP50Ms]),
    [
      [2, 2, 3],
      [4, 4, 4.5],
    ],
  )
  assert.deepEqual([roundTripMs.p50, roundTripMs.max, openingLatenessMs.p50], [4, 10, null])
})

testRefusals(capacity, [
  ['--experiments speed', /--experiments is "speed": there are clients,/],
  ['--peers sockjs', /--peers is "sockjs": there are ws,/],
  ['--file 0', /--file is "0": must be whole numbers from 1 to 1000000/],
])
