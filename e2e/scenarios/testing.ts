// Made-up runs with known properties, for tests.

import { createSeededRandom, drawNormal, modeNamed, type Random } from '../../client/wire.ts'
import type { Environment } from '../lab/run-environment.ts'
import type { Sample } from '../lab/samples.ts'
import type { Level, Row } from '../lab/study.ts'
import type { StudyRun } from '../lab/study-experiment.ts'
import { transmissionRow } from '../lab/study-parts.ts'
import { optionsOf } from '../lab/testing.ts'
import { type ProfileName, profiles, scaled } from '../network/profiles.ts'
import { capacity, runOf } from './capacity.ts'
import { type RampRecord, type RampSetup, rampsOf } from './capacity-ramps.ts'
import { keyRow, type Run } from './keystrokes-report.ts'
import { methodOf, methods, modeOf, modesBeside, predict } from './windcomm-paper.ts'
import type { WindRun } from './windcomm-summary.ts'
import type {
  ComparedClock,
  LinkUse,
  MachineSite,
  Reading,
  SimulatedSite,
  Site,
  WindSample,
} from './windcomm-testbed.ts'
import { rowsOf, type Cell as WindowsCell } from './windows.ts'

function madeEnvironment(server: string): Environment {
  return {
    machine: 'example',
    cpu: 'Example CPU 3.0 GHz',
    cores: 2,
    memoryBytes: 8_321_499_136,
    os: 'Linux 6.1',
    node: '26.10.0',
    browser: 'Chromium 156.0',
    commit: 'bbf1c15',
    server,
    loadBefore: 0.31,
    loadAfter: 1.24,
  }
}

/** For Crosswind's own modes. */
const isByXhr = (mode: string) => modeNamed(mode)?.uplink === 'xhr'

interface StudyMaking<At extends Level> {
  readonly modes?: readonly string[]
  readonly sessions?: number
  /** Share of the samples. */
  readonly lost?: number
  /** Transmission time by mode and level, ms. */
  readonly medianOf: (mode: string, level: At) => number
}

/** By mode, the last one the baseline, and one other factor. Deterministic. */
function madeStudyRun<At extends Level>(
  factor: string,
  levels: readonly At[],
  { modes = ['sse/2', 'websocket/1.1'], sessions = 3, lost = 0, medianOf }: StudyMaking<At>,
): StudyRun {
  const random = createSeededRandom(1)
  const samples = modes.flatMap((mode) =>
    levels.flatMap((level) => {
      const behaviour = { mode, medianMs: medianOf(mode, level), lost }
      return Array.from({ length: sessions * 20 }, (_, place) => {
        const where = { session: (place % sessions) + 1, key: Math.floor(place / sessions) + 1 }
        return message(behaviour, { ...where, block: 1, windows: 3 }, random)
      })
        .flat()
        .map((sample) => transmissionRow({ ...sample, id: `${sample.id}-${level}` }, { [factor]: level }))
    }),
  )
  return {
    ...circumstances(true),
    parameters: { [factor]: levels.join(', '), windows: 3, sessions },
    levels: { mode: modes, [factor]: levels },
    samples,
    baseline: modes.at(-1) ?? '',
    boundMs: 0.2,
    costs: modes.map((mode) => ({ mode, session: 1, cpuMs: 900, rssBytes: 1e8 })),
  }
}

export function madePayloadRun({
  sizes = [10, 1000, 100_000, 1_000_000],
  medianOf = (mode, bytes) => (isByXhr(mode) ? 4 : 2) + bytes / 20_000,
  ...others
}: Partial<StudyMaking<number>> & { readonly sizes?: readonly number[] } = {}): StudyRun {
  return madeStudyRun('bytes', sizes, { ...others, medianOf })
}

export function madeConditionsRun({
  conditions = ['usual', 'hosts', 'hosts+no-keep-alive', 'slow-server'],
  medianOf = (mode, condition) => (isByXhr(mode) ? 4 : 2) * (condition === 'usual' ? 1 : 3),
  ...others
}: Partial<StudyMaking<string>> & { readonly conditions?: readonly string[] } = {}): StudyRun {
  const modes = ['sse/2', 'sse/1.1', 'websocket/1.1']
  return madeStudyRun('condition', conditions, { modes, ...others, medianOf })
}

