// Policies for documents: which drafts exceed the bounds, outlive their refusal, or take further updates.

import type { Draft, UpdateBody } from '../server/wire/messages.ts'
import type { Random } from '../server/wire/time.ts'
import type { UnstoredDraft } from './draft-database.ts'
import {
  type Bounds,
  bytesOf,
  type Change,
  type Drafts,
  type OutboxPolicy,
  type PendingDraft,
  pendingDraft,
  plainPolicy,
} from './outbox.ts'
import { RefusedError } from './transports/transport.ts'

export interface DocumentDraft extends PendingDraft, UnstoredDraft {
  /** Updates that are merged into it when it is sent or saved: a long paste consists of many. */
  readonly joined: readonly UpdateBody[]
  /** Exceeds the bounds: kept in this window only. */
  readonly isOver: boolean
  /** Its first id was refused: if this one is, too, so is the draft. */
  readonly isRenamed: boolean
}

export interface DocumentDrafts extends Drafts {
  readonly pending: readonly DocumentDraft[]
  /** Departure of the newest update that had to wait, ms since the epoch. */
  readonly leavesAt: number
  /** Ids of drafts that this window may not send: what is saved of them stays, for one that may. */
  readonly left: ReadonlySet<string>
}

export interface DocumentPolicyOptions {
  /** Its name. */
  readonly window: string
  readonly bounds: Bounds
  readonly random: Random
}

/** They say nothing of the content, which is sent again under this window's name. */
const nameRefusals: readonly string[] = ['id-taken', 'not-your-name']

/** They say nothing of the content: another user of this browser may have a session now. */
const accessRefusals: readonly string[] = ['not-invited-there', 'read-only-invitation']

/**
 * At the bounds, an update is kept in this window only: later ones build on it. Anything else is rejected.
 */
export function documentPolicy(options: DocumentPolicyOptions): OutboxPolicy<DocumentDrafts> {
  const { bounds } = options
  const plain = plainPolicy(bounds)
  return {
    none: { pending: [], leavesAt: Number.NEGATIVE_INFINITY, left: new Set() },
    add({ pending }, message, nextId) {
      const added = documentDraft({ draft: { id: nextId(), ...message }, edits: 1 })
      const bytes = pending.reduce((sum, one) => sum + one.bytes, added.bytes)
      const isOver = pending.length >= bounds.messages || bytes > bounds.bytes
      if (isOver && message.kind !== 'update') return null
      return { pending: [...pending, { ...added, isOver }] }
    },
    answer(drafts, ended, answer, nextId, isDenied) {
      const usual = plain.answer(drafts, ended, answer, nextId) as Change<DocumentDrafts>
      const [draft] = ended
      const other =
        draft && !isDenied && answer instanceof RefusedError
          ? afterRefusal(drafts, draft, answer.code, nextId, options)
          : null
      const { pending = [], ...rest } = { ...usual, ...other }
      return { ...rest, pending: withinBounds(pending, bounds) }
    },
    summary: ({ pending }) => ({
      unstored: pending.reduce((sum, { edits }) => sum + edits, 0),
      kept: 0,
      isFull: pending.some(({ isOver }) => isOver),
      isSaved: true,
    }),
  }
}

export const documentDraft = ({ draft, edits }: UnstoredDraft): DocumentDraft => ({
  ...pendingDraft(draft),
  edits,
  joined: [],
  isOver: false,
  isRenamed: false,
})

/** Accepts drafts that exceeded the bounds, in order, as room becomes available. */
function withinBounds(pending: readonly DocumentDraft[], { messages, bytes }: Bounds) {
  let free = bytes
  let isFull = false
  return pending.map((one, place) => {
    free -= one.bytes
    isFull ||= one.isOver && (place >= messages || free < 0)
    return one.isOver && !isFull ? { ...one, isOver: false } : one
  })
}

