// What this window said and the server has not acknowledged yet, in order and within bounds.

import type { Draft } from '../../server/wire/envelope.ts'

export interface OutboxBounds {
  readonly messages: number
  /** As JSON in UTF-8. */
  readonly bytes: number
}

export interface Outbox {
  /**
   * Takes a draft. At the bound the oldest edits of the same channel give way to it: an edit carries the whole
   * content, so a newer one says all that they did. Those that are under way stay. Returns what gave way; null when the
   * draft has no room even so, and then nothing has changed.
   */
  readonly add: (draft: Draft, isUnderWay: (id: string) => boolean) => readonly Draft[] | null
  /** False when it was not there any more. */
  readonly remove: (id: string) => boolean
  /** In the order in which they were added. */
  readonly all: () => Iterable<Draft>
  readonly size: () => number
}

const utf8 = new TextEncoder()
const bytesOf = (draft: Draft) => utf8.encode(JSON.stringify(draft)).length

/** `restored` is what a window of before the reload left; it is taken whatever the bounds are. */
export function createOutbox(bounds: OutboxBounds, restored: readonly Draft[] = []): Outbox {
  const drafts = new Map<string, Draft>()
  const sizes = new Map<string, number>()
  let bytes = 0
  for (const draft of restored) keep(draft, bytesOf(draft))

  function keep(draft: Draft, size: number): void {
    drafts.set(draft.id, draft)
    sizes.set(draft.id, size)
    bytes += size
  }

  function remove(id: string): boolean {
    bytes -= sizes.get(id) ?? 0
    sizes.delete(id)
    return drafts.delete(id)
  }

  /** What has to go so that one more of that size fits; null when all that could go is not enough. */
  function wayFor(draft: Draft, size: number, isUnderWay: (id: string) => boolean): readonly Draft[] | null {
    let messagesOver = drafts.size + 1 - bounds.messages
    let bytesOver = bytes + size - bounds.bytes
    const going: Draft[] = []
    for (const old of drafts.values()) {
      if (messagesOver <= 0 && bytesOver <= 0) break
      if (isUnderWay(old.id) || !supersedes(draft, old)) continue
      going.push(old)
      messagesOver -= 1
      bytesOver -= sizes.get(old.id) ?? 0
    }
    return messagesOver <= 0 && bytesOver <= 0 ? going : null
  }

  return {
    add(draft, isUnderWay) {
      const size = bytesOf(draft)
      const going = wayFor(draft, size, isUnderWay)
      if (going === null) return null
      for (const { id } of going) remove(id)
      keep(draft, size)
      return going
    },
    remove,
    all: () => drafts.values(),
    size: () => drafts.size,
  }
}

function supersedes(newer: Draft, older: Draft): boolean {
  return newer.kind === 'edit' && older.kind === 'edit' && newer.channel === older.channel
}