const slowerBy: Readonly<Record<string, number>> = {
  none: 1,
  'bare-file': 1.25,
  embedded: 1.5,
  'bare-nats': 2.5,
  nats: 3,
  sqs: 10,
}

interface PubsubMaking {
  readonly brokers?: readonly string[]
  readonly users?: readonly number[]
  readonly sessions?: number
  /** Bursts in a session. */
  readonly each?: number
  readonly change?: (row: Row) => Readonly<Record<string, Level | null>>
}

/** Latencies of a session are a multiple of 10 ms times its number. Deterministic. */
export function madePubsubRun({
  brokers = ['none', 'embedded', 'sqs'],
  users = [50, 1000],
  sessions = 3,
  each = 4,
  change = () => ({}),
}: PubsubMaking = {}): StudyRun {
  const modes = ['websocket/1.1', 'sse/2']
  const samples = modes.flatMap((mode) =>
    users.flatMap((size) =>
      brokers.flatMap((broker) =>
        Array.from({ length: sessions * each }, (_, place): Row => {
          const session = Math.floor(place / each) + 1
          const meanMs = 10 * session * (slowerBy[broker] ?? 1) * (size / 50) + (place % 2) / 100
          const row = {
            broker,
            users: size,
            mode,
            session,
            iteration: place + 1,
            expected: size,
            lost: 0,
            duplicated: 0,
            meanMs,
            kbps: (8 * 300 * size) / (2.2 * meanMs),
            p50Ms: meanMs,
            p95Ms: meanMs * 2,
            maxMs: meanMs * 2.2,
            lastMs: meanMs * 2.2,
            sendingMs: 5,
            bytesPerMessage: 300,
            serverCpuMicros: 100,
            clientCpuPercent: 40,
          }
          return { ...row, ...change(row) }
        }),
      ),
    ),
  )
  return {
    ...circumstances(true),
    command: 'npm run lab -- pubsub',
    parameters: { sessions, iterations: sessions * each, processes: 2, wait: 60 },
    levels: { broker: brokers, users, mode: modes },
    samples,
    baseline: brokers[0] ?? null,
    observations: ['Another consumer took 30 of 100 messages.'],
  }
}

export interface WindowsMaking {
  readonly subjects?: readonly string[]
  readonly baseline?: string | null
  readonly sessions?: number
  readonly counts?: readonly number[]
  readonly browsers?: readonly number[]
  readonly keys?: number
  /** Transmission time, ms. */
  readonly medianOf?: (subject: string, windows: number) => number
}

/**
 * Windows behave as in one browser: the bare page holds six connections over HTTP/1.1, of which
 * typing needs one; Crosswind's hold five, and its other windows use HTTP/2. Deterministic.
 */
export function madeWindowsRun({
  subjects = ['sse/2', 'sse/1.1', 'websocket/1.1', 'bare:sse/2', 'bare:sse/1.1'],
  baseline = 'websocket/1.1',
  sessions = 3,
  counts = [1, 2, 6, 8, 32],
  browsers = [1],
  keys = 10,
  medianOf = (subject, windows) => (isByXhr(subject) ? 4 : 2) + windows / 10,
}: WindowsMaking = {}): StudyRun {
  const random = createSeededRandom(1)
  const cells = Array.from({ length: sessions }, (_, place) => place + 1).flatMap((session) =>
    browsers.flatMap((number) =>
      counts
        .filter((windows) => windows >= number)
        .flatMap((windows) =>
          subjects.map((mode) =>
            madeCell({ mode, session, windows, browsers: number, keys }, medianOf, random),
          ),
        ),
    ),
  )
  return {
    ...circumstances(true),
    command: 'npm run lab -- windows --counts 1,2,6,8,32',
    parameters: {
      counts: counts.join(', '),
      browsers: browsers.join(', '),
      sessions,
      keys,
      patience: 15,
      wait: 5,
    },
    levels: { mode: subjects, windows: counts, browsers },
    baseline,
    samples: cells.flatMap(rowsOf),
    costs: cells.map(({ mode, session, windows, browsers, keys }) => ({
      mode,
      session,
      windows,
      browsers,
      cpuMs: windows * keys,
      rssBytes: 1e8,
      machineBusy: windows / 64,
    })),
    boundMs: 0.2,
  }
}

