// Data of a resilience run, and its summary: deliveries, returns, memory, failures, the finding.

import type { Figures } from '../../scripts/process.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { ascending, median } from '../lab/statistics.ts'
import type { Outage, Seen, WindowRecord } from '../load/cuttable-window.ts'
import { count, seconds, several } from '../report/section.ts'

export type FaultKind = 'cut' | 'stall' | 'restart' | 'kill' | 'worker' | 'broker' | 'flood' | 'broken input'

export interface FaultRecord {
  readonly kind: FaultKind
  readonly how: string
  /** The window, mode or port hit. */
  readonly target: string
  readonly atMs: number
  readonly lastedMs: number
  readonly outcome: string
  /** False without a target; does not count. */
  readonly isDone: boolean
}

export interface MemorySample extends Pick<Figures, 'rssBytes' | 'heapUsedBytes' | 'windows'> {
  readonly atMs: number
  /** Server process, from 1. */
  readonly life: number
}

/** One Chromium window. */
export interface BrowserRecord {
  readonly name: string
  readonly mode: string
  readonly outages: readonly Outage[]
  readonly isWriter: boolean
  /** Characters. */
  readonly typed: number
  readonly expected: number
  readonly n: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  /** Its text is what was typed, and what the log contains. */
  readonly isEqual: boolean
}

export interface ResilienceRecord {
  /** Fault phase, ms. */
  readonly lastedMs: number
  readonly windows: readonly WindowRecord[]
  readonly faults: readonly FaultRecord[]
  readonly memory: readonly MemorySample[]
  readonly log: readonly Seen[]
  readonly browsers: readonly BrowserRecord[]
  /** Standard error of each unexpected exit. */
  readonly crashes: readonly string[]
  /** Number of servers behind one address, over one NATS stream; absent for one server. */
  readonly servers?: number
  /** Per server; absent for one. */
  readonly workers?: number
  /** Until every window had everything; null on a timeout. */
  readonly settledAfterMs: number | null
}

export function acceptedOf(windows: readonly WindowRecord[]): ReadonlyMap<string, number> {
  return new Map(windows.flatMap(({ accepted }) => [...accepted]))
}

/**
 * `accepted`: for the window's channel. `n` counts deliveries of accepted messages; `duplicated`
 * are repeated deliveries, `reordered` first deliveries after a later message of the log or of the
 * same sender. After a snapshot the window starts over: what is missing there is `told`, not
 * `lost`, and what the snapshot repeats does not count. A snapshot does not excuse missing later
 * messages.
 */
export function accountFor(
  seen: readonly Seen[],
  accepted: ReadonlyMap<string, number>,
  snapshots: Readonly<WindowRecord['snapshots']> = [],
  inLog: ReadonlySet<string> = new Set(),
) {
  const everSeen = new Set(seen.map(({ id }) => id))
  const duplicated: string[] = []
  const reordered: string[] = []
  /** By sender; live deliveries only. `era`: the number of snapshots before it. */
  const deliveries = new Map<string, { counter: number; era: number }[]>()
  let known = new Set<string>()
  let furthestSeq = 0
  let furthestOf = new Map<string, number>()
  let era = 0
  for (const [place, { id, seq }] of seen.entries()) {
    for (; place >= (snapshots[era]?.place ?? Number.POSITIVE_INFINITY); era += 1) {
      known = new Set()
      furthestSeq = 0
      furthestOf = new Map()
    }
    if (era > 0 && seq <= (snapshots[era - 1]?.head ?? 0)) continue
    if (known.has(id)) {
      duplicated.push(id)
      continue
    }
    known.add(id)
    const { sender, counter } = partsOf(id)
    deliveries.getOrInsertComputed(sender, () => []).push({ counter, era })
    const furthest = furthestOf.get(sender) ?? 0
    if (seq <= furthestSeq || counter <= furthest) reordered.push(id)
    furthestSeq = Math.max(furthestSeq, seq)
    furthestOf.set(sender, Math.max(furthest, counter))
  }
  /** A snapshot came between its sender's messages before and after it. */
  const isTold = (id: string) => {
    const { sender, counter } = partsOf(id)
    const own = deliveries.get(sender) ?? []
    const before = own.findLast((one) => one.counter < counter)?.era ?? 0
    const after = own.find((one) => one.counter > counter)?.era ?? snapshots.length
    const head = snapshots[after - 1]?.head ?? 0
    return before < after && !(inLog.has(id) && (accepted.get(id) ?? 0) > head)
  }
  const missing = Map.groupBy(
    accepted.keys().filter((id) => !everSeen.has(id)),
    isTold,
  )
  const n = seen.filter(({ id }) => accepted.has(id)).length
  return { n, lost: missing.get(false) ?? [], told: missing.get(true) ?? [], duplicated, reordered }
}

