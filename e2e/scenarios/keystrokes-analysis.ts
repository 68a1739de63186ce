// Data of a keystroke run, and its summary: figures, comparisons, the finding.

import { holm, mean, meanOfClusters, meanOfRatios, standardDeviation } from '../../server/wire/t-test.ts'
import type { ReceivedStamp, SentStamp } from '../../web/lab.ts'
import { editorOf, imitatedBy, isPeer, soundPeer, spokenName, withoutEditor } from '../lab/mode-names.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import type { ServerStamps, StampsById } from '../lab/stage-stamps.ts'
import {
  type Figures,
  median,
  outerThirds,
  rounded,
  roundedInterval,
  significant,
  summarise,
} from '../lab/statistics.ts'
import type { PeerFacts } from '../peers/peers.ts'
import { faultOf } from '../peers/peers.ts'
import { count } from '../report/section.ts'

/**
 * One message at one receiving window, with the server's stamps of the message. Times are ms since the epoch on one common
 * clock; null is "never".
 */
export interface Sample extends Readonly<ServerStamps> {
  readonly mode: string
  /** From 1: a server process, browsers and windows of their own. */
  readonly session: number
  /** From 1 within the session. */
  readonly block: number
  /** From 1 within the mode and session; equals the payload's length in characters. */
  readonly key: number
  readonly id: string
  /** Receiving window, from 1; window 1 types. */
  readonly receiver: number
  readonly inputAt: number | null
  readonly sentAt: number
  /** By the server's clock. */
  readonly acceptedAt: number | null
  readonly receivedAt: number | null
  readonly appliedAt: number | null
  /** First frame painted after `appliedAt`. */
  readonly paintedAt: number | null
  /** Of the message as JSON, as the typist sent it and as this window received it. */
  readonly sentBytes: number
  readonly receivedBytes: number | null
  /** Deliveries: 0 is lost, more than 1 duplicated. */
  readonly copies: number
  /** It arrived after a message that was sent later. */
  readonly reordered: boolean
}

export interface Run extends Circumstances {
  readonly modes: readonly string[]
  readonly baseline: string
  readonly samples: readonly Sample[]
  /** Over all of a mode's blocks; `rssBytes` is the highest resident set. */
  readonly serverUse: Readonly<Record<string, { readonly cpuMs: number; readonly rssBytes: number }>>
  /** The growing document; absent unless asked for. `mode` of a sample is the subject's. */
  readonly growing?: readonly { readonly characters: number; readonly samples: readonly Sample[] }[]
  /** Absent where the number of sessions was fixed. */
  readonly until?: { readonly matters: Matters; readonly outcome: 'decided' | 'limit' }
  /** What the peers are; absent without any. */
  readonly peers?: readonly PeerFacts[]
  /** Absent where windows reach the server without a simulated network. */
  readonly network?: {
    readonly profile: string
    readonly source: string
    /** What the relay itself adds, mean. */
    readonly lateMs: number
  }
  /** Where some are not of this machine: in order of `receiver`. */
  readonly windows?: readonly RunWindow[]
  readonly clock: {
    /** `one machine`: system clock alignment; `server exchange`: repeated exchanges, fastest kept. */
    readonly method: 'one machine' | 'server exchange'
    /** Largest error between two windows' stamps. */
    readonly boundMs: number
  }
}

export interface RunWindow {
  readonly receiver: number
  /** `window 2, this machine`, `device 1, Chrome 156 on Android` */
  readonly name: string
  /** Largest error of its clock against the server's. */
  readonly boundMs: number
  /** Turns whose samples are left out, each with the reason. */
  readonly missed: readonly string[]
}

/** A difference that matters: in ms, or in percent of the mean that a mode is compared with. */
export interface Matters {
  readonly amount: number
  readonly unit: 'ms' | '%'
}

/**
 * Mean transmission times in ms: 2021 thesis on SSE and XHR over HTTP/2, Table 1 (section 5); n = 200, three computers
 * on a LAN. It gives no standard deviation, hence no intervals here.
 */
export const publishedMeansMs = { 'sse/2': 79.889, 'sse/1.1': 198.45, 'websocket/1.1': 88.171 } as const