function madeCell(
  place: Pick<WindowsCell, 'mode' | 'session' | 'windows' | 'browsers' | 'keys'>,
  medianOf: NonNullable<WindowsMaking['medianOf']>,
  random: Random,
): WindowsCell {
  const { mode: subject, session, windows, browsers, keys } = place
  const mode = modeNamed(subject.replace(/^bare:| .*/g, ''))
  const limit = mode?.windowsPerBrowser ?? null
  const isBare = subject.startsWith('bare:')
  const states = Array.from({ length: windows }, (_, window) => {
    const number = Math.floor(window / browsers) + 1
    if (limit === null || number <= limit)
      return { isShown: true, isOpen: true, mode: isBare ? null : (mode?.name ?? null), fall: null }
    if (isBare) return { isShown: number <= limit + 1, isOpen: number <= limit + 1, mode: null, fall: null }
    return { isShown: true, isOpen: true, mode: mode?.whenFull ?? null, fall: 'full' as const }
  })
  const isStuck = isBare && limit !== null && Math.ceil(windows / browsers) > limit
  const behaviour = { mode: subject, medianMs: medianOf(subject, windows), lost: isStuck ? 1 : 0 }
  const open = states.filter(({ isOpen }) => isOpen).length
  const samples = Array.from({ length: keys }, (_, key) =>
    message(behaviour, { session, key: key + 1, block: 1, windows: open }, random),
  ).flat()
  return { ...place, states, switched: [], samples }
}

/** Times are lognormal, as transmission times are: a floor, a bulk and a long tail. */
interface Behaviour {
  readonly mode: string
  readonly medianMs: number
  /** Shares of samples, 0 to 1. */
  readonly lost?: number
  readonly duplicated?: number
  readonly reordered?: number
}

export interface Making {
  readonly behaviours?: readonly Behaviour[]
  /**
   * Each session has its own median per mode, lognormal around the behaviour's with this standard
   * deviation.
   */
  readonly sessions?: number
  readonly sessionSpread?: number
  /** Per session. */
  readonly keys?: number
  readonly blocks?: number
  readonly windows?: number
  readonly seed?: number
  /** False if stamps are on the server's clock. */
  readonly oneMachine?: boolean
}

export const threeModes: readonly Behaviour[] = [
  { mode: 'sse/2', medianMs: 4.6 },
  { mode: 'sse/1.1', medianMs: 2.9 },
  { mode: 'websocket/1.1', medianMs: 1.8 },
]

export const withPeers: readonly Behaviour[] = [
  ...threeModes,
  { mode: 'bare:sse/2', medianMs: 4.0 },
  { mode: 'bare:sse/1.1', medianMs: 2.5 },
  { mode: 'bare:websocket/1.1', medianMs: 1.5 },
]

const startMs = Date.UTC(2026, 4, 12, 9, 30)

/** The run with these samples in place of its own. */
export const withSamples = (run: Run, samples: readonly Sample[]): Run => ({
  ...run,
  samples: samples.map(keyRow),
})

/** Deterministic for a seed. */
export function madeRun({
  behaviours = threeModes,
  sessions = 4,
  sessionSpread = 0.02,
  keys = 50,
  blocks = 4,
  windows = 5,
  seed = 1,
  oneMachine = true,
}: Making = {}): Run {
  const random = createSeededRandom(seed)
  const samples = behaviours.flatMap((behaviour) =>
    Array.from({ length: sessions }, (_, place) => {
      const here = {
        ...behaviour,
        medianMs: behaviour.medianMs * Math.exp(sessionSpread * drawNormal(random)),
      }
      const session = place + 1
      return Array.from({ length: keys }, (_, place) => {
        const block = Math.floor((place * blocks) / keys) + 1
        return message(here, { session, key: place + 1, block, windows }, random)
      }).flat()
    }).flat(),
  )
  const { clock, ...others } = circumstances(oneMachine)
  return {
    ...others,
    clock: clock.method,
    boundMs: clock.boundMs,
    levels: { mode: behaviours.map(({ mode }) => mode) },
    samples: samples.map(keyRow),
    costs: behaviours.map(({ mode, medianMs }) => ({
      mode,
      session: 1,
      cpuMs: 300 + 60 * medianMs,
      rssBytes: 92_000_000 + 4_000_000 * medianMs,
    })),
  }
}