/** `w3f9c-12`: sender and the sender's counter. */
function partsOf(id: string) {
  const dash = id.lastIndexOf('-')
  return { sender: id.slice(0, dash), counter: Number(id.slice(dash + 1)) }
}

/** Each window's deliveries of what the windows of its mode sent. */
export function accountsOf({ windows, lastedMs }: Pick<ResilienceRecord, 'windows' | 'lastedMs'>) {
  const byMode = Map.groupBy(windows, ({ mode }) => mode)
  const acceptedIn = new Map(byMode.entries().map(([mode, own]) => [mode, acceptedOf(own)]))
  return windows.map((window) => {
    const accepted = acceptedIn.get(window.mode) ?? new Map<string, number>()
    // An unfinished outage counts up to the end.
    const outages = window.outages.map(({ fromMs, toMs }) => (toMs ?? lastedMs) - fromMs)
    const longestOutageMs = Math.round(Math.max(0, ...outages))
    return { window, accepted, longestOutageMs, ...accountFor(window.seen, accepted) }
  })
}

export interface Run extends Circumstances {
  readonly record: ResilienceRecord
  readonly seed: number
  /** Minimum faults for a valid run. */
  readonly promised: { readonly cuts: number; readonly restarts: number; readonly kills: number }
  readonly modes: readonly string[]
}

const maxTraces = 200

/** Content of summary.json. `traces`: the first faulty ids, with the fault. */
export type ResilienceSummary = ReturnType<typeof analyse>

export function analyse({ record, modes: names, ...known }: Run) {
  const accounts = accountsOf(record)
  const accepted = acceptedOf(record.windows)
  const renumbered = record.log.filter(({ id, seq }) => (accepted.get(id) ?? seq) !== seq).map(({ id }) => id)
  const log = { ...accountFor(record.log, accepted), renumbered }
  const found = {
    scenario: 'resilience',
    ...known,
    servers: record.servers ?? 1,
    workers: record.workers ?? 1,
    faults: countFaults(record.faults, record.windows),
    modes: names.map((mode) => summariseMode(accounts, mode)),
    returns: summariseReturns(record, names),
    browsers: record.browsers.map(({ outages: _, ...browser }) => browser),
    log: {
      messages: record.log.length,
      lost: log.lost.length,
      duplicated: log.duplicated.length,
      reordered: log.reordered.length,
      renumbered: renumbered.length,
    },
    memory: judgeMemory(record.memory),
    crashes: record.crashes.length,
    settledAfterMs: record.settledAfterMs === null ? null : Math.round(record.settledAfterMs),
  }
  const failures = failuresOf(found)
  const traces = [
    ...(['lost', 'duplicated', 'reordered', 'renumbered'] as const).flatMap((list) =>
      log[list].map((id) => `log: ${id} ${list}`),
    ),
    ...accounts.flatMap(({ window: { name, refused }, accepted, lost, duplicated, reordered }) => [
      ...lost.map((id) => `${name} never got ${id} (${accepted.get(id)})`),
      ...duplicated.map((id) => `${name} got ${id} again`),
      ...reordered.map((id) => `${name} got ${id} out of order`),
      ...refused.map((sentence) => `${name} could not send: ${sentence}`),
    ]),
  ].slice(0, maxTraces)
  const finding = findingOf(found, failures)
  return { ...found, failures, traces, finding }
}

type Found = Omit<ResilienceSummary, 'failures' | 'traces' | 'finding'>

