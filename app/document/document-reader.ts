// Reads documents from the log: the lines of a shared document, or of an earlier version's edit.

import * as Y from 'yjs'
import { formatCursor, isKind, type Message } from '../../protocol/messages.ts'
import type { ReadableLog } from '../../server/index.ts'
// Declares the page's kinds of messages.
import type {} from '../shared/page-messages.ts'
import { readHtml } from './html.ts'
import { createDocument, documentText, type Line, linesOf } from './rich-text.ts'

/**
 * `seq` is the number of the newest change; 0 for none. `tag` changes with the document (RFC 9110,
 * 8.8.3).
 */
export async function findDocument(log: Pick<ReadableLog, 'snapshot'>, channel: string) {
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

/** `messages` are one channel's. An edit that is the newest change is the whole. Empty if there is none. */
export function linesIn(messages: readonly Message[]): Line[] {
  const newest = contentOf(messages)
  if (!newest) return []
  return isKind(newest, 'edit')
    ? readHtml(newest.body.html, { isOwn: true }).lines
    : linesOf(documentText(documentOf(messages)))
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