type Received = Sample & { readonly receivedAt: number }

export function hasArrived<One extends Sample>(sample: One): sample is One & Received {
  return sample.receivedAt !== null
}

export function transmissionMs(sample: Received): number {
  return sample.receivedAt - sample.sentAt
}

export interface Block {
  readonly mode: string
  readonly session: number
  readonly block: number
  /** Number of the block's first key within the mode. */
  readonly firstKey: number
  /** By window 1, in order of sending. */
  readonly sent: readonly SentStamp[]
  /** By window, in order of arrival; the first window types. */
  readonly received: readonly (readonly ReceivedStamp[])[]
  /** Added to a window's stamps gives the common clock, ms. */
  readonly offsetsMs: readonly number[]
  /** By message; on the common clock. */
  readonly stamps?: StampsById
}

/** Matched by message ID; includes lost messages. */
export function matchBlock(given: Block): Sample[] {
  const { mode, session, block, firstKey, sent, received, offsetsMs, stamps: server = {} } = given
  const [typistMs = 0] = offsetsMs
  const placeSent = new Map(sent.map(({ id }, place) => [id, place]))
  return received.flatMap((stamps, window) => {
    const arrivals = stamps.filter(({ id }) => placeSent.has(id))
    const arrived = arrivals.map(({ id }) => id)
    const late = overtaken(arrived, placeSent)
    const here = (at: number | null | undefined) => (at == null ? null : at + (offsetsMs[window] ?? 0))
    return sent.map(({ id, sentAt, inputAt, bytes }, place) => {
      const copies = arrivals.filter((arrival) => arrival.id === id)
      const [first] = copies
      return {
        ...{ mode, session, block, key: firstKey + place, id, receiver: window + 1 },
        inputAt: inputAt === null ? null : inputAt + typistMs,
        sentAt: sentAt + typistMs,
        ...(server[id] ?? noStamps),
        acceptedAt: first?.acceptedAt ?? null,
        receivedAt: here(first?.receivedAt),
        appliedAt: here(first?.appliedAt),
        paintedAt: here(first?.paintedAt),
        sentBytes: bytes,
        receivedBytes: first?.bytes ?? null,
        copies: copies.length,
        reordered: late.has(id),
      }
    })
  })
}

const noStamps: ServerStamps = { arrivedAt: null, committingAt: null, storedAt: null, writtenAt: null }

/** IDs whose first copy came after a later one's. `arrivals`: in order of arrival; `places`: order of sending. */
export function overtaken(
  arrivals: Iterable<string>,
  places: ReadonlyMap<string, number>,
): ReadonlySet<string> {
  const late = new Set<string>()
  let furthest = -1
  for (const id of new Set(arrivals)) {
    const place = places.get(id) ?? -1
    if (place < furthest) late.add(id)
    furthest = Math.max(furthest, place)
  }
  return late
}

/** Content of summary.json; measured figures have six significant digits at most. */
export type Summary = ReturnType<typeof analyse>
export type ModeSummary = ReturnType<typeof summariseMode>
export type Comparison = ReturnType<typeof decide>

/** Deterministic. `notCompared`: fewer than two sessions in which messages arrived on both sides, or a mean of one is not above 0. */
export function analyse(run: Run) {
  const sessions = new Set(run.samples.map(({ session }) => session)).size
  const { command, startedAt, finishedAt, environment, parameters, clock, baseline } = run
  const modes = run.modes.map((mode) => summariseMode(run, mode))
  const pairs = pairsOf(run)
  const contrasts = pairs.map(({ mode, baseline }) => contrast(run, mode, baseline))
  const found = contrasts.filter((one) => one !== undefined)
  const corrected = holm(found.map(({ p }) => p))
  const comparisons = found.map((one, place) =>
    decide(one, {
      pCorrected: corrected[place] ?? 1,
      boundMs: clock.boundMs,
      matters: mattersIn(run, one),
    }),
  )
  const notCompared = pairs.filter((_, place) => contrasts[place] === undefined)
  const isApart = (best: string, other: string) => isBelow(contrast(run, best, other), clock.boundMs)
  const words = findingOf({ modes, comparisons, baseline, sessions, isApart })
  const finding = run.network ? `Over the simulated network “${run.network.profile}”: ${words}` : words
  const growing = growingOf(run)
  const circumstances = { command, startedAt, finishedAt, environment, parameters, clock, baseline }
  return {
    scenario: 'keystrokes',
    ...circumstances,
    sessions,
    until: run.until ?? null,
    network: run.network ?? null,
    peers: run.peers ?? [],
    modes,
    windows: (run.windows ?? []).map((window) => summariseWindow(run, window)),
    growing,
    knownFaults: knownFaultsOf(run),
    comparisons,
    notCompared,
    drifts: driftsOf(run),
    finding,
  }
}

