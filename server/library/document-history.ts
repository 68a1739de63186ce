// The updates that made a document of Yjs, read in portions.

import type { HistoryPortion, HistoryUpdate } from '../../protocol/document-history.ts'
import { type Cursor, formatCursor, isKind, type Message } from '../../protocol/messages.ts'
import type { Log } from '../log/log.ts'

/** Limits for a response that takes about 100 ms. */
const portion = { updates: 4000, bytes: 2_000_000, reads: 64 }

/**
 * `after` comes from the previous portion; null for the first. Resolves to null if the log no
 * longer reaches back to it.
 */
export async function readHistory(
  log: Pick<Log, 'oldest' | 'read'>,
  channel: string,
  after: Cursor | null,
): Promise<HistoryPortion | null> {
  const channels = new Set([channel])
  const first = after === null ? await log.oldest(channel, 'update') : null
  const updates = first?.messages.flatMap(historyUpdate) ?? []
  let cursor = after ?? first?.after ?? null
  let bytes = 0
  let isDone = false
  for (let reads = 0; cursor && reads < portion.reads; reads += 1) {
    const { recovered, messages, reached, head } = await log.read(cursor, channels)
    if (!recovered) return null
    for (const message of messages.flatMap(historyUpdate)) {
      updates.push(message)
      bytes += message.update.length
    }
    cursor = reached
    isDone = reached.seq >= head.seq
    if (isDone || bytes >= portion.bytes || updates.length >= portion.updates) break
  }
  const [base = null] = first?.base ? historyUpdate(first.base) : []
  return { base, updates, next: isDone || cursor === null ? null : formatCursor(cursor) }
}

function historyUpdate(message: Message): HistoryUpdate[] {
  if (!isKind(message, 'update')) return []
  const { seq, from, acceptedAt, body } = message
  return [{ seq, from, user: body.user, acceptedAt, update: body.update }]
}
