// Plans a run's faults from a seed and carries them out.

import { createSeededRandom } from '../../client/wire.ts'
import type { CuttableWindow } from '../load/cuttable-window.ts'
import { brokenInputs, flood, sendBroken } from './resilience-attacks.ts'
import type { ServerUnderTest } from './resilience-server.ts'
import type { FaultKind, FaultRecord } from './resilience-summary.ts'

interface PlannedFault extends Pick<FaultRecord, 'kind' | 'how' | 'atMs'> {
  /** Selects among the available targets; 0 to 1, exclusive. */
  readonly draw: number
  readonly lastsMs: number
}

const cutKinds = ['idle', 'right after sending', 'while it resumes']

const stallMs: Readonly<Record<string, readonly [least: number, most: number]>> = {
  short: [500, 2000],
  'until its queue overflows': [3000, 5000],
  'until it counts as silent': [6000, 8000],
}

/** A third of the cuts should count twice, but their second cut may find no connection. */
const cutsPlannedForOnePromised = 1.05

/** For 60 s; scaled to the run's length, at least one each. */
const perMinute = {
  cuts: 200,
  restarts: 3,
  kills: 3,
  stalls: 18,
  floods: 10,
  broken: 33,
  brokers: 2,
  workers: 6,
}

/** Share of the run without later restarts, so that the last process lives long enough to judge its memory. */
const lastRestartAt = 0.5

/** Lets every window reach its longest reconnect delay. */
const longAwayMs = 8000

/** Ms between the faults of a pair; the second hits reconnecting windows. */
const followsMs = { least: 1500, spread: 3000 }

/**
 * `floodKinds` take turns. `promised`: minimum faults for a valid run. Deterministic for a seed.
 */
export function planFaults(
  seed: number,
  seconds: number,
  floodKinds: readonly string[],
  { hasBroker = false, hasWorkers = false } = {},
) {
  const random = createSeededRandom(seed)
  const wholeMs = seconds * 1000
  const share = (count: number) => Math.max(1, Math.round((count * seconds) / 60))
  const promised = {
    cuts: share(perMinute.cuts),
    restarts: share(perMinute.restarts),
    kills: share(perMinute.kills),
  }

  /** Pairs of a restart and a kill in either order: one hits working, one reconnecting windows. */
  function restarts(): PlannedFault[] {
    const pairs = promised.restarts
    const stepMs = (wholeMs * lastRestartAt) / pairs
    return Array.from({ length: pairs }, (_, place) => place).flatMap((place): PlannedFault[] => {
      const kinds: FaultKind[] = place % 2 === 0 ? ['kill', 'restart'] : ['restart', 'kill']
      const atMs = (place + 0.4 + random() * 0.3) * stepMs
      const gapMs = Math.min(followsMs.least + random() * followsMs.spread, stepMs / 3)
      return kinds.map((kind, second) => ({
        atMs: atMs + second * gapMs,
        kind,
        how: kind === 'kill' ? 'SIGKILL' : 'SIGTERM',
        draw: random(),
        lastsMs: place === pairs - 1 && second === 1 && pairs > 1 ? longAwayMs : 0,
      }))
    })
  }

  function spread(kind: FaultKind, count: number, kinds: readonly string[]): PlannedFault[] {
    return Array.from({ length: count }, (_, place) => {
      const how = kinds[place % kinds.length] ?? ''
      const lastsMs = lastsOf(kind, how)
      const latestMs = Math.max(0, wholeMs - lastsMs)
      const atMs = Math.min(latestMs, ((place + random()) / count) * wholeMs)
      return { atMs, kind, how, draw: random(), lastsMs }
    })
  }

  function lastsOf(kind: FaultKind, how: string): number {
    if (kind === 'flood') return 1000
    if (kind === 'cut') return random() * 4
    if (kind !== 'stall') return 0
    const [least, most] = stallMs[how] ?? [0, 0]
    return least + random() * (most - least)
  }

  const faults = [
    ...restarts(),
    ...spread('cut', Math.ceil(promised.cuts * cutsPlannedForOnePromised), cutKinds),
    ...spread('stall', share(perMinute.stalls), Object.keys(stallMs)),
    ...spread('flood', share(perMinute.floods), floodKinds),
    ...spread('broken input', share(perMinute.broken), Object.keys(brokenInputs)),
    ...(hasBroker ? spread('broker', share(perMinute.brokers), ['SIGKILL']) : []),
    ...(hasWorkers ? spread('worker', share(perMinute.workers), ['SIGKILL']) : []),
  ]
  return { promised, faults: faults.sort((one, other) => one.atMs - other.atMs) }
}

