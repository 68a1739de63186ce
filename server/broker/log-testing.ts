// What a test of a log needs: drafts, limits, the bench it is tried on, and a reader that reads to the end.

import type { Cursor } from '../wire/cursor.ts'
import type { Draft, Message } from '../wire/envelope.ts'
import type { CatchUp, Log, LogLimits } from './log.ts'

export function draft(id: string, html = id, channel = 'main'): Draft<'edit'> {
  return { id, channel, kind: 'edit', from: 'w1', at: 1000.5, body: { html } }
}

/** Enough for every test that is not about limits. */
export const ampleLimits: LogLimits = {
  logMessages: 1000,
  logBytes: 1_000_000,
  logAgeMs: 3_600_000,
  maxChannels: 10,
}

/** A log under test, with all that is told of it. */
export interface Bench {
  readonly log: Log
  readonly failures: unknown[]
  /** All that followers were told. */
  readonly seen: Message[]
  readonly cursors: string[]
  /** Moves the log's clock, ms. */
  readonly advance: (byMs: number) => void
}

/** Tries a new, empty log; `limits` change the ample ones. */
export type TestLog = (
  says: string,
  run: (bench: Bench) => Promise<void>,
  limits?: Partial<LogLimits>,
) => void

/** What a log's clock says when its test begins, ms. */
export const startMs = 2000

export const main = new Set(['main'])
export const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)
export const seqsOf = (messages: readonly Message[]) => messages.map(({ seq }) => seq)
export const countTo = (count: number) => Array.from({ length: count }, (_nothing, place) => place + 1)

/** Appends `PREFIX-1` to `PREFIX-COUNT`, one after the other. */
export async function fill(log: Log, count: number, prefix = 'w1', html = 'x'): Promise<void> {
  for (let n = 1; n <= count; n += 1) await log.append(draft(`${prefix}-${n}`, html), startMs)
}

/** Appends `PREFIX-1` to `PREFIX-COUNT`, all at once; they resolve to their numbers. */
export function fillAtOnce(
  log: Log,
  count: number,
  prefix = 'w1',
  html = 'x',
  channel = 'main',
): Promise<number[]> {
  return Promise.all(countTo(count).map((n) => log.append(draft(`${prefix}-${n}`, html, channel), startMs)))
}

/** The epoch, and the place after `seq`. */
export async function cursorAt(log: Log, seq: number): Promise<Cursor> {
  const { head } = await log.snapshot(main)
  return { epoch: head.epoch, seq }
}

/** Calls back for each portion, and reads on when that is done, to the end or to the first snapshot. */
export async function readPortions(
  log: Log,
  cursor: Cursor | null,
  channels: ReadonlySet<string>,
  onPortion: (portion: CatchUp) => void | Promise<void>,
): Promise<void> {
  let from = cursor
  for (;;) {
    const portion = await log.read(from, channels)
    await onPortion(portion)
    const { recovered, reached, head } = portion
    if (!recovered || reached.seq === head.seq) return
    if (from && reached.seq <= from.seq) throw new Error(`Reading on from ${from.seq} led to ${reached.seq}.`)
    from = reached
  }
}

/** All portions as if they were one; a snapshot, where the log has forgotten what comes next, comes alone. */
export async function readAll(
  log: Log,
  cursor: Cursor | null,
  channels: ReadonlySet<string>,
): Promise<CatchUp> {
  const portions: CatchUp[] = []
  await readPortions(log, cursor, channels, (portion) => void portions.push(portion))
  const last = portions.at(-1)
  if (!last) throw new Error('No portion was read.')
  return last.recovered ? { ...last, messages: portions.flatMap(({ messages }) => messages) } : last
}
