// A run's samples (one message at one receiving window, with its times), their counts and figures.

import { mean } from '../../client/statistics.ts'
import type { ReceivedStamp, SentStamp } from '../../web/lab.ts'
import type { ServerStamps, StampsById } from './stage-stamps.ts'
import { type Figures, median, significant, summarise } from './statistics.ts'

/** A message's times at one window, in ms since the epoch on one common clock; null is "never". */
export interface Delivery {
  readonly id: string
  readonly receivedAt: number | null
  /** Deliveries: 0 is lost, more than 1 duplicated. */
  readonly copies: number
  /** It arrived after a message that was sent later. */
  readonly reordered: boolean
}

/** With the server's stamps of the message. */
export interface Sample extends Delivery, Readonly<ServerStamps> {
  readonly mode: string
  /** From 1: each session has its own server process, browsers and windows. */
  readonly session: number
  /** From 1 within the session. */
  readonly block: number
  /** From 1 within the mode and session; equals the payload's length in characters. */
  readonly key: number
  /** Receiving window, from 1; window 1 types. */
  readonly receiver: number
  readonly inputAt: number | null
  readonly sentAt: number
  /** By the server's clock. */
  readonly acceptedAt: number | null
  readonly appliedAt: number | null
  /** First frame painted after `appliedAt`. */
  readonly paintedAt: number | null
  /** Sizes of the message as JSON, as the typist sent it and as this window received it. */
  readonly sentBytes: number
  readonly receivedBytes: number | null
}

type Arrived<One extends Delivery = Sample> = One & { readonly receivedAt: number }

export function hasArrived<One extends Delivery>(sample: One): sample is Arrived<One> {
  return sample.receivedAt !== null
}

export function transmissionMs({ sentAt, receivedAt }: Arrived): number {
  return receivedAt - sentAt
}

/**
 * Samples of the windows that do not type. A run with one window has only its own, which take longer:
 * it shows its key while the message comes back.
 */
export function atOthers<One extends { readonly receiver: number }>(samples: readonly One[]): readonly One[] {
  const others = samples.filter(({ receiver }) => receiver !== 1)
  return others.length > 0 ? others : samples
}

/** Samples of the typing window: its own messages, which the server sends to it, too. */
export const echoesIn = <One extends { readonly receiver: number }>(samples: readonly One[]) =>
  samples.filter(({ receiver }) => receiver === 1)

/** Times of the messages that arrived. */
export const timesOf = (samples: readonly Sample[]) => samples.filter(hasArrived).map(transmissionMs)

/** Over the messages that arrived; null without any. */
export function medianMs(samples: readonly Sample[]): number | null {
  const times = timesOf(samples)
  return times.length === 0 ? null : significant(median(times))
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
  /** Added to a window's stamps, gives the common clock, ms. */
  readonly offsetsMs: readonly number[]
  /** By message; on the common clock. */
  readonly stamps?: StampsById
}

/** Matched by message ID; includes lost messages. */
export function matchBlock(given: Block): Sample[] {
  const { mode, session, block, firstKey, sent, received, offsetsMs, stamps: server = {} } = given
  const [typistMs = 0] = offsetsMs
  const ids = sent.map(({ id }) => id)
  return received.flatMap((stamps, window) => {
    const deliveries = matchDeliveries(ids, stamps)
    const here = (at: number | null | undefined) => (at == null ? null : at + (offsetsMs[window] ?? 0))
    return sent.map(({ id, sentAt, inputAt, bytes }, index) => {
      const { first, copies, reordered } = deliveries[index] ?? { copies: 0, reordered: false }
      return {
        mode,
        session,
        block,
        key: firstKey + index,
        id,
        receiver: window + 1,
        inputAt: inputAt === null ? null : inputAt + typistMs,
        sentAt: sentAt + typistMs,
        ...(server[id] ?? noStamps),
        acceptedAt: first?.acceptedAt ?? null,
        receivedAt: here(first?.receivedAt),
        appliedAt: here(first?.appliedAt),
        paintedAt: here(first?.paintedAt),
        sentBytes: bytes,
        receivedBytes: first?.bytes ?? null,
        copies,
        reordered,
      }
    })
  })
}

const noStamps: ServerStamps = { arrivedAt: null, committingAt: null, storedAt: null, writtenAt: null }

/**
 * Matches `ids`, in order of sending, with one window's `arrivals`, in order; other ids are ignored.
 * Reordered: the first copy arrived after that of a later message.
 */
export function matchDeliveries<Stamp extends { readonly id: string }>(
  ids: readonly string[],
  arrivals: readonly Stamp[],
) {
  const places = new Map(ids.map((id, index) => [id, index]))
  const byId = Map.groupBy(
    arrivals.filter(({ id }) => places.has(id)),
    ({ id }) => id,
  )
  const late = new Set<string>()
  let furthest = -1
  for (const id of byId.keys()) {
    const index = places.get(id) ?? -1
    if (index < furthest) late.add(id)
    furthest = Math.max(furthest, index)
  }
  return ids.map((id) => {
    const copies = byId.get(id) ?? []
    return { first: copies[0], copies: copies.length, reordered: late.has(id) }
  })
}

export interface Counts {
  readonly expected: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
}

const counted = ['expected', 'lost', 'duplicated', 'reordered'] as const

/** Sums the counts. */
export function totals(rows: readonly Counts[]): Counts {
  const sums = counted.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])
  return Object.fromEntries(sums) as Record<(typeof counted)[number], number>
}

type Named = Counts & { readonly mode: string }

/** Rows of the windows that do not type, with the counts of the typing window added. */
export function atAllWindows<Row extends Named>(others: readonly Row[], echoes: readonly Named[]) {
  return others.map((row) => {
    const counts = totals([row, ...echoes.filter(({ mode }) => mode === row.mode)])
    return { ...row, ...counts, n: counts.expected - counts.lost }
  })
}

export const isFaulty = ({ lost, duplicated, reordered }: Counts) => lost + duplicated + reordered > 0

/** Counts samples, and summarizes the times of those that arrived, ms; null without any. */
export function summariseSamples<One extends Delivery>(
  samples: readonly One[],
  timeOf: (sample: Arrived<One>) => number,
) {
  const times = samples.filter(hasArrived).map(timeOf)
  const figures = times.length === 0 ? undefined : summarise(times)
  const inMs = (name: Exclude<keyof Figures, 'n'>) => significant(figures?.[name] ?? Number.NaN)
  return {
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
  }
}

/** By session, in order. */
export function bySession<One extends { readonly session: number }>(samples: readonly One[]) {
  return [...Map.groupBy(samples, ({ session }) => session)].toSorted(([one], [other]) => one - other)
}

/**
 * For progress: `mean 5.26 ms, median 3.69 ms  40 of 40 received`. `expected`: for when windows
 * without samples count too.
 */
export function formatOutcome(samples: readonly Sample[], expected = samples.length): string {
  const times = timesOf(samples)
  const lost = expected - times.length
  const inMs = (ms: number) => `${ms.toFixed(2).padStart(6)} ms`
  const middle =
    times.length > 0 ? `mean ${inMs(mean(times))}, median ${inMs(median(times))}` : 'nothing received'
  return `${middle}  ${times.length} of ${expected} received${lost > 0 ? `, ${lost} LOST` : ''}`
}
