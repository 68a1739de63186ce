// Counts what was lost, what came twice and what came out of order, in windows and in the log.

import type { Seen, WindowRecord } from './record.ts'

export interface WindowAccount {
  /** Deliveries of accepted messages. */
  readonly n: number
  /** Accepted messages that never came. */
  readonly lost: readonly string[]
  /** Deliveries of a message that had come before. */
  readonly duplicated: readonly string[]
  /** First deliveries behind a later one of the log, or of the same sender. */
  readonly reordered: readonly string[]
}

/** `accepted` holds the acknowledged ids of the window's channel. */
export function accountFor(seen: readonly Seen[], accepted: ReadonlyMap<string, number>): WindowAccount {
  const known = new Set<string>()
  const duplicated: string[] = []
  const reordered: string[] = []
  const furthest = createFurthest()
  for (const one of seen) {
    if (known.has(one.id)) duplicated.push(one.id)
    else if (!furthest.goesOn(one)) reordered.push(one.id)
    known.add(one.id)
  }
  return {
    n: seen.reduce((count, { id }) => count + (accepted.has(id) ? 1 : 0), 0),
    lost: [...accepted.keys()].filter((id) => !known.has(id)),
    duplicated,
    reordered,
  }
}

/** Where the log and each sender have got to. */
function createFurthest() {
  const counters = new Map<string, number>()
  let seq = 0
  return {
    goesOn({ id, seq: next }: Seen): boolean {
      const { sender, counter } = partsOf(id)
      const isInOrder = next > seq && counter > (counters.get(sender) ?? 0)
      seq = Math.max(seq, next)
      counters.set(sender, Math.max(counter, counters.get(sender) ?? 0))
      return isInOrder
    },
  }
}

/** An id is its sender and the sender's own counter, `w3f9c-12`. */
export function partsOf(id: string): { readonly sender: string; readonly counter: number } {
  const dash = id.lastIndexOf('-')
  return { sender: id.slice(0, dash), counter: Number(id.slice(dash + 1)) }
}

export interface LogAccount extends Omit<WindowAccount, 'n'> {
  /** Messages read back. */
  readonly messages: number
  /** Acknowledged under another number than they have. */
  readonly renumbered: readonly string[]
}

/** Holds the log, as it was read back, to what it acknowledged. */
export function auditLog(log: readonly Seen[], accepted: ReadonlyMap<string, number>): LogAccount {
  const { lost, duplicated, reordered } = accountFor(log, accepted)
  const renumbered = log.filter(({ id, seq }) => accepted.has(id) && accepted.get(id) !== seq)
  return { messages: log.length, lost, duplicated, reordered, renumbered: renumbered.map(({ id }) => id) }
}

/** Every acknowledged message of these windows. */
export function acceptedOf(windows: readonly WindowRecord[]): ReadonlyMap<string, number> {
  return new Map(windows.flatMap(({ accepted }) => [...accepted]))
}
