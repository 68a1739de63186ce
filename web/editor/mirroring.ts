// Whole-content mirroring (2021 paper) between the editable content, the link and the log's order.

import { type Draft, isKind, type Message } from '../../server/wire/messages.ts'
import type { Recorder } from '../lab.ts'
import type { Unshared } from '../store.ts'
import type { Content, OnEdit } from './content.ts'

export interface MirroringParts {
  readonly channel: string
  /** Null while the outbox is full, until `publishUnsent`. */
  readonly publish: (html: string) => Draft<'edit'> | null
  readonly recorder: Recorder
  /** Size limit of a message, UTF-8. */
  readonly maxBytes: number
  /** Called on change only. */
  readonly onUnshared: (unshared: Unshared | null) => void
  /** Another's edit, made before this one could reach its window, is shown without what was typed here. */
  readonly onReplaced: (draft: Draft<'edit'>) => void
}

/**
 * By the senders' clocks. A message does not say what its sender saw, so that an edit made later that lacks this
 * window's text may have removed it on purpose.
 */
const unseenMs = 3000

/** Placeholder id. */
const unsentId = 'unsent'

/** Most bytes of a message without its content. */
const envelopeBytes = 512
/** Most bytes of a UTF-16 unit in JSON: a control character takes six. */
const bytesPerUnit = 6
const utf8 = new TextEncoder()

/**
 * All windows end with the last edit of the log. Others' edits are held back while own edits are pending:
 * those come later in the log, and showing others' would undo recent typing.
 */
export function createMirroring(parts: MirroringParts) {
  const { channel, publish, recorder, maxBytes, onUnshared } = parts
  /** Own edits under way: id to sender, since another sender's edit may have the same id. */
  const pending = new Map<string, string>()
  let heldBack: Message<'edit'> | null = null
  /** The shown content is newer than others' edits up to there. */
  let settledSeq = 0
  let content: Content | null = null
  let early: string | null = null
  /** Content that found no room in the outbox. Others' edits are held back meanwhile. */
  let unsent: string | null = null
  let unshared: Unshared | null = null
  /** Last shown or published. */
  let shared: string | null = null
  let newestId = ''
  /** Content before this window's edits since another's was shown, and the newest of these. */
  let own: { readonly before: string; readonly draft: Draft<'edit'> } | null = null

  function edit(html: string, inputAt: number | null): void {
    const bytes = messageBytes(html)
    if (bytes > maxBytes) {
      // Holds back others' edits, which would overwrite the only copy of this content.
      pending.set(unsentId, '')
      unsent = null
      setUnshared({ reason: 'too large', bytes, maxBytes })
    } else if (unshared?.reason === 'too large' && html === shared) {
      setUnshared(null)
      settle(unsentId, 0)
    } else send(html, inputAt)
  }

  function messageBytes(html: string): number {
    const most = html.length * bytesPerUnit + envelopeBytes
    return most <= maxBytes ? most : utf8.encode(JSON.stringify(html)).length + envelopeBytes
  }

  function send(html: string, inputAt: number | null): void {
    const draft = publish(html)
    pending.set(draft?.id ?? unsentId, draft?.from ?? '')
    unsent = draft ? null : html
    setUnshared(null)
    if (!draft) return
    own = { before: own?.before ?? shared ?? '', draft }
    shared = html
    newestId = draft.id
    pending.delete(unsentId)
    recorder.sent(draft, inputAt)
  }

  function setUnshared(next: Unshared | null): void {
    if (next === null && unshared === null) return
    unshared = next
    onUnshared(next)
  }

  /** Shows what the last pending edit held back, if it is newer. */
  function settle(id: string, seq: number, onShown?: () => void): void {
    pending.delete(id)
    settledSeq = Math.max(settledSeq, seq)
    if (pending.size > 0 || heldBack === null) return
    const newest = heldBack
    heldBack = null
    if (newest.seq > settledSeq) showOther(newest, onShown)
  }

  function showOther(message: Message<'edit'>, onShown?: () => void): void {
    const replaced = own
    own = null
    show(message.body.html, onShown)
    if (replaced && isReplacedBy(message, replaced.before, replaced.draft)) parts.onReplaced(replaced.draft)
  }

  function show(html: string | null, onShown?: () => void): void {
    if (html === null) return
    shared = html
    if (unshared?.reason === 'refused') setUnshared(null)
    if (content) content.show(html, onShown)
    else early = html
  }

  const isEdit = (draft: Draft): draft is Draft<'edit'> => draft.kind === 'edit' && draft.channel === channel

  return {
    /** The returned function detaches and keeps the content for the next editor. */
    attach(bind: (onEdit: OnEdit) => Content): () => void {
      const bound = bind(edit)
      content = bound
      show(early)
      early = null
      return () => {
        // A remount starts from an empty element.
        early = bound.stop()
        content = null
      }
    },
    received(message: Message): void {
      if (!isKind(message, 'edit') || message.channel !== channel) return
      const onShown = () => recorder.applied(message)
      const { id, from, seq } = message
      if (pending.get(id) === from) settle(id, seq, onShown)
      else if (seq > settledSeq && pending.size > 0) heldBack = message
      else if (seq > settledSeq) showOther(message, onShown)
    },
    stored(id: string, seq: number): void {
      if (pending.has(id)) settle(id, seq)
    },
    refused(id: string): boolean {
      pending.delete(id)
      // A newer edit contains this one and gets its own answer.
      if (id === newestId) setUnshared({ reason: 'refused' })
      return true
    },
    superseded: (id: string) => void pending.delete(id),
    renamed(id: string, draft: Draft): void {
      if (!isEdit(draft)) return
      pending.set(draft.id, draft.from)
      pending.delete(id)
      if (id === newestId) newestId = draft.id
    },
    /** False when it could not be published. */
    replace(html: string): boolean {
      show(html)
      edit(html, null)
      return unsent === null && unshared === null
    },
    /** Shows edits that will be resent, from before a reload or from a closed window. */
    restore(drafts: readonly Draft[]): void {
      const edits = drafts.filter(isEdit)
      for (const { id, from } of edits) pending.set(id, from)
      newestId = drafts.at(-1)?.id ?? newestId
      show(edits.at(-1)?.body.html ?? null)
    },
    publishUnsent(): void {
      if (unsent !== null) edit(unsent, null)
    },
    newLog(): void {
      heldBack = null
      settledSeq = 0
    },
  }
}

function isReplacedBy({ at, body }: Message<'edit'>, before: string, own: Draft<'edit'>): boolean {
  const typed = insertedIn(before, own.body.html)
  return typed !== '' && at <= own.at + unseenMs && !containsInOrder(insertedIn(before, body.html), typed)
}

const withoutTags = (html: string) =>
  html
    .split('<')
    .map((part, place) => (place === 0 ? part : part.slice(part.indexOf('>') + 1)))
    .join('')

/** Text between what two contents have in common at their beginning and end. */
function insertedIn(before: string, after: string): string {
  const [one, other] = [withoutTags(before), withoutTags(after)]
  const most = Math.min(one.length, other.length)
  let start = 0
  while (start < most && one[start] === other[start]) start += 1
  let end = 0
  while (end < most - start && one.at(-1 - end) === other.at(-1 - end)) end += 1
  return other.slice(start, other.length - end)
}

/** Others may have written between the letters. */
function containsInOrder(text: string, letters: string): boolean {
  const wanted = [...letters]
  let index = 0
  for (const letter of text) if (letter === wanted[index]) index += 1
  return index === wanted.length
}