/** The growing document: keys of a turn, turns of each editor and size, time between keys. */
export const growingKeys = 20
export const growingTurns = 2
export const growingIntervalMs = 200

/** One row for each size and mode; medians in ms, means of bytes. */
function growingOf({ growing = [] }: Run) {
  return growing.flatMap(({ characters, samples }) =>
    [...Map.groupBy(samples, ({ mode }) => mode)].map(([mode, taken]) => {
      const times = taken.filter(hasArrived).map(transmissionMs)
      const { applyMs = null, showMs = null } = stagesOf(taken)
      return {
        ...{ characters, mode, n: times.length, expected: taken.length },
        p50Ms: times.length === 0 ? null : significant(median(times)),
        ...{ applyMs, showMs },
        ...bytesOf(taken),
      }
    }),
  )
}

/** Times in ms over all samples, (message, receiving window); null without arrivals. */
function summariseMode(run: Run, mode: string) {
  const samples = run.samples.filter((sample) => sample.mode === mode)
  const times = samples.filter(hasArrived).map(transmissionMs)
  const figures = times.length === 0 ? undefined : summarise(times)
  const inMs = (name: Exclude<keyof Figures, 'n'>) => significant(figures?.[name] ?? Number.NaN)
  const use = run.serverUse[mode]
  const sessionMeans = sessionsOf(samples).map(({ times }) => (times.length === 0 ? Number.NaN : mean(times)))
  return {
    mode,
    n: times.length,
    expected: samples.length,
    lost: samples.length - times.length,
    duplicated: samples.filter(({ copies }) => copies > 1).length,
    reordered: samples.filter(({ reordered }) => reordered).length,
    meanMs: inMs('mean'),
    sdMs: inMs('sd'),
    p50Ms: inMs('p50'),
    p95Ms: inMs('p95'),
    p99Ms: inMs('p99'),
    minMs: inMs('min'),
    maxMs: inMs('max'),
    /** In order of the sessions; null for one in which nothing arrived. */
    sessionMeansMs: sessionMeans.map(significant),
    effectiveN: effectiveN(times.length, figures?.sd ?? Number.NaN, sessionMeans),
    ...bytesOf(samples),
    serverCpuMs: significant(use?.cpuMs ?? Number.NaN),
    serverRssBytes: significant(use?.rssBytes ?? Number.NaN),
    ...stagesOf(samples),
    path: pathOf(samples),
  }
}

/** Medians in ms by mode; null without arrivals. */
function summariseWindow({ modes, samples }: Run, { receiver, name, boundMs, missed }: RunWindow) {
  const own = samples.filter((sample) => sample.receiver === receiver)
  const medians = modes.map((mode) => {
    const times = own
      .filter((sample) => sample.mode === mode)
      .filter(hasArrived)
      .map(transmissionMs)
    return [mode, times.length === 0 ? null : significant(median(times))] as const
  })
  const n = own.filter(hasArrived).length
  return {
    ...{ receiver, name, n, lost: own.length - n },
    p50Ms: Object.fromEntries(medians),
    boundMs: rounded(boundMs),
    missed,
  }
}

/**
 * Of each peer with a fault built in, what was built in and what was found. The delay is the relay's own, by its stamps, and
 * is found in the difference from the sound relay at the windows that do not type: the one that types still draws its key
 * when its message comes back at once, which hides some of a delay.
 */