/** A window that is cut again while it resumes counts two cuts. */
export function countFaults(faults: readonly FaultRecord[], windows: readonly Pick<WindowRecord, 'cuts'>[]) {
  const done = (wanted: FaultKind) => faults.filter(({ kind, isDone }) => kind === wanted && isDone).length
  return {
    cuts: windows.reduce((sum, { cuts }) => sum + cuts, 0),
    restarts: done('restart'),
    kills: done('kill'),
    brokerKills: done('broker'),
    workerKills: done('worker'),
    stalls: done('stall'),
    floods: done('flood'),
    brokenInputs: done('broken input'),
  }
}

type WindowAccount = ReturnType<typeof accountsOf>[number]
type ModeSummary = ReturnType<typeof summariseMode>

function summariseMode(accounts: readonly WindowAccount[], mode: string) {
  const own = accounts.filter(({ window }) => window.mode === mode)
  const accepted = own[0]?.accepted.size ?? 0
  const sum = (figure: (account: WindowAccount) => number) =>
    own.reduce((total, account) => total + figure(account), 0)
  const lengthOf = (name: 'lost' | 'duplicated' | 'reordered') => sum((account) => account[name].length)
  const countOf = (name: 'cuts' | 'stalls' | 'recovered' | 'repairs' | 'modeChanges') =>
    sum(({ window }) => window[name])
  return {
    mode,
    windows: own.length,
    accepted,
    /** Includes refused messages. */
    unacknowledged: sum(({ window }) => window.published.length) - accepted,
    expected: accepted * own.length,
    n: sum(({ n }) => n),
    lost: lengthOf('lost'),
    duplicated: lengthOf('duplicated'),
    reordered: lengthOf('reordered'),
    longestOutageMs: Math.max(0, ...own.map(({ longestOutageMs }) => longestOutageMs)),
    outages: sum(({ window }) => window.outages.length),
    snapshots: sum(({ window }) => window.snapshots.length),
    cuts: countOf('cuts'),
    stalls: countOf('stalls'),
    recovered: countOf('recovered'),
    repairs: countOf('repairs'),
    modeChanges: countOf('modeChanges'),
    /** Repeated message frames that the link dropped. */
    heldBack: sum(({ window }) => window.frames - window.seen.length),
  }
}

/** From the server's return to the window's first frame. */
export const promisedReturnMs = { median: 2000, worst: 5000 } as const

/** Medians of fewer are too uncertain. */
export const minForMedian = 10

export function isInTime({ n, medianMs, worstMs }: ReturnFigures): boolean {
  const isMedianKept = n < minForMedian || (medianMs ?? 0) <= promisedReturnMs.median
  return isMedianKept && (worstMs ?? 0) <= promisedReturnMs.worst
}

function summariseReturns(record: ResilienceRecord, names: readonly string[]) {
  const { fleet, browsers } = returnsIn(record)
  const figuresOf = (returns: readonly WindowReturn[], modes: readonly string[]) => {
    const byMode = Map.groupBy(returns, ({ mode }) => mode)
    return modes.map((mode) => returnFigures(mode, byMode.get(mode) ?? []))
  }
  return {
    modes: figuresOf(fleet, names),
    browsers: figuresOf(browsers, [...new Set(record.browsers.map(({ mode }) => mode))]),
    all: returnFigures('all', [...fleet, ...browsers]),
  }
}

export type ReturnFigures = ReturnType<typeof returnFigures>

/** Over the returns that count; `hit` and `cutShort` are excluded. */
function returnFigures(mode: string, returns: readonly WindowReturn[]) {
  const times = (why: WindowReturn['leftOut']) =>
    returns.filter(({ leftOut }) => leftOut === why).map(({ afterMs }) => afterMs)
  const counted = ascending(times(null))
  const worstMs = counted.at(-1)
  return {
    mode,
    n: counted.length,
    medianMs: counted.length === 0 ? null : Math.round(median(counted)),
    worstMs: worstMs === undefined ? null : Math.round(worstMs),
    hit: times('cut or stalled meanwhile').length,
    cutShort: times('the server was away again').length,
  }
}

interface WindowReturn {
  readonly window: string
  readonly mode: string
  readonly serverUpMs: number
  /** Until the window's first frame or the end of observation. */
  readonly afterMs: number
  /** Null if the return counts. */
  readonly leftOut: 'cut or stalled meanwhile' | 'the server was away again' | null
}

