// The ladder's rungs: the order in which the table's `fallback` leads down, without what this browser cannot do.

import { type Mode, modeNamed } from '../../server/wire/modes.ts'

export interface Rungs {
  /** The next one down; null at the foot. */
  readonly below: (mode: Mode) => Mode | null
  /** Whether the way down from `high` leads to `low`. */
  readonly isAbove: (high: Mode, low: Mode) => boolean
  readonly isSupported: (mode: Mode) => boolean
  /** This browser cannot do that mode, and will not learn it. */
  readonly remove: (mode: Mode) => void
}

export function createRungs(): Rungs {
  const unsupported = new Set<string>()

  function below(mode: Mode): Mode | null {
    const next = mode.fallback === null ? undefined : modeNamed(mode.fallback)
    if (!next) return null
    return unsupported.has(next.name) ? below(next) : next
  }

  return {
    below,
    isAbove(high, low) {
      for (let next = below(high); next; next = below(next)) if (next === low) return true
      return false
    },
    isSupported: ({ name }) => !unsupported.has(name),
    remove: ({ name }) => void unsupported.add(name),
  }
}