function knownFaultsOf(run: Run) {
  const hearing = run.samples.filter(({ receiver }) => receiver !== 1)
  const heard = hearing.length > 0 ? { ...run, samples: hearing } : run
  return run.modes.flatMap((mode) => {
    const sound = soundOf(mode, run.modes)
    const found = sound === mode ? undefined : contrast(heard, mode, sound)
    if (!found) return []
    const samples = run.samples.filter((sample) => sample.mode === mode)
    const builtMs = relayMs(samples) - relayMs(run.samples.filter((sample) => sample.mode === sound))
    const [low, high] = found.interval
    const lastKeys = new Map(samples.map(({ session, block, key }) => [`${session} ${block}`, key]))
    const isLast = ({ session, block, key }: Sample) => lastKeys.get(`${session} ${block}`) === key
    const hasFaults = mode.includes('+faults')
    const built = (fault: ReturnType<typeof faultOf>) =>
      // One that waits for the next message of its turn, which there is not, does not arrive in it.
      samples.filter(
        (sample) =>
          hasFaults &&
          (faultOf(sample.id) === fault ||
            (fault === 'lost' && faultOf(sample.id) === 'reordered' && isLast(sample))) &&
          !(fault === 'reordered' && isLast(sample)),
      ).length
    return {
      mode,
      sound,
      hasFaults,
      builtMs: significant(builtMs),
      foundMs: rounded(found.difference),
      foundCi95Ms: roundedInterval(found.interval),
      holds: low <= builtMs && builtMs <= high,
      lost: { built: built('lost'), found: samples.filter((sample) => !hasArrived(sample)).length },
      duplicated: { built: built('duplicated'), found: samples.filter(({ copies }) => copies > 1).length },
      reordered: { built: built('reordered'), found: samples.filter(({ reordered }) => reordered).length },
    }
  })
}

/** The relay without faults; where it is not measured, the one that delays least. */
function soundOf(mode: string, modes: readonly string[]): string {
  const sound = soundPeer(mode)
  if (modes.includes(sound)) return sound
  const delayOf = (name: string) => Number(/\+([\d.]+)ms:/.exec(name)?.[1] ?? Number.POSITIVE_INFINITY)
  const alike = modes.filter((name) => soundPeer(name) === sound)
  return alike.toSorted((one, other) => delayOf(one) - delayOf(other))[0] ?? mode
}

/** Mean time in the relay before it begins to send, ms. */
function relayMs(samples: readonly Sample[]): number {
  const times = samples.flatMap(({ acceptedAt, committingAt }) =>
    acceptedAt === null || committingAt === null ? [] : [committingAt - acceptedAt],
  )
  return times.length === 0 ? Number.NaN : mean(times)
}

/**
 * How many independent samples would have a mean as sure as these sessions' means say: the samples' variance over the
 * variance of the mean of the sessions. Rough with few sessions; at most `n`; null below two sessions.
 */
function effectiveN(n: number, sd: number, sessionMeans: readonly number[]): number | null {
  const known = sessionMeans.filter(Number.isFinite)
  const variance = standardDeviation(known) ** 2 / known.length
  return known.length < 2 || variance === 0 ? null : Math.min(n, Math.round(sd ** 2 / variance))
}

/** Means, of messages and of samples that arrived; null without any. */
function bytesOf(samples: readonly Sample[]) {
  const messages = [...new Map(samples.map((sample) => [sample.id, sample])).values()]
  const meanOf = (sizes: readonly number[]) => significant(sizes.length === 0 ? Number.NaN : mean(sizes))
  return {
    sentBytes: meanOf(messages.map(({ sentBytes }) => sentBytes)),
    receivedBytes: meanOf(samples.flatMap(({ receivedBytes }) => receivedBytes ?? [])),
  }
}

/** From stamp to stamp; once for each message, or for each window that receives it. */
export const stages = {
  inputMs: { title: 'Input → sent', from: 'inputAt', to: 'sentAt', each: 'message' },
  upMs: { title: 'Sent → server', from: 'sentAt', to: 'acceptedAt', each: 'message' },
  downMs: { title: 'Server → received', from: 'acceptedAt', to: 'receivedAt', each: 'window' },
  applyMs: { title: 'Received → applied', from: 'receivedAt', to: 'appliedAt', each: 'window' },
  paintMs: { title: 'Applied → painted', from: 'appliedAt', to: 'paintedAt', each: 'window' },
  showMs: { title: 'Received → painted', from: 'receivedAt', to: 'paintedAt', each: 'window' },
} as const

