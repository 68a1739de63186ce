// Keeps what is unacknowledged over a reload, in this tab's `sessionStorage`: one item for each draft, and their order.

import type { Draft } from '../../server/wire/envelope.ts'

export type SessionItems = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export interface OutboxStore {
  /**
   * What a window of before the reload left, in its order, under its old ids. A duplicated tab has a copy of it and
   * sends it as well: the log knows the ids and answers the second time with the number that it gave at the first.
   */
  readonly restored: readonly Draft[]
  /** How many drafts could not be read. */
  readonly unreadable: number
  /** Makes the store hold these and nothing else. False when there was no room for all, or there is no store. */
  readonly save: (drafts: Iterable<Draft>) => boolean
}

const orderKey = 'crosswind-outbox'
const keyOf = (id: string) => `${orderKey}:${id}`

/** `items` may throw when it is asked for, as `sessionStorage` does where a browser keeps nothing for a page. */
export function openOutboxStore(items: () => SessionItems): OutboxStore {
  const order = parse(textAt(items, orderKey) ?? '[]')
  const ids = isListOfIds(order) ? order : []
  const found = ids.map((id) => parse(textAt(items, keyOf(id)) ?? ''))
  const restored = found.filter(isDraft)
  const written = new Set(ids)

  function write(drafts: readonly Draft[]): void {
    const store = items()
    const ids = drafts.map(({ id }) => id)
    const kept = new Set(ids)
    // What is not needed any more makes room first.
    for (const id of written) {
      if (kept.has(id)) continue
      store.removeItem(keyOf(id))
      written.delete(id)
    }
    if (ids.length === 0) store.removeItem(orderKey)
    else store.setItem(orderKey, JSON.stringify(ids))
    for (const draft of drafts) {
      if (written.has(draft.id)) continue
      store.setItem(keyOf(draft.id), JSON.stringify(draft))
      written.add(draft.id)
    }
  }

  return {
    restored,
    unreadable: found.length - restored.length + (isListOfIds(order) ? 0 : 1),
    save(drafts) {
      const all = [...drafts]
      if (all.length === 0 && written.size === 0) return true
      try {
        write(all)
        return true
      } catch {
        // No room, or no store: the drafts are in this window's memory all the same.
        return false
      }
    },
  }
}

function textAt(items: () => SessionItems, key: string): string | null {
  try {
    return items().getItem(key)
  } catch {
    // Where there is no store nothing was left behind.
    return null
  }
}

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isListOfIds(content: unknown): content is string[] {
  return Array.isArray(content) && content.every((id) => typeof id === 'string')
}

function isDraft(content: unknown): content is Draft {
  if (typeof content !== 'object' || content === null) return false
  const { id, channel, kind, from, at, body } = content as Partial<Record<keyof Draft, unknown>>
  const texts = [id, channel, kind, from]
  return (
    texts.every((text) => typeof text === 'string') &&
    typeof at === 'number' &&
    typeof body === 'object' &&
    body !== null
  )
}
