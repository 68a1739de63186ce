// A window's line to the sharing place, as the ways to it have in common.

import type { ToPlace, ToWindow } from './port.ts'

export interface LineEvents {
  readonly onSaid: (said: ToWindow) => void
  /** The place is gone, and all that it held for this window; once. */
  readonly onGone: () => void
}

export interface Line {
  readonly post: (said: ToPlace) => void
}

/** Finds the place, and makes one if need be. Rejects where that is not possible in this way. */
export type Reach = (events: LineEvents) => Promise<Line>
