// Policies for documents: which drafts exceed the bounds, outlive their refusal, or take further updates.

import type { Draft, UpdateBody } from '../protocol/messages.ts'
import type { Random } from '../protocol/time.ts'
import type { UnstoredDraft } from './draft-database.ts'
import {
  type Bounds,
  bytesOf,
  type Change,
  type Drafts,
  isInFlight,
  type OutboxPolicy,
  type PendingDraft,
  pendingDraft,
  plainPolicy,
} from './outbox.ts'
import { RefusedError } from './transports/transport.ts'

export interface DocumentDraft extends PendingDraft, UnstoredDraft {
  readonly edits: number
  /** Exceeds the bounds: kept in this window only. */
  readonly isOver: boolean
  /** Its first id was refused: if this one is, too, so is the draft. */
  readonly isRenamed: boolean
}

export interface DocumentDrafts extends Drafts {
  readonly pending: readonly DocumentDraft[]
  readonly held: readonly DocumentDraft[]
}

export interface DocumentPolicyOptions {
  /** Its name. */
  readonly window: string
  readonly bounds: Bounds
  readonly random: Random
  /** Whether a refused draft is held, for a window that may send it. Default: if this one may not write. */
  readonly isHeld?: (draft: Draft, code: string) => boolean
  /** Drafts wait, untold, while the server does not let the window in. */
  readonly waitsIfDenied?: boolean
}

/** Refusals of the name, not of the content, which is sent again under this window's name. */
const nameRefusals: readonly string[] = ['id-taken', 'not-your-name']

/** Refusals of the user, not of the content: another user of this browser may have a session now. */
const accessRefusals: readonly string[] = ['not-invited-there', 'read-only-invitation']

const isAccessRefusal = (_draft: Draft, code: string) => accessRefusals.includes(code)

/**
 * At the bounds, an update is kept in this window only: later ones build on it. Anything else is rejected.
 */
export function documentPolicy(options: DocumentPolicyOptions): OutboxPolicy<DocumentDrafts> {
  const { bounds } = options
  const plain = plainPolicy(bounds)
  return {
    none: { pending: [], held: [] },
    add({ pending }, message, nextId) {
      const added = documentDraft({ draft: { id: nextId(), ...message }, edits: 1 })
      const bytes = pending.reduce((sum, one) => sum + one.bytes, added.bytes)
      const isOver = pending.length >= bounds.messages || bytes > bounds.bytes
      if (isOver && message.kind !== 'update') return null
      return { pending: [...pending, { ...added, isOver }] }
    },
    answer(drafts, ended, answer, nextId, isDenied) {
      if (isDenied && options.waitsIfDenied) return {}
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
      persisted: 0,
      isFull: pending.some(({ isOver }) => isOver),
      canPersist: true,
    }),
  }
}