interface Place {
  readonly session: number
  readonly key: number
  readonly block: number
  readonly windows: number
}

/** Samples of one message are correlated: a slow uplink delays every window. */
function message(
  behaviour: Behaviour,
  { session, key, block, windows }: Place,
  random: Random,
): readonly Sample[] {
  const isOutlier = random() < 0.01
  const shared =
    behaviour.medianMs * Math.exp(0.25 * drawNormal(random)) + (isOutlier ? 4 + 14 * random() : 0)
  const inputAt = startMs + session * 600_000 + block * 60_000 + key * 100 + random()
  const sentAt = inputAt + 0.2 + 0.2 * random()
  return Array.from({ length: windows }, (_, place) => {
    const transmissionMs = shared * Math.exp(0.1 * drawNormal(random))
    const isLost = random() < (behaviour.lost ?? 0)
    const receivedAt = isLost ? null : sentAt + transmissionMs
    const appliedAt = receivedAt === null ? null : receivedAt + 0.1 + 0.2 * random()
    return {
      mode: behaviour.mode,
      session,
      block,
      key,
      id: `${behaviour.mode}-${session}-window1:${key}`,
      receiver: place + 1,
      inputAt,
      sentAt,
      arrivedAt: sentAt + shared * 0.3,
      acceptedAt: sentAt + shared * 0.4,
      committingAt: sentAt + shared * 0.42,
      storedAt: sentAt + shared * 0.44,
      writtenAt: sentAt + shared * 0.47,
      receivedAt,
      appliedAt,
      paintedAt: appliedAt === null ? null : appliedAt + 16 * random(),
      sentBytes: 150 + key,
      receivedBytes: isLost ? null : 190 + key,
      copies: isLost ? 0 : random() < (behaviour.duplicated ?? 0) ? 2 : 1,
      reordered: !isLost && random() < (behaviour.reordered ?? 0),
    }
  })
}

function circumstances(oneMachine: boolean) {
  return {
    command:
      'npm run lab -- keystrokes --modes sse/2,sse/1.1,websocket/1.1 --keys 200 --windows 5 --blocks 4',
    startedAt: '2026-05-12T09:30:00.000Z',
    finishedAt: '2026-05-12T09:34:31.000Z',
    environment: madeEnvironment('https://localhost:8443, same machine'),
    parameters: { editors: 'mirror', keys: 200, windows: 5, blocks: 4, warmUpKeys: 20, intervalMs: 100 },
    baseline: 'sse/2',
    clock: oneMachine
      ? ({ method: 'one machine', boundMs: 0.1 } as const)
      : ({ method: 'server exchange', boundMs: 1.2 } as const),
  }
}

export interface WindMaking {
  readonly sites?: readonly ProfileName[]
  readonly modes?: readonly string[]
  readonly readings?: number
  /** Into which the readings are divided. */
  readonly sessions?: number
  readonly faster?: number
  readonly seed?: number
  /** Shares of each cell's readings, 0 to 1. */
  readonly lost?: number
  readonly duplicated?: number
  readonly reordered?: number
  /** Replaces the networks' latencies, ms. */
  readonly latencyOf?: (site: string, mode: string, place: number) => number
}

/** Deterministic. The first site has browser windows. */
export function madeWindRun(making: WindMaking = {}): WindRun {
  const { readings: count = 1200, sessions = 1, faster = 1, seed = 1 } = making
  const { sites: names = ['edmonton', 'lund', 'caracas', 'nagaoka'] } = making
  const { modes = [...methods.map((method) => modeOf[method]), ...modesBeside] } = making
  const pace = { rateHz: 4 * faster, holdMs: 300 / faster, intervalMs: 150 / faster, faster }
  const readings = readingsAt(count, pace.rateHz)
  const sites = names.map((name, place): SimulatedSite => {
    const profile = scaled(profiles[name], faster)
    return { name, profile, seed: seed + place, windows: place === 0 ? 'browser' : 'client' }
  })
  const random = createSeededRandom(seed)
  return {
    ...windCircumstances,
    ...pace,
    parameters: { sites: names.join(', '), readings: count, ...pace, seed },
    warmUpReadings: 20,
    sites,
    modes,
    sessions,
    readings,
    samples: sites.flatMap((site) => madeSamples(site, modes, readings, { ...making, ...pace }, random)),
    clock: { before: madeClocks(sites, modes), after: madeClocks(sites, modes) },
    links: sites.flatMap(({ name: site }) => modes.map((mode): LinkUse => ({ site, mode, ...linkFigures }))),
    serverCpuMs: 4321,
  }
}

