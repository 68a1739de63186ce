// Policies for documents: which drafts exceed the bounds, outlive a refusal, or take more updates.

import type { Draft, UpdateBody } from '../protocol/messages.ts'
import type { Random } from '../protocol/time.ts'
import {
  type Bounds,
  bytesOf,
  type Change,
  type Drafts,
  isInFlight,
  type OutboxPolicy,
  type PendingDraft,
  pendingDraft,
} from './outbox.ts'

export interface DocumentPolicyOptions {
  /** The window's name. */
  readonly window: string
  readonly bounds: Bounds
  readonly random: Random
  /** Returns true to hold a refused draft for a window that may send it. Default: if this one may not write. */
  readonly isHeld?: (draft: Draft, code: string) => boolean
  /** While the server does not let the window in, drafts wait, unreported. By default they are refused. */
  readonly waitsIfDenied?: boolean
}

/** Refusals of the name, not of the content, which is then resent under this window's name. */
const nameRefusals: readonly string[] = ['id-taken', 'not-your-name']

/** Refusals of the user, not of the content: another user of this browser may have a session now. */
const accessRefusals: readonly string[] = ['not-invited-there', 'read-only-invitation']

const isAccessRefusal = (_draft: Draft, code: string) => accessRefusals.includes(code)

/**
 * For documents. Over the bounds, an update is kept in this window only, since later ones build on it; any other
 * message is rejected. A draft whose name is refused is resent under another; other refusals end a draft or, by
 * `isHeld`, hold it.
 */
export function documentPolicy(options: DocumentPolicyOptions): OutboxPolicy {
  const { bounds, waitsIfDenied = false } = options
  return {
    add({ pending }, message, nextId) {
      const added = pendingDraft({ id: nextId(), ...message })
      const bytes = pending.reduce((sum, one) => sum + one.bytes, added.bytes)
      const isOver = pending.length >= bounds.messages || bytes > bounds.bytes
      if (isOver && message.kind !== 'update') return null
      return { pending: [...pending, { ...added, isOver }] }
    },
    // A message of an application has an answer under its id.
    refused: (drafts, [ended], { code }, nextId) =>
      ended && ended.draft.kind !== 'json' ? afterRefusal(drafts, ended, code, nextId, options) : null,
    denied: ({ pending }) => (waitsIfDenied ? { pending, tell: undefined } : null),
    admit(pending) {
      let free = bounds.bytes
      let isFull = false
      return pending.map((one, place) => {
        free -= one.bytes
        if (one.isOver && (place >= bounds.messages || free < 0)) isFull = true
        return one.isOver && !isFull ? { ...one, isOver: false } : one
      })
    },
  }
}

/** Returns the changes after a refusal; null if it just ends the draft. */
function afterRefusal(
  { pending, held }: Drafts,
  ended: PendingDraft,
  code: string,
  nextId: () => string,
  { window, random, isHeld = isAccessRefusal }: DocumentPolicyOptions,
): Change | null {
  const { draft, edits, isRenamed } = ended
  if (!nameRefusals.includes(code) || isRenamed)
    return isHeld(draft, code) ? { held: [...held, ended] } : null
  const id = `${nextId()}r${Math.floor(random() * 36 ** 8).toString(36)}`
  const again: PendingDraft = {
    ...pendingDraft({ ...draft, id, from: window }),
    edits,
    isRenamed: true,
  }
  const rest = pending.filter((one) => one !== ended)
  return {
    pending: [...rest, again],
    tell: (listener) => listener.onRenamed?.(draft.id, again.draft),
  }
}

/**
 * For drafts that outlive their window: as for documents, except that messages survive a refusal of the whole
 * window, and updates any refusal.
 */
