// When the outbox is saved: not for every key, but soon enough that a reload finds what was not stored.

import type { Cancel, Timers } from '../../server/wire/time.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxStore } from './outbox-store.ts'

/** An edit is usually acknowledged within a few ms: only what lingers is worth writing down. */
const lingeringMs = 250

export interface SavingParts {
  readonly timers: Timers
  readonly outbox: Pick<Outbox, 'all' | 'size'>
  readonly store: Pick<OutboxStore, 'save'>
  /** Whether all is saved has changed. */
  readonly onChange: () => void
}

export interface Saving {
  /** Something came into the outbox or left it. */
  readonly changed: () => void
  readonly saveNow: () => void
  /** False when the last try found no room, or no store. */
  readonly isSaved: () => boolean
  readonly stop: () => void
}

export function createSaving({ timers, outbox, store, onChange }: SavingParts): Saving {
  let planned: Cancel | null = null
  let isSaved = true

  function saveNow(): void {
    stop()
    const wasSaved = isSaved
    isSaved = store.save(outbox.all())
    if (isSaved !== wasSaved) onChange()
  }

  function stop(): void {
    planned?.()
    planned = null
  }

  return {
    changed() {
      if (outbox.size() === 0) saveNow()
      else planned ??= timers.later(saveNow, lingeringMs)
    },
    saveNow,
    isSaved: () => isSaved,
    stop,
  }
}