/**
 * A window still away at the end counts as away until then. With several servers, others are
 * available at once, so windows may return right after the fault.
 */
export function returnsIn(record: ResilienceRecord) {
  const { faults, lastedMs, settledAfterMs, windows, browsers, servers = 1 } = record
  const endMs = lastedMs + (settledAfterMs ?? 0)
  const ends = faults
    .filter(({ kind, isDone }) => isDone && (kind === 'restart' || kind === 'kill'))
    .map(({ atMs, lastedMs }) => ({ downMs: atMs, upMs: servers > 1 ? atMs : atMs + lastedMs }))
    .sort((one, other) => one.upMs - other.upMs)

  function returnsOf(returning: readonly Returning[]): readonly WindowReturn[] {
    return ends.flatMap(({ downMs, upMs }, place) => {
      // A fault that was due before the server was up waited for it.
      const nextDownMs = Math.max(upMs, ends[place + 1]?.downMs ?? Number.POSITIVE_INFINITY)
      return returning.flatMap(({ name, mode, outages, disturbances = [] }): WindowReturn[] => {
        // If a window notices late, its outage begins after the server's return; time still counts
        // from that return.
        const outage = outages.find(({ fromMs, toMs }) => (toMs ?? endMs) > upMs && fromMs < nextDownMs)
        if (!outage) return []
        const untilMs = Math.min(outage.toMs ?? endMs, nextDownMs)
        const afterMs = untilMs - upMs
        const isHit = disturbances.some((hit) => hit.fromMs < untilMs && (hit.toMs ?? endMs) > downMs)
        const isCutShort = untilMs === nextDownMs && afterMs <= promisedReturnMs.worst
        const leftOut = isHit ? 'cut or stalled meanwhile' : isCutShort ? 'the server was away again' : null
        return [{ window: name, mode, serverUpMs: upMs, afterMs, leftOut }]
      })
    })
  }

  return { fleet: returnsOf(windows), browsers: returnsOf(browsers) }
}

type Returning = Pick<BrowserRecord, 'name' | 'mode' | 'outages'> & {
  readonly disturbances?: readonly Outage[]
}

/** Windows reconnect, code is compiled, and the first floods grow the buffers. */
const warmupMs = 12_000

/** Needed for a verdict; a third of them at each end. */
const minSamples = 6

/** Allowed growth in bytes, or as a factor: buffers, compiled code and pages that the collector keeps. */
const allowance = { heapBytes: 16e6, rssBytes: 48e6, share: 1.25 }

export const flatCriterion = `Flat means: in the life of the server’s last process, excluding ${warmupMs / 1000} s of warm-up, the smallest heap and the median resident set of the last third are at most ${allowance.share} times those of the first third, or within ${allowance.heapBytes / 1e6} MB (heap) and ${allowance.rssBytes / 1e6} MB (resident set) of them.`

/** `atFirst` has all windows joined; `last` is null if the last process lived too briefly. */
function judgeMemory(samples: readonly MemorySample[]) {
  const life = Math.max(0, ...samples.map(({ life }) => life))
  const ofLast = samples.filter((sample) => sample.life === life)
  const bornMs = ofLast[0]?.atMs ?? 0
  // A process that was never restarted warms up from the start of the run.
  const warm = ofLast.filter(({ atMs }) => atMs - bornMs >= warmupMs)
  const atFirst = samples[0] ?? null
  if (warm.length < minSamples) return { atFirst, last: null }
  const third = Math.floor(warm.length / 3)
  const start = typical(warm.slice(0, third))
  const end = typical(warm.slice(-third))
  const isWithin = (figure: 'heapUsedBytes' | 'rssBytes', bytes: number) =>
    end[figure] <= Math.max(start[figure] * allowance.share, start[figure] + bytes)
  const isFlat = isWithin('heapUsedBytes', allowance.heapBytes) && isWithin('rssBytes', allowance.rssBytes)
  return { atFirst, last: { start, end, isFlat } }
}