export function keptPolicy(options: DocumentPolicyOptions): OutboxPolicy {
  const documents = documentPolicy({
    ...options,
    // The draft may contain valid updates beside the refused one, or build on updates that wait in another
    // window. An update that contradicts the log can never be stored.
    isHeld: ({ kind }, code) => kind === 'update' && code !== 'not-your-client',
  })
  return {
    refused: documents.refused,
    admit: documents.admit,
    add(drafts, message, nextId, isConnected) {
      // A copy, since the application may change its object; as JSON, since IndexedDB accepts fewer values.
      const body = JSON.parse(JSON.stringify(message.body))
      return documents.add(drafts, { ...message, body }, nextId, isConnected)
    },
    denied: ({ pending }, denied, { message, code }) => ({
      pending,
      tell(listener) {
        // Callers of this window get their answer.
        for (const { draft } of denied)
          if (draft.from === options.window) listener.onRefused(draft, message, code)
      },
    }),
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
export function mergingPolicy(policy: OutboxPolicy, merging: Merging): OutboxPolicy {
  const { mergeUpdates, pauseMs = 0, maxBytes = maxGrownBytes, ignoresBounds = false } = merging
  const { minQueued = pauseMs > 0 ? 1 : manyDrafts } = merging

  /** Null unless the newest draft is an unsent update of this window with room for another. */
  function join(pending: readonly PendingDraft[], { channel, kind, from, at, body }: Omit<Draft, 'id'>) {
    const newest = pending.at(-1)
    if (newest?.state !== 'waiting' || pending.length < minQueued) return null
    const { draft, bytes, edits, parts = [draft.body as UpdateBody], leavesAt } = newest
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

  /** Null unless it is an update that is accepted beyond the policy's bounds. */
  function overflow({ pending }: Drafts, message: Omit<Draft, 'id'>, nextId: () => string) {
    if (!ignoresBounds || message.kind !== 'update') return null
    return { pending: [...pending, pendingDraft({ id: nextId(), ...message })] }
  }

  /** Null unless it was merged in this window. */
  function halve({ pending }: Drafts, refused: PendingDraft, nextId: () => string): Change | null {
    const { draft, edits, parts = [] } = refused
    if (parts.length < 2) return null
    const middle = Math.ceil(parts.length / 2)
    const half = (some: readonly UpdateBody[], edits: number): PendingDraft => ({
      ...refused,
      ...merge({ ...draft, id: nextId() }, some),
      state: 'waiting',
      leavesAt: 0,
      edits,
      parts: some,
    })
    const later = parts.slice(middle)
    const halves = [half(parts.slice(0, middle), edits - later.length), half(later, later.length)]
    const rest = pending.filter((one) => one !== refused)
    return {
      // Drafts in flight stay before those that wait.
      pending: [...rest.filter(isInFlight), ...halves, ...rest.filter((one) => !isInFlight(one))],
      tell: (listener) => listener.onRenamed?.(draft.id, ...halves.map((one) => one.draft)),
    }
  }

  return {
    mergesUpdates: true,
    add(drafts, message, nextId, isConnected) {
      const joined = join(drafts.pending, message)
      if (joined) return { pending: [...drafts.pending.slice(0, -1), joined] }
      const change = policy.add(drafts, message, nextId, isConnected) ?? overflow(drafts, message, nextId)
      const added = change?.pending.at(-1)
      if (!change || !added || message.kind !== 'update' || !isConnected || pauseMs === 0) return change
      // The first update after a pause leaves at once.
      const leavesAt = Math.max(message.at, (drafts.leavesAt ?? Number.NEGATIVE_INFINITY) + pauseMs)
      return { ...change, leavesAt, pending: [...change.pending.slice(0, -1), { ...added, leavesAt }] }
    },
    refused(drafts, ended, refusal, nextId) {
      const [refused] = ended
      const halves = refused && refusal.code === 'too-large' ? halve(drafts, refused, nextId) : null
      return halves ?? policy.refused?.(drafts, ended, refusal, nextId) ?? null
    },
    denied: policy.denied,
    admit: policy.admit,
    complete: ({ draft, parts, isComplete }) => (parts && isComplete === false ? merge(draft, parts) : {}),
  }
}
