// Reads documents from the log: the lines of a shared document or mirrored page, and the history.

import * as Y from 'yjs'
import type { Log } from '../log/log.ts'
import type { HistoryPortion, HistoryUpdate } from '../page/document-api.ts'
import { type Cursor, formatCursor, isKind, type Message } from '../wire/messages.ts'
import { readHtml } from './html.ts'
import { createDocument, documentText, type Line, linesOf } from './rich-text.ts'

/**
 * `seq` is the number of the newest change; 0 for none. `tag` changes with the document (RFC 9110,
 * 8.8.3).
 */
export async function findDocument(log: Pick<Log, 'snapshot'>, channel: string) {
  const { messages, head } = await log.snapshot(new Set([channel]))
  const seq = contentOf(messages)?.seq ?? 0
  return { messages, seq, tag: `"${formatCursor({ epoch: head.epoch, seq })}"` }
}

/** Returns the newest change. */
export function contentOf(messages: readonly Message[]) {
  return messages.findLast((message) => isKind(message, 'edit') || isKind(message, 'update'))
}

/** `messages` are one channel's, as in a snapshot. */
export const isDeleted = (messages: readonly Message[]) =>
  messages.some((message) => isKind(message, 'deletion') && message.body.deleted)

/**
 * `messages` are one channel's; the newest change decides whether it is a shared document or a
 * mirrored page. Empty if there is none.
 */
export function linesIn(messages: readonly Message[]): Line[] {
  const newest = contentOf(messages)
  if (!newest) return []
  return isKind(newest, 'edit')
    ? readHtml(newest.body.html, { isOwn: true }).lines
    : linesOf(documentText(documentOf(messages)))
}

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
  return [{ seq, from, acceptedAt, update: body.update }]
}

/** Ignores messages of other kinds. */
export function documentOf(messages: readonly Message[]): Y.Doc {
  const doc = createDocument()
  doc.transact(() => {
    for (const message of messages) {
      if (isKind(message, 'update')) Y.applyUpdate(doc, Buffer.from(message.body.update, 'base64'))
    }
  })
  return doc
}