export const documentDraft = ({ draft, edits }: UnstoredDraft): DocumentDraft => ({
  ...pendingDraft(draft),
  edits,
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

/** Returns the changes after a refusal; null if it just ends the draft. */
function afterRefusal(
  { pending, held }: DocumentDrafts,
  draft: Draft,
  code: string,
  nextId: () => string,
  { window, random, isHeld = isAccessRefusal }: DocumentPolicyOptions,
): Change<DocumentDrafts> | null {
  const ended = pending.find((one) => one.draft === draft)
  // A message of an application has an answer under its id.
  if (!ended || draft.kind === 'json') return null
  if (!nameRefusals.includes(code) || ended.isRenamed)
    return isHeld(draft, code) ? { held: [...held, ended] } : null
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

/** As for documents, except that messages survive a refusal of the whole window, and updates any refusal. */
export function keptPolicy(options: DocumentPolicyOptions): OutboxPolicy<DocumentDrafts> {
  const documents = documentPolicy({
    ...options,
    // The draft may contain valid updates beside the refused one, or build on updates that wait in another
    // window. An update that contradicts the log can never be stored.
    isHeld: ({ kind }, code) => kind === 'update' && code !== 'not-your-client',
  })
  return {
    none: documents.none,
    summary: documents.summary,
    add(drafts, message, nextId, isConnected) {
      // A copy, since the application may change its object; as JSON, since IndexedDB accepts fewer values.
      const body = JSON.parse(JSON.stringify(message.body))
      return documents.add(drafts, { ...message, body }, nextId, isConnected)
    },
    answer(drafts, ended, answer, nextId, isDenied) {
      if (!isDenied) return documents.answer(drafts, ended, answer, nextId)
      // Callers of this window get their answer.
      const own = ended.filter(({ from }) => from === options.window)
      return { tell: documents.answer(drafts, own, answer, nextId, isDenied).tell }
    },
  }
}

/** How updates of a document are merged. */
interface Merging {
  /** Returns one update equivalent to all of these. */
  readonly mergeUpdates: (updates: readonly UpdateBody[]) => UpdateBody
  /** Minimum interval between updates, ms. */
  readonly pauseMs?: number
  /** Queue length from which updates are merged. Default: 1 with a pause, otherwise a long queue. */
  readonly minQueued?: number
  /** Maximum size of the updates merged during a pause, in UTF-8 bytes. */
  readonly maxBytes?: number
  /** Whether an update is accepted beyond the policy's bounds, because the document has it, too. */
  readonly ignoresBounds?: boolean
}

/** Limits merging into a draft that has waited longer than the pause: each save rewrites the whole draft. */
const maxGrownBytes = 16_384

const manyDrafts = 64

/** The same policy, but waiting updates are merged, and split again if the server refuses them as too large. */
export function mergingPolicy<All extends Drafts>(
  policy: OutboxPolicy<All>,
  merging: Merging,
): OutboxPolicy<All> {
  const { mergeUpdates, pauseMs = 0, maxBytes = maxGrownBytes, ignoresBounds = false } = merging
  const { minQueued = pauseMs > 0 ? 1 : manyDrafts } = merging
  type Pending = All['pending'][number]

  /** Null unless the newest draft is an unsent update of this window with room for another. */
  function join(pending: readonly Pending[], { channel, kind, from, at, body }: Omit<Draft, 'id'>) {
    const newest = pending.at(-1)
    if (newest?.state !== 'waiting' || pending.length < minQueued) return null
    const { draft, bytes, edits = 1, parts = [draft.body as UpdateBody], leavesAt } = newest
    if (kind !== 'update' || draft.kind !== kind || draft.channel !== channel || draft.from !== from)
      return null
    const update = body as UpdateBody
    const grown = bytes + update.update.length
    if (grown > (at < leavesAt ? maxBytes : maxGrownBytes)) return null
    return { ...newest, bytes: grown, edits: edits + 1, parts: [...parts, update], isComplete: false }
  }

  function merge(draft: Draft, parts: readonly UpdateBody[]) {
    const merged = { ...draft, body: mergeUpdates(parts) }
    return { draft: merged, bytes: bytesOf(merged), isComplete: true }
  }

  function overflow(
    { pending }: All,
    message: Omit<Draft, 'id'>,
    nextId: () => string,
  ): (Change<All> & Pick<All, 'pending'>) | null {
    if (!ignoresBounds || message.kind !== 'update') return null
    const change: Change & Drafts = { pending: [...pending, pendingDraft({ id: nextId(), ...message })] }
    return change as Change<All> & Pick<All, 'pending'>
  }

  /** Null unless it was merged in this window. */
  function halve({ pending }: All, refused: Draft | undefined, nextId: () => string): Change<All> | null {
    const old = pending.find(({ draft }) => draft === refused)
    const { draft, edits = 0, parts = [] } = old ?? {}
    if (!draft || parts.length < 2) return null
    const middle = Math.ceil(parts.length / 2)
    const half = (some: readonly UpdateBody[], edits: number): Pending => ({
      ...old,
      ...merge({ ...draft, id: nextId() }, some),
      state: 'waiting',
      leavesAt: 0,
      edits,
      parts: some,
    })
    const later = parts.slice(middle)
    const halves = [half(parts.slice(0, middle), edits - later.length), half(later, later.length)]
    const rest = pending.filter((one) => one !== old)
    const change: Change = {
      // Drafts in flight stay before those that wait.
      pending: [...rest.filter(isInFlight), ...halves, ...rest.filter((one) => !isInFlight(one))],
      tell: (listener) => listener.onRenamed?.(draft.id, ...halves.map((one) => one.draft)),
    }
    return change as Change<All>
  }

  return {
    none: policy.none,
    mergesUpdates: true,
    summary: policy.summary,
    add(drafts, message, nextId, isConnected) {
      const joined = join(drafts.pending, message)
      if (joined) return { pending: [...drafts.pending.slice(0, -1), joined] } as unknown as Change<All> & All
      const change = policy.add(drafts, message, nextId, isConnected) ?? overflow(drafts, message, nextId)
      const added = change?.pending.at(-1)
      if (!change || !added || message.kind !== 'update' || !isConnected || pauseMs === 0) return change
      // The first update after a pause leaves at once.
      const leavesAt = Math.max(message.at, (drafts.leavesAt ?? Number.NEGATIVE_INFINITY) + pauseMs)
      return { ...change, leavesAt, pending: [...change.pending.slice(0, -1), { ...added, leavesAt }] }
    },
    answer(drafts, ended, answer, nextId, isDenied) {
      const isTooLarge = 'code' in answer && answer.code === 'too-large'
      const halves = isTooLarge ? halve(drafts, ended[0], nextId) : null
      return halves ?? policy.answer(drafts, ended, answer, nextId, isDenied)
    },
    complete: ({ draft, parts, isComplete }) => (parts && isComplete === false ? merge(draft, parts) : {}),
  }
}