interface FaultParts {
  readonly windows: readonly CuttableWindow[]
  readonly server: ServerUnderTest
  readonly elapsed: () => number
  /** Deadline for finding a target, ms since the run began. */
  readonly endsAtMs: number
  /** Ms without faults after opening; otherwise waiting faults would keep all windows closed. */
  readonly spareMs: number
  /** Rejects if the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
}

/** Runs due faults concurrently. Resolves when all are over, after at least `leastMs`; calls `onFault` after each. */
export async function carryOut(
  faults: readonly PlannedFault[],
  leastMs: number,
  parts: FaultParts,
  onFault: (fault: FaultRecord) => void,
): Promise<FaultRecord[]> {
  const { pause, elapsed } = parts
  async function atItsTime(fault: PlannedFault): Promise<FaultRecord> {
    await pause(fault.atMs - elapsed())
    const { kind, how } = fault
    const atMs = elapsed()
    const met = await byKind[kind](fault, parts)
    const known = { kind, how, atMs, lastedMs: elapsed() - atMs, isDone: met !== null }
    const record = { ...known, ...(met ?? { target: '', outcome: 'there was no target' }) }
    onFault(record)
    return record
  }
  const [done] = await Promise.all([Promise.all(faults.map(atItsTime)), pause(leastMs - elapsed())])
  return done.sort((one, other) => one.atMs - other.atMs)
}

type Outcome = Pick<FaultRecord, 'target' | 'outcome'> | null

const byKind: Readonly<Record<FaultKind, (fault: PlannedFault, parts: FaultParts) => Promise<Outcome>>> = {
  async cut(fault, parts) {
    const isAuthor = fault.how === 'right after sending'
    const window = await pickTarget(fault, parts, (one) => !isAuthor || one.record.isWriter)
    if (!window) return null
    if (isAuthor) {
      window.publish('sent just before the cut')
      // Up to a few ms: the cut comes before the answer, or in the event-loop turn of the sending.
      if (fault.lastsMs > 1) await parts.pause(fault.lastsMs)
    }
    const isCut =
      fault.how === 'while it resumes'
        ? window.cut((fault.draw * 1000) % 2 < 1 ? 'requested' : 'welcomed')
        : window.cut()
    return isCut ? { target: window.record.name, outcome: 'cut' } : null
  },

  async stall(fault, parts) {
    const { windows, pause } = parts
    const isOverflow = fault.how === 'until its queue overflows'
    const isFit = (one: CuttableWindow) =>
      !one.isStalled && (!isOverflow || (one.mode.isPush && !one.record.isWriter))
    const window = await pickTarget(fault, parts, isFit)
    if (!window) return null
    const author = windows.find(({ record, mode }) => record.isWriter && mode === window.mode)
    const readOn = window.stall()
    const over = isOverflow ? burst(author, fault.lastsMs, pause) : pause(fault.lastsMs)
    await over.finally(readOn)
    return { target: window.record.name, outcome: 'read on' }
  },

  restart: ({ lastsMs }, { server }) => server.restart(lastsMs).then(() => lifeOf(server)),
  kill: ({ lastsMs }, { server }) => server.kill(lastsMs).then(() => lifeOf(server)),

  async broker(_fault, { server }) {
    if (!server.killBroker) return null
    await server.killBroker()
    return { target: 'NATS', outcome: 'up again' }
  },

  async worker({ draw }, parts) {
    if (!(await serverIsUp(parts))) return null
    const worker = await parts.server.killWorker?.(draw)
    return worker === undefined ? null : { target: `process ${worker}`, outcome: 'killed' }
  },

  async flood({ how, lastsMs, draw }, parts) {
    if (!(await serverIsUp(parts))) return null
    const { origin, ca } = parts.server
    const window = `flood-${Math.floor(draw * 1e9).toString(36)}`
    return { target: how, outcome: await flood({ origin, ca, mode: how, lastsMs, window }) }
  },

  async 'broken input'({ how }, parts) {
    if (!(await serverIsUp(parts))) return null
    const outcome = await sendBroken(how, parts.server)
    return outcome === null ? null : { target: how, outcome }
  },
}

const lifeOf = ({ life }: ServerUnderTest) => ({ target: 'server', outcome: `life ${life}` })

/** Random, so that waiting faults do not all strike at once. */
const lookMs = { least: 200, spread: 2000 }

async function pickTarget(
  { draw }: PlannedFault,
  { windows, elapsed, endsAtMs, spareMs, pause }: FaultParts,
  isFit: (window: CuttableWindow) => boolean,
): Promise<CuttableWindow | undefined> {
  while (elapsed() < endsAtMs) {
    const fit = windows.filter((window) => window.openForMs > spareMs && isFit(window))
    // All windows get their turn.
    const older = fit
      .toSorted((one, other) => other.openForMs - one.openForMs)
      .slice(0, Math.ceil(fit.length / 2))
    if (older.length > 0) return older[Math.floor(draw * older.length)]
    await pause(lookMs.least + draw * lookMs.spread)
  }
  return undefined
}

async function serverIsUp({ server, elapsed, endsAtMs, pause }: FaultParts): Promise<boolean> {
  while (!server.isUp && elapsed() < endsAtMs) await pause(lookMs.least)
  return server.isUp
}

/** Exceeds the queue and all network buffers; a reading client can follow. */
const burstOf = { messages: 340, characters: 24_000 }

async function burst(
  author: CuttableWindow | undefined,
  lastsMs: number,
  pause: FaultParts['pause'],
): Promise<void> {
  const text = 'x'.repeat(burstOf.characters)
  for (let count = 0; count < burstOf.messages; count += 1) {
    author?.publish(text)
    await pause(lastsMs / burstOf.messages)
  }
}
