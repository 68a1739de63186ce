// Whole-page edits that are not shown: closed windows' and replaced ones; sent, dropped or offered.

import type { DraftStore, LeftDrafts, Link, UnstoredDraft } from '../../client/index.ts'
import { type Draft, isKind, type Message, parseCursor } from '../../server/wire/messages.ts'
import type { View } from '../store.ts'
import type { createMirroring } from './mirroring.ts'

/** One edit suffices: it carries the whole content. */
interface LeftEdit extends UnstoredDraft {
  readonly draft: Draft<'edit'>
  readonly isReplaced?: boolean
}

interface LeftEditsParts {
  readonly mirroring: Pick<ReturnType<typeof createMirroring>, 'restore' | 'replace'>
  readonly link: () => Pick<Link, 'adopt' | 'cursor' | 'save'>
  readonly store: Pick<DraftStore, 'forget'>
  readonly hasUnstored: () => boolean
  readonly onOffer: (offered: View['left']) => void
}

export function createLeftEdits({ mirroring, link, store, hasUnstored, onOffer }: LeftEditsParts) {
  const offered = new Map<string, LeftEdit>()
  let newest: Message<'edit'> | null = null

  function send(edits: readonly LeftEdit[]): void {
    mirroring.restore(edits.map(({ draft }) => draft))
    link().adopt(edits)
  }

  function changed(): void {
    const edits = Array.from(offered.values(), ({ draft: { id, at }, isReplaced = false }) => ({
      id,
      at,
      isReplaced,
    }))
    onOffer(edits.toSorted((one, other) => one.at - other.at))
  }

  function discard(id: string): void {
    offered.delete(id)
    store.forget([id])
    changed()
  }

  return {
    /** The page's newest edit decides what becomes of one that was left. */
    shown(message: Message): void {
      if (isKind(message, 'edit')) newest = message
    },
    /** Sends all after a reload; else a closed window's newest, where it was made on the page's present content. */
    take({ drafts, isReload }: LeftDrafts): void {
      const edits = drafts.filter(isEdit)
      const last = edits.at(-1)
      if (last === undefined) return
      if (isReload && !hasUnstored()) {
        send(edits)
        return
      }
      const older = edits.slice(0, -1)
      const fate = fateOf(last, newest, link().cursor())
      store.forget((fate === 'drop' ? edits : older).map(({ draft }) => draft.id))
      if (fate === 'send' && !hasUnstored() && offered.size === 0) send([last])
      else if (fate !== 'drop') {
        offered.set(last.draft.id, last)
        changed()
      }
    },
    /** Offers this window's edit that another's replaced; the newest of them. */
    replaced(draft: Draft<'edit'>): void {
      for (const [id, { isReplaced }] of offered) if (isReplaced) offered.delete(id)
      offered.set(draft.id, { draft, cursor: null, edits: 1, isReplaced: true })
      changed()
    },
    /** Replaces the page's content with that of an offered edit. */
    restore(id: string): void {
      const edit = offered.get(id)
      if (!edit || !mirroring.replace(edit.draft.body.html)) return
      link().save()
      discard(id)
    },
    discard,
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
