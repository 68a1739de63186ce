// Makes a WindComm run without a machine, for tests and for looking at a report: the profiles' networks, and nothing else.

import { createSeededRandom, type Random } from '../../../server/wire/random.ts'
import { predict } from '../../network/predict.ts'
import { type ProfileName, profiles, scaled } from '../../network/profiles.ts'
import { madeEnvironment } from '../made-environment.ts'
import type { LinkUse } from './links.ts'
import { methodOf, methods, modeOf, modesBeside } from './methods.ts'
import type { ComparedClock, Reading, Site, WindRun, WindSample } from './run.ts'

export interface WindMaking {
  readonly sites?: readonly ProfileName[]
  readonly modes?: readonly string[]
  readonly readings?: number
  readonly faster?: number
  readonly seed?: number
  /** Shares of the readings of every cell, 0 to 1. */
  readonly lost?: number
  readonly duplicated?: number
  readonly reordered?: number
  /** Instead of the networks' latencies, ms. */
  readonly latencyOf?: (site: string, mode: string, place: number) => number
}

const startMs = Date.UTC(2026, 4, 12, 9, 30)

/** The same making makes the same run. The first site has browser windows. */
export function madeWindRun(making: WindMaking = {}): WindRun {
  const { readings: count = 1200, faster = 1, seed = 1 } = making
  const { sites: names = ['edmonton', 'lund', 'caracas', 'nagaoka'] } = making
  const { modes = [...methods.map((method) => modeOf[method]), ...modesBeside] } = making
  const pace = { rateHz: 4 * faster, holdMs: 300 / faster, intervalMs: 150 / faster, faster }
  const readings = readingsAt(count, pace.rateHz)
  const sites = names.map((name, place): Site => {
    const profile = scaled(profiles[name], faster)
    return { name, profile, seed: seed + place, windows: place === 0 ? 'browser' : 'client' }
  })
  const random = createSeededRandom(seed)
  return {
    ...circumstances,
    ...pace,
    parameters: { sites: names.join(', '), readings: count, ...pace, seed },
    warmUpReadings: 20,
    sites,
    modes,
    readings,
    samples: sites.flatMap((site) => samplesOf(site, modes, readings, { ...making, ...pace }, random)),
    clock: { before: clocksOf(sites, modes), after: clocksOf(sites, modes) },
    links: sites.flatMap(({ name: site }) => modes.map((mode): LinkUse => ({ site, mode, ...linkFigures }))),
    serverCpuMs: 4321,
  }
}

function readingsAt(count: number, rateHz: number): readonly Reading[] {
  return Array.from({ length: count }, (_, place) => {
    const at = startMs + (place * 1000) / rateHz
    return { id: `sensor-made-${place + 30}`, seq: place + 30, at, acceptedAt: at + 0.2 }
  })
}

type Making = WindMaking & { readonly rateHz: number; readonly holdMs: number; readonly intervalMs: number }

/** Modes beside the paper's are WebSocket and a little more. */
function samplesOf(
  { name: site, profile, seed }: Site,
  modes: readonly string[],
  readings: readonly Reading[],
  making: Making,
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
      sampleOf({ site, mode, place: place + 1 }, reading, latencyOf(site, mode, place), making, random),
    ),
  )
}

function sampleOf(
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

function clocksOf(sites: readonly Site[], modes: readonly string[]): readonly ComparedClock[] {
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

const circumstances = {
  command: 'npm run lab -- windcomm --sites edmonton,lund,caracas,nagaoka --readings 1200 --rate 4 --seed 1',
  startedAt: '2026-05-12T09:30:00.000Z',
  finishedAt: '2026-05-12T09:36:11.000Z',
  environment: madeEnvironment('a process of its own on this machine, its log in SQLite'),
}