/**
 * As `madeWindRun`, with windows of this machine and of a joined device, whose clock may be off by 3 ms. `missed`: the
 * sessions without the device.
 */
export function madeMachineRun({
  missed = [],
  ...making
}: WindMaking & { readonly missed?: readonly number[] } = {}) {
  const run = madeWindRun({ ...making, sites: ['lan', 'wan'] })
  const here: MachineSite = { name: 'here', profile: null, windows: 'browser', machine: 'this machine' }
  const device: MachineSite = { ...here, name: 'device 1', machine: 'Chrome 156 on Android' }
  const clocks = [here, device].flatMap(({ name }) =>
    run.modes.map((mode): ComparedClock => {
      const errorMs = name === 'here' ? 0.3 : 3
      return { name: `${name}, ${mode}`, offsetMs: 40, boundMs: errorMs, errorMs, withinMs: 0.02 }
    }),
  )
  const size = run.readings.length / run.sessions
  const made: WindRun = {
    ...run,
    sites: [here, device],
    samples: run.samples
      .map((sample) => ({ ...sample, site: sample.site === 'lan' ? here.name : device.name }))
      .filter(({ site, place }) => site === here.name || !missed.includes(Math.ceil(place / size))),
    ...(missed.length > 0 && {
      missed: missed.map((session) => ({ site: device.name, session, why: 'was hidden' })),
    }),
    clock: { before: clocks, after: clocks },
    links: [],
  }
  return made
}

function readingsAt(count: number, rateHz: number): readonly Reading[] {
  return Array.from({ length: count }, (_, place) => {
    const at = startMs + (place * 1000) / rateHz
    return { id: `sensor-made-${place + 30}`, seq: place + 30, at, acceptedAt: at + 0.2 }
  })
}

type WindDrawing = WindMaking & {
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
}

function madeSamples(
  { name: site, profile, seed }: SimulatedSite,
  modes: readonly string[],
  readings: readonly Reading[],
  making: WindDrawing,
  random: Random,
): readonly WindSample[] {
  const drawn = predict(profile, { ...making, readings: readings.length, random: createSeededRandom(seed) })
  const usual = (mode: string, place: number) => {
    const method = methodOf(mode)
    return method ? (drawn[method][place] ?? 0) : (drawn.websocket[place] ?? 0) + 0.2 + 0.6 * random()
  }
  const latencyOf = making.latencyOf ?? ((_site: string, mode: string, place: number) => usual(mode, place))
  return modes.flatMap((mode) =>
    readings.map((reading, place) =>
      madeSample({ site, mode, place: place + 1 }, reading, latencyOf(site, mode, place), making, random),
    ),
  )
}

function madeSample(
  cell: Pick<WindSample, 'site' | 'mode' | 'place'>,
  { id, seq, acceptedAt }: Reading,
  latency: number,
  { lost = 0, duplicated = 0, reordered = 0 }: WindMaking,
  random: Random,
): WindSample {
  const isLost = random() < lost
  return {
    ...cell,
    id,
    seq,
    acceptedAt,
    receivedAt: isLost ? null : acceptedAt + latency,
    copies: isLost ? 0 : random() < duplicated ? 2 : 1,
    reordered: !isLost && random() < reordered,
  }
}

function madeClocks(sites: readonly Site[], modes: readonly string[]): readonly ComparedClock[] {
  const pages = sites
    .filter(({ windows }) => windows === 'browser')
    .flatMap(({ name }) => modes.map((mode) => `${name}, ${mode}`))
  const page = { offsetMs: 0.4, boundMs: 1.4, errorMs: 0.31 }
  return [
    { name: 'clients', offsetMs: -0.02, boundMs: 0.22, errorMs: 0.24 },
    ...pages.map((name) => ({ name, ...page })),
  ]
}

