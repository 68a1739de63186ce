// The history of a document that many people typed: single-character updates, seeded.

import { createDocument, documentText, linesOf } from '../../server/document/rich-text.ts'
import type { Random } from '../../server/wire/time.ts'

interface HistoryPlan {
  readonly edits: number
  /** Of one window; each has its own Yjs client. */
  readonly editsPerSession: number
  readonly random: Random
}

export type EditHistory = ReturnType<typeof createHistory>

/** Mean lengths of what is typed or deleted at one place; a deletion follows half of what is typed. */
const lengths = { typed: 20, deleted: 14 }
const shares = { deleting: 0.5, atEnd: 0.5, space: 1 / 6, newLine: 1 / 200 }

/**
 * People type a run of letters, delete some of it and go elsewhere: half of the time to the end, else anywhere. About
 * one edit in four deletes. Each update is one character's, as a window with `mergeMs: 0` publishes it.
 */
export function createHistory({ edits, editsPerSession, random }: HistoryPlan) {
  const doc = createDocument()
  const text = documentText(doc)
  const isHit = (share: number) => random() < share
  const below = (bound: number) => Math.floor(random() * bound)
  /** Geometric, at least 1. */
  const lengthAround = (mean: number) => 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean))

  let left = { typing: 0, deleting: 0 }
  let caret = 0

  function go(): void {
    caret = isHit(shares.atEnd) ? text.length : below(text.length + 1)
    left = {
      typing: lengthAround(lengths.typed),
      deleting: isHit(shares.deleting) ? lengthAround(lengths.deleted) : 0,
    }
  }

  function character(): string {
    if (isHit(shares.newLine)) return '\n'
    return isHit(shares.space) ? ' ' : String.fromCharCode(97 + below(26))
  }

  function edit(): void {
    if (left.typing === 0 && (left.deleting === 0 || caret === 0)) go()
    if (left.typing > 0) {
      // With attributes, Yjs would look for the place from the beginning.
      text.insert(caret, character())
      caret += 1
      left.typing -= 1
    } else {
      caret -= 1
      text.delete(caret, 1)
      left.deleting -= 1
    }
  }

  return {
    *updates(): Generator<{ readonly update: Uint8Array; readonly session: number }> {
      let update: Uint8Array = new Uint8Array()
      doc.on('update', (made) => {
        update = made
      })
      for (let done = 0; done < edits; done += 1) {
        if (done % editsPerSession === 0) {
          doc.clientID = below(2 ** 32)
          left = { typing: 0, deleting: 0 }
        }
        edit()
        yield { update, session: Math.floor(done / editsPerSession) }
      }
    },
    /** After the last update. */
    result: () => ({ characters: text.length, lines: linesOf(text).length }),
  }
}
