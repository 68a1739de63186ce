// Reads a channel's history in portions.

import { type Cursor, estimateLength, type Kind, type Message, parseCursor } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { maxLeft, maxPortions, newestOfEach, turn } from '../hub/delivery.ts'
import type { Log } from '../log/log.ts'

export interface Page {
  readonly messages: readonly Message[]
  /** After the messages. */
  readonly cursor: Cursor
  /** False if messages after the given cursor are gone: these begin with the oldest that can be read. */
  readonly recovered: boolean
  /** Characters of messages that were read, too, but are superseded. */
  readonly superseded?: number
}

/**
 * A portion after a cursor; without one, or if something after it is gone, from the beginning. `isWhole`:
 * older messages are joined, and the beginning is everything.
 */
export async function readPage(
  log: Log,
  channel: string,
  from: Cursor | null,
  isWhole = false,
): Promise<Page> {
  const channels = new Set([channel])
  if (from) {
    const { recovered, messages, reached, head } = await log.read(from, channels)
    if (recovered) return { messages, cursor: reached, recovered }
    const isOfThisLog = from.epoch === head.epoch && from.seq <= head.seq
    const newest = log.heads().get(channel)
    // Other channels may have lost something.
    if (isOfThisLog && newest !== undefined && newest <= from.seq)
      return { messages: [], cursor: head, recovered: true }
    if (isWhole) return { ...(await wholeOf(log, channel)), recovered: false }
    const { after } = await log.oldest(channel, 'json')
    // The messages that follow are not gone, but only the newest can be read.
    if (isOfThisLog && after.seq <= from.seq) return { messages, cursor: reached, recovered }
  }
  if (isWhole) return wholeOf(log, channel)
  const { after } = await log.oldest(channel, 'json')
  const { messages: newest } = await log.snapshot(channels)
  const { messages, reached, recovered } = await log.read(after, channels)
  // The newest stays when the log drops it.
  const older = newest.filter(({ seq }) => seq <= after.seq)
  return { messages: [...older, ...messages], cursor: reached, recovered: from === null && recovered }
}

/** Yields the messages after a number, in portions, up to the newest at the beginning. */
export async function* pagesAfter(
  log: Log,
  channel: string,
  { after, isWhole, mayRead }: Past,
): AsyncGenerator<Page> {
  mayRead()
  const { head } = await log.snapshot(new Set([channel]))
  for (let reached = after; reached < head.seq; ) {
    mayRead()
    const page = await readPage(log, channel, reached > 0 ? { ...head, seq: reached } : null, isWhole)
    yield page
    if (page.cursor.seq <= reached) return
    reached = page.cursor.seq
  }
}

interface Past {
  readonly after: number
  /** Whether older messages are joined. */
  readonly isWhole: boolean
  /** Throws if the log cannot be read now. */
  readonly mayRead: () => void
}

/** A whole document. */
export async function wholeOf(log: Log, channel: string): Promise<Page> {
  const { head, messages } = await log.snapshot(new Set([channel]))
  return { messages, cursor: head, recovered: true }
}

/** As `readPage`, in larger portions, without the messages that are superseded in one. */
async function readNewest(
  log: Log,
  channel: string,
  from: Cursor | null,
  { isWhole, seriesOf }: Reading,
): Promise<Page> {
  let page = await readPage(log, channel, from, isWhole)
  let superseded = 0
  const isSeries = (message: Message) => seriesOf(message) !== null
  for (
    let portions = 1;
    portions < maxPortions && page.messages.some(isSeries) && charactersOf(page.messages) < maxLeft;
    portions += 1
  ) {
    await turn()
    const next = await readPage(log, channel, page.cursor, isWhole)
    // The reader learns of a gap when it reads on.
    if (!next.recovered || next.cursor.seq === page.cursor.seq) break
    const all = [...page.messages, ...next.messages]
    const messages = newestOfEach(all, seriesOf)
    superseded += charactersOf(all) - charactersOf(messages)
    page = { messages, cursor: next.cursor, recovered: page.recovered }
  }
  return { ...page, superseded }
}

export const charactersOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, { body }) => sum + estimateLength(body), 0)

interface Reading {
  /** Whether older messages are joined. */
  readonly isWhole: boolean
  readonly seriesOf: (message: Message) => string | null
}

/** `after` is a cursor, `start` or `newest`. Rejects with a `Refusal` (400 `bad-query`). */
export async function pageAfter(log: Log, channel: string, after: string, reading: Reading): Promise<Page> {
  if (after === 'newest') {
    const { head } = await log.snapshot(new Set([channel]))
    return { messages: [], cursor: head, recovered: true }
  }
  const cursor = parseCursor(after)
  if (cursor || after === 'start') return readNewest(log, channel, cursor, reading)
  const sentence = `after is ${JSON.stringify(after.slice(0, 80))}; it must be a cursor, "start" or "newest".`
  throw new Refusal('bad-query', sentence)
}

/** Limits of one answer, and how many it has if nothing is asked for. */
const pageSize = { usual: 50, most: 500 }

export interface EarlierPage {
  readonly messages: readonly Message[]
  /** The log's end. */
  readonly cursor: Cursor
  readonly hasEarlier: boolean
}

/**
 * The newest before a number, of one kind or of all but changes; `before` is a number, in a query as text, or
 * `newest`, and so is `limit`. Rejects with a `Refusal` (400 `bad-query`).
 */
export async function pageBefore(
  log: Log,
  channel: string,
  { before = 'newest', limit = pageSize.usual, kind }: Earlier,
): Promise<EarlierPage> {
  const end = before === 'newest' ? Number.MAX_SAFE_INTEGER : numberIn('before', before, 0)
  const count = numberIn('limit', limit, 1, pageSize.most)
  const { messages, isOldest, head } = await log.readBefore(channel, end, count, kind)
  return { messages, cursor: head, hasEarlier: !isOldest }
}

interface Earlier {
  readonly before?: unknown
  readonly limit?: unknown
  readonly kind?: Kind | undefined
}

/** Throws a `Refusal` (400 `bad-query`) unless it is a whole number, or digits. */
export function numberIn(
  name: string,
  given: unknown,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  const number = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given
  if (Number.isSafeInteger(number) && Number(number) >= least && Number(number) <= most) return Number(number)
  const shown = (JSON.stringify(given) ?? typeof given).slice(0, 80)
  const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `of at least ${least}`
  const other = name === 'before' ? ', or "newest"' : ''
  throw new Refusal('bad-query', `${name} is ${shown}; it must be a whole number ${range}${other}.`)
}
