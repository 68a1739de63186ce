// Makes a run with known truth, for tests and for looking at a report: drawn from a seed, close to what browsers do.

import { createSeededRandom, drawNormal, type Random } from '../../../server/wire/random.ts'
import { madeEnvironment } from '../made-environment.ts'
import type { Run, Sample } from '../samples.ts'

/** How one mode behaves. Times are lognormal, as transmission times are: a floor, a bulk and a long tail. */
export interface Behaviour {
  readonly mode: string
  /** Median transmission time in ms. */
  readonly medianMs: number
  /** Shares of samples, 0 to 1. */
  readonly lost?: number
  readonly duplicated?: number
  readonly reordered?: number
}

export interface Making {
  readonly behaviours?: readonly Behaviour[]
  readonly keys?: number
  readonly blocks?: number
  readonly windows?: number
  readonly seed?: number
  /** False for a server on another machine: then nobody knows when it took a message. */
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

/** A run of these modes in turns; the same seed makes the same run. */
export function madeRun({
  behaviours = threeModes,
  keys = 200,
  blocks = 4,
  windows = 5,
  seed = 1,
  oneMachine = true,
}: Making = {}): Run {
  const random = createSeededRandom(seed)
  const samples = behaviours.flatMap((behaviour) =>
    Array.from({ length: keys }, (_, place) => {
      const block = Math.floor((place * blocks) / keys) + 1
      return message(behaviour, { key: place + 1, block, windows, oneMachine }, random)
    }).flat(),
  )
  return {
    ...circumstances(oneMachine),
    modes: behaviours.map(({ mode }) => mode),
    samples,
    serverUse: use(behaviours),
  }
}

interface Place {
  readonly key: number
  readonly block: number
  readonly windows: number
  readonly oneMachine: boolean
}

/** The samples of one message share its fate (a slow uplink delays every window) and differ by a little each. */
function message(
  behaviour: Behaviour,
  { key, block, windows, oneMachine }: Place,
  random: Random,
): readonly Sample[] {
  const isOutlier = random() < 0.01
  const shared =
    behaviour.medianMs * Math.exp(0.25 * drawNormal(random)) + (isOutlier ? 4 + 14 * random() : 0)
  const inputAt = startMs + block * 60_000 + key * 100 + random()
  const sentAt = inputAt + 0.2 + 0.2 * random()
  return Array.from({ length: windows }, (_, place) => {
    const transmissionMs = shared * Math.exp(0.1 * drawNormal(random))
    const isLost = random() < (behaviour.lost ?? 0)
    const receivedAt = isLost ? null : sentAt + transmissionMs
    const appliedAt = receivedAt === null ? null : receivedAt + 0.1 + 0.2 * random()
    return {
      mode: behaviour.mode,
      block,
      key,
      id: `${behaviour.mode}-window1:${key}`,
      receiver: place + 1,
      own: place === 0,
      inputAt,
      sentAt,
      acceptedAt: oneMachine ? sentAt + shared * 0.4 : null,
      receivedAt,
      appliedAt,
      paintedAt: appliedAt === null ? null : appliedAt + 16 * random(),
      copies: isLost ? 0 : random() < (behaviour.duplicated ?? 0) ? 2 : 1,
      reordered: !isLost && random() < (behaviour.reordered ?? 0),
    }
  })
}

function use(behaviours: readonly Behaviour[]): Run['serverUse'] {
  const spent = (medianMs: number) => ({
    cpuMs: 300 + 60 * medianMs,
    rssBytes: 92_000_000 + 4_000_000 * medianMs,
  })
  return Object.fromEntries(behaviours.map(({ mode, medianMs }) => [mode, spent(medianMs)]))
}

function circumstances(oneMachine: boolean) {
  return {
    scenario: 'keystrokes',
    command:
      'npm run lab -- keystrokes --modes sse/2,sse/1.1,websocket/1.1 --keys 200 --windows 5 --blocks 4',
    startedAt: '2026-05-12T09:30:00.000Z',
    finishedAt: '2026-05-12T09:34:31.000Z',
    environment: madeEnvironment('https://localhost:8443, same machine'),
    parameters: { keys: 200, windows: 5, blocks: 4, warmUpKeys: 20, intervalMs: 100 },
    baseline: 'sse/2',
    clock: oneMachine
      ? ({ method: 'one machine', boundMs: 0.1 } as const)
      : ({ method: 'server exchange', boundMs: 1.2 } as const),
  }
}