const lateness = { n: 2500, meanMs: 0.05, p99Ms: 0.6, maxMs: 2.1 }
const linkFigures = {
  connections: 1,
  opened: 1,
  upBytes: 3100,
  downBytes: 612_000,
  up: lateness,
  down: lateness,
  lateMs: 0.05,
}

const windCircumstances = {
  command: 'npm run lab -- windcomm --sites edmonton,lund,caracas,nagaoka --readings 1200 --rate 4 --seed 1',
  startedAt: '2026-05-12T09:30:00.000Z',
  finishedAt: '2026-05-12T09:36:11.000Z',
  environment: madeEnvironment('a process of its own on this machine, its log in SQLite'),
}

export interface CapacityMaking {
  readonly flags?: readonly string[]
  /** Server CPU of a whole ramp by its processes, ms; spent evenly from the start to the end. */
  readonly cpuMs?: (setup: RampSetup, session: number) => Readonly<Record<string, number>>
  /** Share of one core used by each load process. */
  readonly clientShare?: (setup: RampSetup) => number
  readonly lost?: (setup: RampSetup, session: number) => Partial<RampRecord['counts']>
}

/** Every ramp of the flags, with the given CPU and losses. */
export const madeCapacityRun = (making: CapacityMaking = {}) => madeCapacityRunOf(madeRamps(making))

export const madeCapacityRunOf = (ramps: readonly RampRecord[]): StudyRun => ({
  ...runOf(ramps),
  command: 'npm run lab -- capacity',
  parameters: { clients: 2, rate: 40 },
  startedAt: '2026-11-02T08:00:00.000Z',
  finishedAt: '2026-11-02T08:40:00.000Z',
  environment: madeEnvironment('processes of its own on this machine'),
})

/** By setup, each in all sessions. */
export function madeRamps({
  flags = [],
  cpuMs = () => ({ server: 1000 }),
  clientShare = () => 0.3,
  lost = () => ({}),
}: CapacityMaking): readonly RampRecord[] {
  const options = optionsOf(capacity, '--seed', '1', ...flags)
  const setups = rampsOf(options)
  const sessions = Array.from({ length: options.sessions }, (_, place) => place + 1)
  return setups.flatMap((setup, place) =>
    sessions.map((session): RampRecord => {
      const endMs = (setup.windows * 1000) / setup.windowsPerSecond + setup.holdSeconds * 1000
      const seconds = endMs / 1000
      const counts = {
        opened: setup.windows,
        failed: 0,
        dropped: 0,
        due: setup.windows * 4,
        sent: setup.windows * 4,
        answered: setup.windows * 4,
        missing: 0,
        repeated: 0,
        ...lost(setup, session),
      }
      const processOf = (name: string, totalMs: number) => ({
        name,
        samples: Array.from({ length: seconds + 1 }, (_, second) => ({
          atMs: second * 1000,
          cpuMs: 400 + (totalMs * second) / seconds,
          rssBytes: 100e6 + (second * setup.windows * 40_000) / seconds,
        })),
        pssBytes: 80e6,
      })
      const times = { p50: 0.4, p99: 3, max: 9 }
      return {
        ...setup,
        session,
        turn: place + 1,
        counts,
        reasons: counts.failed > 0 ? { ECONNRESET: counts.failed } : {},
        roundTripMs: times,
        openedAfterMs: times,
        openingLatenessMs: times,
        pingLatenessMs: times,
        loopDelayP99Ms: 2,
        receivedBytes: 1e6,
        endMs,
        seconds: Array.from({ length: seconds }, (_, second) => ({
          open: Math.min(counts.opened, (second + 1) * setup.windowsPerSecond),
          opened: 0,
          failed: 0,
          dropped: 0,
          sent: counts.sent / seconds,
          answered: counts.answered / seconds,
          roundTripP50Ms: 0.4,
        })),
        server: Object.entries(cpuMs(setup, session)).map(([name, totalMs]) => processOf(name, totalMs)),
        load: Array.from({ length: setup.clients }, (_, client) =>
          processOf(`clients ${client + 1}`, clientShare(setup) * endMs),
        ),
        serverErrors: counts.dropped > 0 ? 'worker 2 ended\nworker 3 ended\n' : '',
      }
    }),
  )
}
