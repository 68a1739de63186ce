// Whole-content mirroring, as in the 2021 paper: which content a window shows, decided by the log's order alone.

import type { Draft, Message } from '../../server/wire/envelope.ts'

export interface Mirror {
  /** This window's user changed the content, and it was sent under that id. */
  readonly edited: (id: string) => void
  /** Edits that were under way before a reload, in order, and will be sent again. Returns the content to show, or null. */
  readonly restored: (drafts: readonly Draft<'edit'>[]) => string | null
  /** An edit came from the log. Returns the content to show, or null to leave what is shown. */
  readonly received: (message: Message<'edit'>) => string | null
  /** An own edit was stored under that number. Returns the content to show, or null. */
  readonly stored: (id: string, seq: number) => string | null
  /** An own edit will not come: it was refused, or a newer own one says all that it did. What is shown stays. */
  readonly withdrawn: (id: string) => void
  /** The log is another, with numbers of its own. */
  readonly newLog: () => void
}

/**
 * All windows end with the log's last edit. While own edits are under way, others' are held back: the own
 * ones will come after them in the log and would win anyway, and showing them would take back what was
 * just typed.
 */
export function createMirror(): Mirror {
  const pending = new Set<string>()
  let heldBack: Message<'edit'> | null = null
  let settledSeq = 0

  function settle(id: string, seq: number): string | null {
    pending.delete(id)
    settledSeq = Math.max(settledSeq, seq)
    if (pending.size > 0 || heldBack === null) return null
    const newest = heldBack
    heldBack = null
    return newest.seq > settledSeq ? newest.body.html : null
  }

  return {
    edited: (id) => void pending.add(id),
    restored(drafts) {
      for (const { id } of drafts) pending.add(id)
      return drafts.at(-1)?.body.html ?? null
    },
    received(message) {
      if (pending.has(message.id)) return settle(message.id, message.seq)
      // An acknowledgement came ahead of the stream: what is shown is newer than this.
      if (message.seq <= settledSeq) return null
      if (pending.size === 0) return message.body.html
      heldBack = message
      return null
    },
    stored: (id, seq) => (pending.has(id) ? settle(id, seq) : null),
    withdrawn: (id) => void pending.delete(id),
    newLog() {
      heldBack = null
      settledSeq = 0
    },
  }
}
