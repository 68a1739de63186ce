// Numbered messages: published on schedule, recognised in received bytes, tallied.

import type { Draft } from '../../client/wire.ts'

/** Consecutive numbers (marks) at a fixed interval. */
export interface Interval {
  readonly first: number
  readonly count: number
  /** When the first is due, ms on the shared clock. */
  readonly startAt: number
  readonly intervalMs: number
}

export interface Author {
  readonly name: string
  readonly channel: string
  readonly publish: (draft: Draft<'title'>) => void
}

const opening = '<p>#'

/**
 * Open loop: publishes each message when due. A late timer sends all that are due; none is skipped
 * or moved. Returns a stop function.
 */
export function startAuthor(author: Author, interval: Interval, clock: () => number): () => void {
  const { first, count, startAt, intervalMs } = interval
  let next = 0
  let timer = setTimeout(sendDue, waitMs())

  function waitMs(): number {
    return Math.max(0, Math.ceil(startAt + next * intervalMs - clock()))
  }

  function sendDue(): void {
    for (; next < count && startAt + next * intervalMs <= clock(); next += 1)
      author.publish(markedDraft(author, first + next))
    if (next < count) timer = setTimeout(sendDue, waitMs())
  }

  return () => clearTimeout(timer)
}

/** A title of about 60 bytes, which every document takes. The mark survives nested JSON. */
export function markedDraft({ name, channel }: Author, mark: number): Draft<'title'> {
  const title = `${opening}${mark}# The wind turns north-west, five metres a second.</p>`
  const at = performance.timeOrigin + performance.now()
  return { id: `${name}-${mark}`, channel, kind: 'title', from: name, at, body: { title } }
}

const openingBytes = Buffer.from(opening)
const hash = 0x23
const zero = 0x30
const nothing = Buffer.alloc(0)

/**
 * Scans for marks without parsing, to stay cheap beside the measured server; acknowledgements and
 * heartbeats carry no content. Chunks may be split anywhere.
 */
export function createMarkReader(onMark: (mark: number) => void): (bytes: Buffer) => void {
  let rest: Buffer = nothing

  return (bytes) => {
    const all = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    rest = nothing
    let at = all.indexOf(openingBytes)
    while (at >= 0) {
      let mark = 0
      let end = at + openingBytes.length
      for (; end < all.length && all[end] !== hash; end += 1) mark = mark * 10 + (all[end] ?? zero) - zero
      if (end === all.length) {
        rest = Buffer.from(all.subarray(at))
        return
      }
      onMark(mark)
      at = all.indexOf(openingBytes, end)
    }
    rest = cutOpening(all)
  }
}

/** Copies the tail that may start a mark: a view would retain the whole chunk. */
function cutOpening(all: Buffer): Buffer {
  const at = all.indexOf(openingBytes[0] ?? 0, Math.max(0, all.length - openingBytes.length + 1))
  return at < 0 ? nothing : Buffer.from(all.subarray(at))
}

export interface Tally {
  /** First copies. */
  readonly received: number
  readonly duplicated: number
  /** First copies that arrived after a later message. */
  readonly reordered: number
  /** From due, or sent, to received; one per first copy, unordered. */
  readonly latenciesMs: Float64Array
}

export type Tallying = ReturnType<typeof createTallying>

/**
 * Calls `onComplete` once every window has every message. `begunAt`: when a message's latency
 * starts, on the shared clock; default: when it was due.
 */
export function createTallying(
  windows: number,
  { first, count, startAt, intervalMs }: Interval,
  onComplete: () => void,
  begunAt = (_window: number, place: number) => startAt + place * intervalMs,
) {
  const expected = windows * count
  const hasArrived = new Uint8Array(expected)
  const furthest = new Int32Array(windows).fill(-1)
  const latenciesMs = new Float64Array(expected)
  let received = 0
  let duplicated = 0
  let reordered = 0

  return {
    /** `window` counts from 0 in this process; `at` is on the shared clock. Ignores marks of other intervals. */
    take(window: number, mark: number, at: number): void {
      const place = mark - first
      if (place < 0 || place >= count) return
      const cell = window * count + place
      if (hasArrived[cell] === 1) {
        duplicated += 1
        return
      }
      hasArrived[cell] = 1
      if (place < (furthest[window] ?? 0)) reordered += 1
      else furthest[window] = place
      latenciesMs[received] = at - begunAt(window, place)
      received += 1
      if (received === expected) onComplete()
    },
    result: (): Tally => ({ received, duplicated, reordered, latenciesMs: latenciesMs.slice(0, received) }),
  }
}