export const stageNames = Object.keys(stages) as (keyof typeof stages)[]

/** Medians in ms, which need not add up; a stage without stamps is absent. */
function stagesOf(samples: readonly Sample[]) {
  const messages = [...new Map(samples.map((sample) => [sample.id, sample])).values()]
  const medians: { -readonly [Name in keyof typeof stages]?: number } = {}
  for (const name of stageNames) {
    const { from, to, each } = stages[name]
    const times = (each === 'message' ? messages : samples).flatMap(({ [from]: start, [to]: end }) =>
      start === null || end === null ? [] : [end - start],
    )
    if (times.length > 0) medians[name] = rounded(median(times))
  }
  return medians
}

/** The stamps of a message on its way, in order, and who spends the time up to each. */
export const wayPoints = [
  { stamp: 'inputAt', stage: 'Input', by: 'page' },
  { stamp: 'sentAt', stage: 'Input → sent', by: 'page' },
  { stamp: 'arrivedAt', stage: 'Way up', by: 'way' },
  { stamp: 'acceptedAt', stage: 'Read, checked', by: 'server' },
  { stamp: 'committingAt', stage: 'Waits for its commit', by: 'server' },
  { stamp: 'storedAt', stage: 'Numbered, stored', by: 'server' },
  { stamp: 'writtenAt', stage: 'Written to all', by: 'server' },
  { stamp: 'receivedAt', stage: 'Way down', by: 'way' },
  { stamp: 'appliedAt', stage: 'Applied', by: 'page' },
  { stamp: 'paintedAt', stage: 'Painted', by: 'page' },
] as const satisfies readonly { stamp: keyof Sample; stage: string; by: 'page' | 'way' | 'server' }[]

export type WayPoint = (typeof wayPoints)[number]

/**
 * Mean ms of the stages of one message to one window, which add up to the whole. Stages between which the mode has no stamp
 * are one, and the way's if that is among them. Without the typing window, which does not draw its own message. Over the samples that have every stamp that the mode has; empty without any.
 */
function pathOf(samples: readonly Sample[]) {
  const others = samples.filter(({ receiver }) => receiver !== 1)
  const arrived = (others.length > 0 ? others : samples).filter(hasArrived)
  // Nine in ten, as the last paint may not come.
  const known = wayPoints.filter(
    ({ stamp }) => arrived.filter((sample) => sample[stamp] !== null).length > 0.9 * arrived.length,
  )
  const whole = arrived.filter((sample) => known.every(({ stamp }) => sample[stamp] !== null))
  if (whole.length === 0) return []
  return known.slice(1).map((to, place) => {
    const from = known[place] ?? to
    const parts = wayPoints.slice(wayPoints.indexOf(from) + 1, wayPoints.indexOf(to) + 1)
    const times = whole.map((sample) => (sample[to.stamp] ?? 0) - (sample[from.stamp] ?? 0))
    return {
      stage: [...new Set([parts[0]?.stage ?? '', to.stage])].join(' … '),
      by: parts.find(({ by }) => by === 'way')?.by ?? to.by,
      meanMs: rounded(mean(times)),
    }
  })
}

/** Each mode against the baseline, then the shared editor against mirroring in the same mode, then against peers. */
function pairsOf({ modes, baseline }: Run) {
  const own = modes.filter((mode) => !isPeer(mode))
  const peersOf = (mode: string) =>
    modes.filter((peer) => imitatedBy(peer) === withoutEditor(mode) && soundPeer(peer) === peer)
  const mirrorsOf = (mode: string) =>
    modes.filter((other) => editorOf(other) === 'mirror' && other === `${withoutEditor(mode)} mirror`)
  return [
    ...own.filter((mode) => mode !== baseline).map((mode) => ({ mode, baseline })),
    ...own
      .filter((mode) => editorOf(mode) === 'shared')
      .flatMap((mode) => mirrorsOf(mode).map((mirror) => ({ mode, baseline: mirror })))
      .filter((pair) => pair.baseline !== baseline),
    ...own.flatMap((mode) => peersOf(mode).map((peer) => ({ mode, baseline: peer }))),
  ]
}

