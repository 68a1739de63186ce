// Whole-page edits that are not shown: closed windows' and replaced ones; sent, dropped or offered.

import type { DraftStore, LeftDrafts, Link, Outbox, UnstoredDraft } from '../../client/index.ts'
import { type Draft, type Message, parseCursor } from '../../server/wire/messages.ts'
import type { View } from '../store.ts'
import type { Mirror } from './mirror.ts'

/** One edit suffices: it carries the whole content. */
interface LeftEdit extends UnstoredDraft {
  readonly draft: Draft<'edit'>
  readonly isReplaced?: boolean
}

export interface LeftEditsOptions {
  readonly mirror: Pick<Mirror, 'restore' | 'replace'>
  readonly link: Pick<Link, 'cursor'> & { readonly outbox: Pick<Outbox, 'adopt' | 'flush'> }
  readonly store: Pick<DraftStore, 'write'>
  readonly hasUnstored: () => boolean
  readonly onOffer: (offered: View['left']) => void
}

export class LeftEdits {
  readonly #options: LeftEditsOptions
  readonly #offered = new Map<string, LeftEdit>()
  #newest: Message<'edit'> | null = null

  constructor(options: LeftEditsOptions) {
    this.#options = options
  }

  /** The page's newest edit decides what becomes of one that was left. */
  shown(message: Message<'edit'>): void {
    this.#newest = message
  }

  /** Sends all after a reload; else a closed window's newest, where it was made on the page's present content. */
  take({ drafts, isReload }: LeftDrafts): void {
    const { hasUnstored, link } = this.#options
    const edits = drafts.filter(isEdit)
    const last = edits.at(-1)
    if (last === undefined) return
    if (isReload && !hasUnstored()) {
      this.#send(edits)
      return
    }
    const older = edits.slice(0, -1)
    const fate = fateOf(last, this.#newest, link.cursor)
    this.#forget((fate === 'drop' ? edits : older).map(({ draft }) => draft.id))
    if (fate === 'send' && !hasUnstored() && this.#offered.size === 0) this.#send([last])
    else if (fate !== 'drop') {
      this.#offered.set(last.draft.id, last)
      this.#changed()
    }
  }

  /** Offers this window's edit that another's replaced; the newest of them. */
  replaced(draft: Draft<'edit'>): void {
    for (const [id, { isReplaced }] of this.#offered) if (isReplaced) this.#offered.delete(id)
    this.#offered.set(draft.id, { draft, cursor: null, edits: 1, isReplaced: true })
    this.#changed()
  }

  /** Replaces the page's content with that of an offered edit. */
  restore(id: string): void {
    const { mirror, link } = this.#options
    const edit = this.#offered.get(id)
    if (!edit || !mirror.replace(edit.draft.body.html)) return
    link.outbox.flush()
    this.discard(id)
  }

  discard(id: string): void {
    this.#offered.delete(id)
    this.#forget([id])
    this.#changed()
  }

  #send(edits: readonly LeftEdit[]): void {
    const { mirror, link } = this.#options
    mirror.restore(edits.map(({ draft }) => draft))
    link.outbox.adopt(edits)
  }

  #forget(ids: readonly string[]): void {
    void this.#options.store.write([], ids)
  }

  #changed(): void {
    const edits = Array.from(this.#offered.values(), ({ draft: { id, at }, isReplaced = false }) => ({
      id,
      at,
      isReplaced,
    }))
    this.#options.onOffer(edits.toSorted((one, other) => one.at - other.at))
  }
}

const isEdit = (one: UnstoredDraft): one is LeftEdit =>
  one.draft.kind === 'edit' && typeof (one.draft as Draft<'edit'>).body.html === 'string'

/**
 * Fate of a closed window's edit: drop it if the page contains it, send it if the page is unchanged since,
 * else ask. `newest` is the page's newest edit, `now` the cursor of its log.
 */
export function fateOf(
  { draft, cursor }: Pick<LeftEdit, 'draft' | 'cursor'>,
  newest: Message<'edit'> | null,
  now: string | null,
) {
  if (newest === null) return 'send'
  if (newest.id === draft.id || newest.body.html === draft.body.html) return 'drop'
  const [then, current] = [parseCursor(cursor), parseCursor(now)]
  const isSameLog = then !== null && then.epoch === current?.epoch
  return isSameLog && (newest.seq <= then.seq || newest.from === draft.from) ? 'send' : 'ask'
}