/** The lowest heap shows what is retained between garbage collections. */
function typical(part: readonly MemorySample[]): MemorySample {
  const byRss = part.toSorted((one, other) => one.rssBytes - other.rssBytes)
  const middle = byRss[Math.floor(byRss.length / 2)]
  if (!middle) throw new RangeError('No samples of memory: there is nothing to judge.')
  return { ...middle, heapUsedBytes: Math.min(...part.map((sample) => sample.heapUsedBytes)) }
}

function failuresOf(found: Found): readonly string[] {
  const { promised, faults, modes, returns, browsers, log, crashes, settledAfterMs } = found
  return [
    ...modes.flatMap((mode) => {
      const { unacknowledged } = mode
      return failure(mode.mode, mode, unacknowledged && `${unacknowledged} messages were never acknowledged`)
    }),
    ...failure('The log', log, log.renumbered && `${log.renumbered} under another number`),
    ...lateReturns(returns),
    ...browsers.flatMap((browser) =>
      failure(
        `Chromium in ${browser.mode}`,
        browser,
        !browser.isEqual && 'it does not show what the log says',
      ),
    ),
    ...(crashes > 0 ? [`Server crashes: ${crashes}.`] : []),
    ...(settledAfterMs === null ? ['Not all windows reached the end of the log in time.'] : []),
    ...(['cuts', 'restarts', 'kills'] as const)
      .filter((kind) => faults[kind] < promised[kind])
      .map((kind) => `Only ${faults[kind]} of the ${promised[kind]} promised ${kind} occurred.`),
  ]
}

/** One sentence, or none if nothing is wrong. */
function failure(
  subject: string,
  { lost, duplicated, reordered }: Pick<ModeSummary, 'lost' | 'duplicated' | 'reordered'>,
  alsoWrong: string | false | 0,
): readonly string[] {
  const words = Object.entries({ lost, duplicated, reordered })
    .filter(([, number]) => number > 0)
    .map(([word, number]) => `${number} ${word}`)
  if (alsoWrong) words.push(alsoWrong)
  return words.length === 0 ? [] : [`${subject}: ${words.join(', ')}.`]
}

function lateReturns({ modes, browsers, all }: Found['returns']): readonly string[] {
  const late = [
    ...modes.filter((figures) => !isInTime(figures)).map(({ mode }) => mode),
    ...browsers.filter((figures) => !isInTime(figures)).map(({ mode }) => `Chromium’s ${mode}`),
  ]
  if (late.length === 0 && isInTime(all)) return []
  const { median, worst } = promisedReturnMs
  const figures = `${seconds(all.medianMs ?? 0)} in the median and ${seconds(all.worstMs ?? 0)} at worst`
  const where = late.length === 0 ? '' : `; too late: ${late.join(', ')}`
  return [
    `After the server’s return windows were back in ${figures}, required at most ${median / 1000} s and ${worst / 1000} s${where}.`,
  ]
}

function findingOf(found: Found, failures: readonly string[]): string {
  const { modes, returns, browsers, faults, memory } = found
  const ends = `${several(faults.restarts, 'restart')} and ${several(faults.kills, 'kill')}`
  const others = [
    ...(faults.workerKills > 0 ? [`${several(faults.workerKills, 'kill')} of a worker`] : []),
    ...(faults.brokerKills > 0 ? [`${several(faults.brokerKills, 'kill')} of NATS`] : []),
  ]
  const beside = others.length > 0 ? `, and ${others.join(' and ')}` : ''
  const whose = found.servers > 1 ? ` of one of ${found.servers} servers` : ''
  const through = `${several(faults.cuts, 'cut connection')}, ${ends}${whose}${beside}`
  if (failures.length > 0) return `Not held through ${through}: ${failures.join(' ')}`
  const deliveries = [...modes, ...browsers].reduce((sum, { n }) => sum + n, 0)
  const flat = memory.last === null ? '' : memory.last.isFlat ? '; memory is flat' : '; memory grew'
  const { n, medianMs, worstMs } = returns.all
  const back =
    n === 0
      ? ''
      : ` Windows were back ${seconds(medianMs)} after the server’s ${found.servers > 1 ? 'end' : 'return'} in the median, ${seconds(worstMs)} at worst.`
  return `Through ${through}${beside && ','} all ${count(deliveries)} deliveries arrived: none lost, none twice, none out of order${flat}.${back}`
}