/**
 * The unit is the session: messages of one session resemble each other more than those of different ones. Each session
 * gives one ratio of means, their difference, and one ratio of medians; a message counts once, with its mean over the windows.
 * Ratios are pooled by their logarithms. `p` tests the ratio of the means against 1: where a machine's speed changes from run
 * to run, a ratio of means holds and a difference does not (docs/measuring.md, "Check the intervals").
 */
function contrast({ samples }: Run, mode: string, baseline: string) {
  const others = new Map(
    sessionsOf(samples.filter((sample) => sample.mode === baseline)).map((one) => [one.session, one]),
  )
  const sessions = sessionsOf(samples.filter((sample) => sample.mode === mode)).flatMap((own) => {
    const other = others.get(own.session)
    if (!other || own.times.length === 0 || other.times.length === 0) return []
    const [ownMs, otherMs] = [mean(own.messageMeans), mean(other.messageMeans)]
    return [
      {
        ...{ session: own.session, differenceMs: ownMs - otherMs, meanRatio: ownMs / otherMs },
        medianRatio: median(own.times) / median(other.times),
      },
    ]
  })
  // Where clocks differ, a mean may be below 0, which has no ratio.
  if (sessions.length < 2 || sessions.some(({ meanRatio }) => !(meanRatio > 0 && meanRatio < Infinity)))
    return undefined
  const means = meanOfRatios(sessions.map(({ meanRatio }) => meanRatio))
  const medians = meanOfRatios(sessions.map(({ medianRatio }) => medianRatio))
  const difference = meanOfClusters(sessions.map(({ differenceMs }) => differenceMs))
  return {
    ...{ mode, baseline, p: means.p },
    ...{ meanRatio: means.ratio, meanRatioCi95: means.interval },
    ...{ difference: difference.difference, interval: difference.interval },
    ...{ medianRatio: medians.ratio, medianRatioCi95: medians.interval },
    sessions,
  }
}

/** Of one mode, in order. `messageMeans`: over the windows that received each message. */
function sessionsOf(samples: readonly Sample[]) {
  return [...Map.groupBy(samples, ({ session }) => session)]
    .toSorted(([one], [other]) => one - other)
    .map(([session, inSession]) => {
      const messages = [...Map.groupBy(inSession.filter(hasArrived), ({ id }) => id).values()]
      const times = messages.map((message) => message.map(transmissionMs))
      return { session, times: times.flat(), messageMeans: times.map(mean) }
    })
}

/**
 * Whether a mode became slower or faster within its sessions: mean of the last third of its messages minus that of the
 * first, one figure a session. Omits modes with fewer than two such sessions.
 */
function driftsOf({ modes, samples, clock }: Run) {
  const found = modes.flatMap((mode) => {
    const inOrder = samples
      .filter((sample) => sample.mode === mode)
      .toSorted((one, other) => one.key - other.key)
    const differences = sessionsOf(inOrder).flatMap(({ messageMeans }) => {
      const [first, last] = outerThirds(messageMeans)
      return first.length === 0 ? [] : [mean(last) - mean(first)]
    })
    return differences.length < 2
      ? []
      : [{ mode, sessions: differences.length, ...meanOfClusters(differences) }]
  })
  const corrected = holm(found.map(({ p }) => p))
  return found.map(({ mode, sessions, difference, interval, p }, place) => {
    const pCorrected = corrected[place] ?? 1
    const isFound = pCorrected <= 0.05 && Math.abs(difference) > clock.boundMs
    return {
      ...{
        mode,
        sessions,
        differenceMs: rounded(difference),
        ci95Ms: roundedInterval(interval),
        p,
        pCorrected,
      },
      verdict: !isFound
        ? ('none found' as const)
        : difference > 0
          ? ('slower' as const)
          : ('faster' as const),
    }
  })
}