/** What a refusal means other than the end of the draft; null if it means just that. */
function afterRefusal(
  { pending, left }: DocumentDrafts,
  draft: Draft,
  code: string,
  nextId: () => string,
  { window, random }: DocumentPolicyOptions,
): Change<DocumentDrafts> | null {
  const ended = pending.find((one) => one.draft === draft)
  // A message of an application has an answer under its id.
  if (!ended || draft.kind === 'json') return null
  if (accessRefusals.includes(code)) return { left: new Set([...left, draft.id]) }
  if (!nameRefusals.includes(code) || ended.isRenamed) return null
  const id = `${nextId()}r${Math.floor(random() * 36 ** 8).toString(36)}`
  const again: DocumentDraft = {
    ...documentDraft({ ...ended, draft: { ...draft, id, from: window } }),
    isRenamed: true,
  }
  const rest = pending.filter((one) => one !== ended)
  return {
    pending: [...rest, again],
    tell: (listener) => listener.onRenamed?.(draft.id, again.draft),
  }
}

/** As for documents, except that messages outlive a refusal of the whole window. */
export function keptPolicy(options: DocumentPolicyOptions): OutboxPolicy<DocumentDrafts> {
  const documents = documentPolicy(options)
  return {
    none: documents.none,
    summary: documents.summary,
    add(drafts, message, nextId, isConnected) {
      // As it is now: the application may change what it gave, and IndexedDB takes less than JSON does.
      const body = JSON.parse(JSON.stringify(message.body))
      return documents.add(drafts, { ...message, body }, nextId, isConnected)
    },
    answer(drafts, ended, answer, nextId, isDenied) {
      if (!isDenied) return documents.answer(drafts, ended, answer, nextId)
      // Whoever waits for an answer gets it.
      const own = ended.filter(({ from }) => from === options.window)
      return { tell: documents.answer(drafts, own, answer, nextId, isDenied).tell }
    },
  }
}

/** How updates of a document are merged. */
interface Merging {
  /** Returns one update equivalent to all of these. */
  readonly mergeUpdates: (updates: readonly UpdateBody[]) => UpdateBody
  /** Minimum interval between updates, ms. With 0, updates are merged only in a long queue. */
  readonly pauseMs: number
  /** Size limit of a message in UTF-8 bytes. */
  readonly maxBytes: number
}

/** Limits merging into a draft that has waited longer than the pause: each save rewrites the whole draft. */
const maxGrownBytes = 16_384

/** From this queue length on, updates are merged even without a pause. */
const manyDrafts = 64

/** The same policy, but updates that wait are merged. */
export function mergingPolicy(
  policy: OutboxPolicy<DocumentDrafts>,
  { mergeUpdates, pauseMs, maxBytes }: Merging,
): OutboxPolicy<DocumentDrafts> {
  /** Null unless the newest draft is an unsent update of this window with room for another. */
  function join(pending: readonly DocumentDraft[], { channel, kind, from, at, body }: Omit<Draft, 'id'>) {
    const newest = pending.at(-1)
    if (newest?.state !== 'waiting' || pending.length < (pauseMs > 0 ? 1 : manyDrafts)) return null
    const { draft, bytes, edits, joined, leavesAt } = newest
    if (kind !== 'update' || draft.kind !== kind || draft.channel !== channel || draft.from !== from)
      return null
    const update = body as UpdateBody
    const grown = bytes + update.update.length
    if (grown > (at < leavesAt ? maxBytes : maxGrownBytes)) return null
    return { ...newest, bytes: grown, edits: edits + 1, joined: [...joined, update] }
  }

  return {
    none: policy.none,
    summary: policy.summary,
    answer: policy.answer,
    add(drafts, message, nextId, isConnected) {
      const joined = join(drafts.pending, message)
      if (joined) return { pending: [...drafts.pending.slice(0, -1), joined] }
      const change = policy.add(drafts, message, nextId, isConnected)
      const added = change?.pending.at(-1)
      if (!change || !added || message.kind !== 'update' || !isConnected) return change
      // The first update after a pause leaves at once.
      const leavesAt = Math.max(message.at, drafts.leavesAt + pauseMs)
      return { ...change, leavesAt, pending: [...change.pending.slice(0, -1), { ...added, leavesAt }] }
    },
    complete({ draft, joined }) {
      if (joined.length === 0) return {}
      const complete = { ...draft, body: mergeUpdates([draft.body, ...joined] as UpdateBody[]) }
      return { draft: complete, bytes: bytesOf(complete), joined: [] }
    },
  }
}
