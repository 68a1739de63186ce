// What is known of one page: its newest content, counted when somebody wants to know, and how fast it is edited.

import type { Message } from '../wire/envelope.ts'
import type { OverviewBody } from '../wire/overview.ts'
import type { Clock, Timers } from '../wire/time.ts'
import { createEditRate } from './edit-rate.ts'
import { createTextCounter, type TextCounts } from './text-counts.ts'
import { inTurns } from './turns.ts'

export type PageFigures = Pick<
  OverviewBody,
  'words' | 'characters' | 'editsLastMinute' | 'editsEachSecond' | 'edits'
>

export interface Page {
  /** An edit that has just been stored. */
  readonly edited: (edit: Message<'edit'>) => void
  /** The newest one from before, as the log has it; of no effect after `edited`. */
  readonly remember: (edit: Message<'edit'> | null) => void
  readonly isKnown: () => boolean
  readonly edits: () => number
  /** As of now; the content is counted only where it is another than the last time. */
  readonly figures: () => Promise<PageFigures>
  /** Nobody wants to know: lets go of what makes counting fast. */
  readonly rest: () => void
}

/** `steadyNow` never runs back. */
export function createPage(timers: Timers, steadyNow: Clock): Page {
  const rate = createEditRate()
  const counter = createTextCounter()
  let newest: Message<'edit'> | null = null
  let isKnown = false
  let edits = 0
  let counts: TextCounts = { words: 0, characters: 0 }
  let counted: Message<'edit'> | null = null

  /** What is written meanwhile is counted the next time. */
  async function countNewest(): Promise<void> {
    const edit = newest
    if (edit === counted || edit === null) return
    counts = await inTurns(counter.count(edit.body.html), timers)
    counted = edit
  }

  return {
    edited(edit) {
      newest = edit
      isKnown = true
      edits += 1
      rate.add(steadyNow())
    },
    remember(edit) {
      newest ??= edit
      isKnown = true
    },
    isKnown: () => isKnown,
    edits: () => edits,
    async figures() {
      await countNewest()
      const editsEachSecond = rate.eachSecond(steadyNow())
      const editsLastMinute = editsEachSecond.reduce((sum, count) => sum + count, 0)
      return { ...counts, editsLastMinute, editsEachSecond, edits }
    },
    rest: counter.forget,
  }
}