/** In ms, and as a share of the mean that a mode is compared with. */
function mattersIn({ until, samples }: Run, { baseline }: { readonly baseline: string }) {
  if (!until) return null
  const { amount, unit } = until.matters
  const times = samples
    .filter((sample) => sample.mode === baseline)
    .filter(hasArrived)
    .map(transmissionMs)
  const meanMs = mean(times)
  return unit === 'ms'
    ? { ms: amount, share: amount / meanMs }
    : { ms: (amount / 100) * meanMs, share: amount / 100 }
}

/**
 * Every interval is at most as wide as what matters: it then lies beyond 1, or within what matters. A rule by the width alone,
 * not by the verdict, keeps the intervals right although they are looked at after each session (Y. S. Chow and H. Robbins, "On
 * the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals", Ann. Math. Statist. 36, 1965).
 */
export function isDecided({
  comparisons,
  notCompared,
}: Pick<Summary, 'comparisons' | 'notCompared'>): boolean {
  return notCompared.length === 0 && comparisons.every((one) => widthInMatters(one) <= 1)
}

/** How many sessions in all would narrow the widest interval enough, if they differ as these do. */
export function sessionsNeeded({ comparisons, sessions }: Pick<Summary, 'comparisons' | 'sessions'>): number {
  return Math.ceil(sessions * Math.max(1, ...comparisons.map(widthInMatters)) ** 2)
}

/** Of the logarithms: from a ratio of 1 to the least that matters is one. */
function widthInMatters({ meanRatioCi95: [low, high], mattersShare }: Comparison): number {
  return mattersShare === null ? 0 : Math.log(high / low) / Math.log(1 + mattersShare)
}

/** Mode over baseline: below 1 is faster. */
function decide(
  found: NonNullable<ReturnType<typeof contrast>>,
  {
    pCorrected,
    boundMs,
    matters,
  }: { pCorrected: number; boundMs: number; matters: ReturnType<typeof mattersIn> },
) {
  const { mode, baseline, difference, interval, meanRatio, meanRatioCi95, p, sessions } = found
  const [low, high] = meanRatioCi95
  const isOpen = pCorrected > 0.05 || (low <= 1 && high >= 1) || Math.abs(difference) <= boundMs
  const isAlike = matters !== null && low > 1 / (1 + matters.share) && high < 1 + matters.share
  const faster = meanRatio < 1 ? ('faster' as const) : ('slower' as const)
  return {
    ...{ mode, baseline },
    differenceMs: rounded(difference),
    ci95Ms: roundedInterval(interval),
    p,
    pCorrected,
    verdict: isOpen ? (isAlike ? ('alike' as const) : ('undecided' as const)) : faster,
    mattersMs: matters && rounded(matters.ms),
    mattersShare: matters && rounded(matters.share),
    meanRatio: rounded(meanRatio),
    meanRatioCi95: roundedInterval(meanRatioCi95),
    medianRatio: rounded(found.medianRatio),
    medianRatioCi95: roundedInterval(found.medianRatioCi95),
    sessions: sessions.map(({ session, differenceMs, meanRatio, medianRatio }) => ({
      session,
      differenceMs: rounded(differenceMs),
      meanRatio: rounded(meanRatio),
      medianRatio: rounded(medianRatio),
    })),
  }
}

interface Found extends Pick<Summary, 'modes' | 'comparisons' | 'baseline' | 'sessions'> {
  readonly isApart: (best: string, other: string) => boolean
}
type Timed = ModeSummary & { readonly meanMs: number }

function findingOf(found: Found): string {
  const timed = found.modes.filter((mode): mode is Timed => mode.meanMs !== null && !isPeer(mode.mode))
  const [best] = timed.toSorted((a, b) => a.meanMs - b.meanMs)
  const verdict = best ? bestWords(found, best, timed.length) : 'No transmission time was measured'
  const faults = found.modes.flatMap(faultWords).join('; ')
  return `${faults && `${faults}. `}${verdict}.`
}

