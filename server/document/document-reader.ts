// Reads documents from the log: lines of the shared document or the mirrored page, and the history.

import * as Y from 'yjs'
import type { Log } from '../log/log.ts'
import type { HistoryPortion, HistoryUpdate } from '../wire/document-api.ts'
import { type Cursor, formatCursor, isKind, type Message } from '../wire/messages.ts'
import { readHtml } from './html.ts'
import { createDocument, documentText, type Line, linesOf } from './rich-text.ts'

/** `seq`: of the newest change; 0 for none. `tag` changes with the document (RFC 9110, 8.8.3). */
export async function findDocument(log: Pick<Log, 'snapshot'>, channel: string) {
  const { messages, head } = await log.snapshot(new Set([channel]))
  const seq = contentOf(messages)?.seq ?? 0
  return { messages, seq, tag: `"${formatCursor({ epoch: head.epoch, seq })}"` }
}

/** The newest change. */
export function contentOf(messages: readonly Message[]) {
  return messages.findLast((message) => isKind(message, 'edit') || isKind(message, 'update'))
}

/** Of one channel, as a snapshot has them. */
export const isDeleted = (messages: readonly Message[]) =>
  messages.some((message) => isKind(message, 'deletion') && message.body.deleted)

/** Of one channel. The newest change decides whether it is a shared document or a mirrored page. Empty without any. */
export function linesIn(messages: readonly Message[]): Line[] {
  const newest = contentOf(messages)
  if (!newest) return []
  return isKind(newest, 'edit')
    ? readHtml(newest.body.html, { isOwn: true }).lines
    : linesOf(documentText(documentOf(messages)))
}

/** A response of some 100 ms. */
const portion = { updates: 4000, bytes: 2_000_000, reads: 64 }

/** `after`: from the former portion; null for the first. Null when the log no longer reaches back to it. */
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

/** Other kinds are left out. */
export function documentOf(messages: readonly Message[]): Y.Doc {
  const doc = createDocument()
  doc.transact(() => {
    for (const message of messages) {
      if (isKind(message, 'update')) Y.applyUpdate(doc, Buffer.from(message.body.update, 'base64'))
    }
  })
  return doc
}
