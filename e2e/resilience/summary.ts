// From a run's record to its summary: everything that the report says in figures, as summary.json holds it.

import type { Environment } from '../lab/samples.ts'
import { acceptedOf, accountFor, auditLog, type LogAccount } from './accounting.ts'
import { judgeMemory, type MemoryFigures } from './memory.ts'
import type { Promised } from './plan.ts'
import type { BrowserRecord, FaultRecord, ResilienceRecord, WindowRecord } from './record.ts'
import { faultsOf, findingOf } from './verdict.ts'

export interface ModeSummary {
  readonly mode: string
  readonly windows: number
  /** Messages acknowledged to their authors. */
  readonly accepted: number
  /** Published and never acknowledged, or refused. */
  readonly unacknowledged: number
  /** Accepted messages times windows. */
  readonly expected: number
  /** Deliveries. */
  readonly n: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  /** The longest time in which a window was not open, as it saw it. */
  readonly longestOutageMs: number
  readonly outages: number
  readonly cuts: number
  readonly stalls: number
  /** Resumed with all that was missed. */
  readonly recovered: number
  /** Resumed with a snapshot instead, which is a loss wherever messages were missed. */
  readonly snapshots: number
  readonly repairs: number
  readonly modeChanges: number
  /** Message frames that came once more over the network and went no further than the link. */
  readonly heldBack: number
}

export interface LogSummary {
  readonly messages: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  readonly renumbered: number
}

export interface FaultCounts {
  readonly cuts: number
  readonly restarts: number
  readonly kills: number
  readonly stalls: number
  readonly floods: number
  readonly brokenInputs: number
}

/** What summary.json holds. */
export interface ResilienceSummary {
  readonly scenario: 'resilience'
  readonly command: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  readonly seed: number
  readonly promised: Promised
  readonly faults: FaultCounts
  readonly modes: readonly ModeSummary[]
  readonly browsers: readonly BrowserRecord[]
  readonly log: LogSummary
  readonly memory: MemoryFigures
  /** Times that the server ended though nobody had asked it to. */
  readonly crashes: number
  readonly settledAfterMs: number | null
  /** Everything that makes this run a failure, a sentence each. */
  readonly failures: readonly string[]
  /** Ids that something went wrong with, the first of them. */
  readonly traces: readonly string[]
  /** One sentence for people. */
  readonly finding: string
}

export interface Circumstances
  extends Pick<
    ResilienceSummary,
    'command' | 'startedAt' | 'finishedAt' | 'environment' | 'parameters' | 'seed' | 'promised'
  > {
  /** In the order in which they were asked for. */
  readonly modes: readonly string[]
}

export function summarise(record: ResilienceRecord, circumstances: Circumstances): ResilienceSummary {
  const { modes: names, ...known } = circumstances
  const log = auditLog(record.log, acceptedOf(record.windows))
  const found = {
    promised: known.promised,
    faults: countFaults(record.faults, record.windows),
    modes: names.map((mode) => summariseMode(record, mode)),
    browsers: record.browsers,
    log: logSummary(log),
    memory: judgeMemory(record.memory),
    crashes: record.crashes.length,
    settledAfterMs: record.settledAfterMs === null ? null : Math.round(record.settledAfterMs),
  }
  const failures = faultsOf(found)
  const traces = tracesOf(record, log)
  return { scenario: 'resilience', ...known, ...found, failures, traces, finding: findingOf(found, failures) }
}

/** Cuts are counted at the windows: one that is cut again while it comes back has two. */
export function countFaults(
  faults: readonly FaultRecord[],
  windows: readonly Pick<WindowRecord, 'cuts'>[],
): FaultCounts {
  const count = (kind: FaultRecord['kind']) =>
    faults.filter((fault) => fault.kind === kind && fault.isDone).length
  return {
    cuts: windows.reduce((sum, { cuts }) => sum + cuts, 0),
    restarts: count('restart'),
    kills: count('kill'),
    stalls: count('stall'),
    floods: count('flood'),
    brokenInputs: count('broken input'),
  }
}

function summariseMode({ windows, lastedMs }: ResilienceRecord, mode: string): ModeSummary {
  const own = windows.filter((window) => window.mode === mode)
  const accepted = acceptedOf(own)
  const accounts = own.map(({ seen }) => accountFor(seen, accepted))
  const sum = (figure: (window: WindowRecord) => number) =>
    own.reduce((total, window) => total + figure(window), 0)
  const total = (list: 'lost' | 'duplicated' | 'reordered') =>
    accounts.reduce((count, account) => count + account[list].length, 0)
  // The first is the time before it was open at all.
  const outages = own.flatMap((window) => window.outages.slice(1))
  return {
    mode,
    windows: own.length,
    accepted: accepted.size,
    unacknowledged: sum(({ published }) => published.length) - accepted.size,
    expected: accepted.size * own.length,
    n: accounts.reduce((count, { n }) => count + n, 0),
    lost: total('lost'),
    duplicated: total('duplicated'),
    reordered: total('reordered'),
    longestOutageMs: Math.round(
      Math.max(0, ...outages.map(({ fromMs, toMs }) => (toMs ?? lastedMs) - fromMs)),
    ),
    outages: outages.length,
    cuts: sum(({ cuts }) => cuts),
    stalls: sum(({ stalls }) => stalls),
    recovered: sum(({ recovered }) => recovered),
    snapshots: sum(({ snapshots }) => snapshots),
    repairs: sum(({ repairs }) => repairs),
    modeChanges: sum(({ modeChanges }) => modeChanges),
    heldBack: sum(({ frames, seen }) => frames - seen.length),
  }
}

function logSummary({ messages, lost, duplicated, reordered, renumbered }: LogAccount): LogSummary {
  return {
    messages,
    lost: lost.length,
    duplicated: duplicated.length,
    reordered: reordered.length,
    renumbered: renumbered.length,
  }
}

const mostTraces = 200

function tracesOf({ windows }: ResilienceRecord, log: LogAccount): readonly string[] {
  const ofWindows = windows.flatMap(({ name, channel, seen, refused }) => {
    const accepted = acceptedOf(windows.filter((window) => window.channel === channel))
    const { lost, duplicated, reordered } = accountFor(seen, accepted)
    return [
      ...lost.map((id) => `${name} never got ${id} (${accepted.get(id)})`),
      ...duplicated.map((id) => `${name} got ${id} again`),
      ...reordered.map((id) => `${name} got ${id} out of order`),
      ...refused.map((sentence) => `${name} could not send: ${sentence}`),
    ]
  })
  const ofLog = (['lost', 'duplicated', 'reordered', 'renumbered'] as const).flatMap((list) =>
    log[list].map((id) => `log: ${id} ${list}`),
  )
  return [...ofLog, ...ofWindows].slice(0, mostTraces)
}