/** `WebSocket lost 3 of 1,000 samples, reordered 1`; empty without faults. */
function faultWords({ mode, expected, lost, duplicated, reordered }: ModeSummary): readonly string[] {
  const some = lost === expected ? `all ${count(expected)}` : `${count(lost)} of ${count(expected)}`
  const words = [
    lost > 0 && `lost ${some} samples`,
    duplicated > 0 && `duplicated ${count(duplicated)}`,
    reordered > 0 && `reordered ${count(reordered)}`,
  ].filter(Boolean)
  return words.length === 0 ? [] : [`${spokenName(mode)} ${words.join(', ')}`]
}

function bestWords(
  { comparisons, baseline, sessions, isApart }: Found,
  best: Timed,
  subjects: number,
): string {
  const name = spokenName(best.mode)
  const lowest = `${name} had the lowest mean, ${ms(best.meanMs)}`
  const contrasts = comparisons.filter((one) => one.baseline === baseline)
  if (contrasts.length === 0 && sessions === 1 && subjects > 1)
    return `Undecided: ${lowest}, in one session, which cannot tell how far sessions differ`
  if (contrasts.length === 0)
    return `${name} took ${ms(best.meanMs)} on average, and there was nothing to compare it with`
  /** How much longer than the best the other mode of a comparison took. */
  const longer = ({ mode, differenceMs, ci95Ms, meanRatio, meanRatioCi95 }: Comparison) => {
    const isBest = mode === best.mode
    const times = (ratio: number) => (isBest ? 1 / ratio : ratio)
    const apart = (difference: number) => (isBest ? -difference : difference)
    const ratio = `${ratioFigure(times(meanRatio))} times as long (${range(meanRatioCi95.map(times), ratioFigure)})`
    const inMs = `${ms(apart(differenceMs))} (${range(ci95Ms.map(apart))})`
    return `${spokenName(isBest ? baseline : mode)} took ${ratio}, a difference of ${inMs}`
  }
  const undecided = (one: Comparison) =>
    `Undecided: ${lowest}, but that ${longer(one)}, is within chance or the clock's error`
  const alike = (one: Comparison) =>
    `No difference that matters: ${lowest}; ${longer(one)}, where ${ms(one.mattersMs ?? 0)} would matter`
  const fastest = (rank: string, one: Comparison) =>
    `${name} ${rank}: ${ms(best.meanMs)} on average; ${longer(one)}`
  if (best.mode === baseline) {
    const open = contrasts.find(({ verdict }) => verdict !== 'slower')
    if (open) return open.verdict === 'alike' ? alike(open) : undecided(open)
    const nearest = contrasts.reduce((least, one) => (one.meanRatio < least.meanRatio ? one : least))
    return fastest(`was ${contrasts.length > 1 ? 'fastest' : 'faster'}`, nearest)
  }
  const lead = contrasts.find(({ mode }) => mode === best.mode)
  if (lead === undefined) return `Undecided: ${lowest}, and no comparison`
  if (lead.verdict === 'alike') return alike(lead)
  if (lead.verdict !== 'faster') return undecided(lead)
  const rivals = contrasts.filter((other) => other !== lead && !isApart(best.mode, other.mode))
  const rank =
    rivals.length === 0
      ? `was ${subjects > 2 ? 'fastest' : 'faster'}`
      : `had the lowest mean, not clearly below ${rivals.map(({ mode }) => spokenName(mode)).join(' and ')}`
  return fastest(rank, lead)
}

/**
 * Of the two directly. To call a mode the fastest all these must hold, so that no correction for their number is due
 * (R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24, 1982).
 */
function isBelow(found: ReturnType<typeof contrast>, boundMs: number): boolean {
  return found !== undefined && found.meanRatioCi95[1] < 1 && -found.difference > boundMs
}

const ms = (value: number) => `${figure(value)} ms`

/** `1.2 to 1.6`, the lower end first. */
function range(ends: readonly number[], inWords = figure): string {
  const [low = 0, high = 0] = ends.toSorted((a, b) => a - b)
  return `${inWords(low)} to ${inWords(high)}`
}

/** Two decimals below 10: between 1.0 and 1.1 lies much. */
const ratioFigure = (value: number) => (value < 10 ? value.toFixed(2) : figure(value))

/** Two decimals below 1, one below 100, none above. */
function figure(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size < 1 ? 2 : size < 100 ? 1 : 0).replace('-', '−')
}
