// What changed from one version of a text to another, by positions in the later one.

import { type Change, type Line, lengthOf } from '../../app/document/rich-text.ts'
import { changesBetween } from '../../app/document/text-diff.ts'

/** A piece of the later text that was added or kept, and what was removed before it. */
interface Piece {
  readonly isAdded: boolean
  /** In UTF-16 units. */
  readonly length: number
  readonly removed: string
}

export class Marks {
  readonly #edges: number[]
  readonly #added = new Set<number>()
  readonly #removed = new Map<number, string>()

  constructor(before: readonly Line[], after: readonly Line[]) {
    const text = before.map(({ runs }) => `${runs.map(({ text }) => text).join('')}\n`).join('')
    this.#edges = [0]
    let at = 0
    for (const { kept, removed, added } of replacements(text, changesBetween(before, after))) {
      const from = at + kept
      at = from + added
      this.#edges.push(from, at)
      if (added > 0) this.#added.add(from)
      if (removed !== '') this.#removed.set(from, removed)
    }
  }

  /** The pieces of the later text's lines, one after the other. */
  piecesOf(lines: readonly Line[]): ReadonlyMap<Line, readonly Piece[]> {
    const found = new Map<Line, readonly Piece[]>()
    let edge = 0
    let at = 0
    const pieceAt = (most: number): Piece => {
      while ((this.#edges[edge + 1] ?? Infinity) <= at) edge += 1
      const from = this.#edges[edge] ?? 0
      const length = Math.min(most, (this.#edges[edge + 1] ?? Infinity) - at)
      const removed = from === at ? (this.#removed.get(at) ?? '') : ''
      return { isAdded: this.#added.has(from), length, removed }
    }
    for (const line of lines) {
      const pieces: Piece[] = []
      const end = at + lengthOf(line)
      while (at < end) {
        const piece = pieceAt(end - at)
        pieces.push(piece)
        at += piece.length
      }
      // Before the line's end.
      const { removed } = pieceAt(1)
      if (removed !== '') pieces.push({ isAdded: false, length: 0, removed })
      at = end + 1
      found.set(line, pieces)
    }
    // Lines at the end, below the last one.
    const last = lines.at(-1)
    const below = this.#removed.get(at)
    if (last && below)
      found.set(last, [...(found.get(last) ?? []), { isAdded: false, length: 0, removed: `\n${below}` }])
    return found
  }
}

interface Replacement {
  /** In UTF-16 units, before it. */
  readonly kept: number
  readonly removed: string
  readonly added: number
}

/** Replaces whole words: what is left of one between two changes would be unreadable. */
function replacements(text: string, changes: readonly Change[]): readonly Replacement[] {
  const found: Replacement[] = []
  let read = 0
  let kept = ''
  let newest = ''
  for (const change of changes) {
    if ('retain' in change) {
      kept += text.slice(read, read + change.retain)
      read += change.retain
      continue
    }
    const gone = 'delete' in change ? text.slice(read, read + change.delete) : ''
    const added = 'insert' in change ? change.insert.length : 0
    const changed = 'insert' in change ? change.insert : gone
    read += gone.length
    const last = found.at(-1)
    if (last && (kept === '' || isOneWord(newest, kept, changed))) {
      const removed = last.removed + kept + gone
      found.splice(-1, 1, { kept: last.kept, removed, added: last.added + kept.length + added })
    } else found.push({ kept: kept.length, removed: gone, added })
    kept = ''
    newest = changed
  }
  return found
}

const isOneWord = (before: string, between: string, after: string) =>
  /\S$/.test(before) && !/\s/.test(between) && /^\S/.test(after)
