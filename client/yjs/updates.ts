// Updates of Yjs as messages carry them, and which of a document's the log lacks.

import * as Y from 'yjs'
import { fromBase64, toBase64 } from '../../protocol/base64.ts'
import { contradiction } from '../../protocol/contradiction.ts'
import type { Draft, Message, UpdateBody } from '../../protocol/messages.ts'
import { attempt, report } from '../listeners.ts'

/** Part of a document that the log lacks. */
export interface Difference {
  /** Null if all of it is deleted: nothing is lost without it. */
  readonly body: UpdateBody | null
  /** True if the waiting drafts build on it, so that it contains all of them. */
  readonly isFirst: boolean
}

/** Merges updates into one. For `mergingPolicy` of `@crosswind/client/drafts`. */
export function mergeUpdates(updates: readonly UpdateBody[]): UpdateBody {
  return bodyOf(Y.mergeUpdates(updates.map(bytesIn)))
}

export const bodyOf = (update: Uint8Array): UpdateBody => ({ update: toBase64(update) })

/**
 * Applies the updates among these, in one transaction. Throws if one cannot be read; reports what an observer, such
 * as an editor's, throws after that.
 */
export function applyUpdates(doc: Y.Doc, messages: readonly Draft[], origin?: unknown): void {
  let isApplied = false
  try {
    doc.transact(() => {
      for (const { body } of messages.filter(isUpdate)) Y.applyUpdate(doc, bytesIn(body), origin)
      isApplied = true
    }, origin)
  } catch (error) {
    if (!isApplied) throw error
    report(error)
  }
}

/** Identifies the updates that Yjs has set aside because they build on missing ones; empty if none. */
export function pendingIn({ store: { pendingStructs, pendingDs } }: Y.Doc): string {
  const sizes = [pendingStructs?.update.length, pendingDs?.length]
  return pendingStructs || pendingDs ? sizes.join() : ''
}

export const isEmpty = (doc: Y.Doc): boolean => doc.store.clients.size === 0 && pendingIn(doc) === ''

/**
 * Compares a document with the log's messages and the drafts that wait to be sent. Null if these have the whole
 * document. The whole document, which the server will refuse, if the log has other content under the same clients
 * and clocks: Yjs would call that stored.
 */
export function differenceOf(
  doc: Y.Doc,
  messages: readonly Message[],
  waiting: readonly Draft[],
): Difference | null {
  const whole = encodeIntegrated(doc)
  const logged = messages.filter(isUpdate).map(({ body }) => structsIn(bytesIn(body)))
  if (contradiction(logged, structsIn(whole), doc.store.clients))
    return { body: bodyOf(whole), isFirst: true }
  const stored = new Y.Doc()
  applyUpdates(stored, messages)
  const beforeWaiting = Y.snapshot(stored)
  // The server has not checked these.
  for (const draft of waiting) attempt(() => applyUpdates(stored, [draft]))
  // Otherwise the difference may build on the waiting drafts.
  const isFirst = pendingIn(stored) !== ''
  const withWaiting = Y.snapshot(stored)
  stored.destroy()
  if (Y.equalSnapshots(Y.snapshot(doc), withWaiting)) return null
  const known = isFirst ? beforeWaiting : withWaiting
  const update = encodeIntegrated(doc, Y.encodeStateVector(known.sv))
  const isLoss = pendingIn(doc) !== '' || hasContent(update, known)
  return { body: isLoss ? bodyOf(update) : null, isFirst }
}

/** Whether it has content that is not deleted, or deletes some of what is `known`. */
function hasContent(update: Uint8Array, { ds }: Y.Snapshot): boolean {
  const { structs, ds: allDeleted } = Y.decodeUpdate(update)
  const own = Y.createDeleteSet()
  for (const struct of structs) {
    if (struct instanceof Y.Item && !(struct.content instanceof Y.ContentDeleted)) return true
    const { id, length: len } = struct
    const ranges = own.clients.get(id.client) ?? []
    ranges.push({ clock: id.clock, len })
    own.clients.set(id.client, ranges)
  }
  const expected = Y.mergeDeleteSets([ds, own])
  return !Y.equalDeleteSets(expected, Y.mergeDeleteSets([expected, allDeleted]))
}

export const isUpdate = <One extends Draft>(draft: One): draft is One & Draft<'update'> =>
  draft.kind === 'update'

/**
 * As `encodeStateAsUpdate`, without the updates that Yjs has set aside, which the server would refuse, and, beyond what
 * is `known`, without deleted content: an `UndoManager` keeps it, so that a change that is too large could not be undone.
 */
function encodeIntegrated(doc: Y.Doc, known?: Uint8Array): Uint8Array {
  if (!known && pendingIn(doc) === '') return Y.encodeStateAsUpdate(doc)
  const copy = new Y.Doc()
  Y.applyUpdate(copy, Y.encodeStateAsUpdate(doc))
  copy.store.pendingStructs = null
  copy.store.pendingDs = null
  const integrated = Y.encodeStateAsUpdate(copy, known)
  copy.destroy()
  return integrated
}

const structsIn = (update: Uint8Array) =>
  Y.decodeUpdate(update).structs.filter((struct) => !(struct instanceof Y.Skip))

export const bytesIn = ({ update }: UpdateBody) => fromBase64(update)
