// What a person can ask of the window from the page's frame; the page knows no more of the link than this.

import type { WindChoices } from '../wind/choices.ts'
import type { ViewName } from './views.ts'

export interface Actions {
  /** Moves this window to another mode, live; the name is one of the modes table, `sse/2`. */
  switchMode(name: string): void
  openWindow(): void
  /** Ends the pause before the next try to connect. */
  retryNow(): void
  dismissRefusal(): void
  /** Shows another side of the service in this window; the address says so. */
  chooseView(name: ViewName): void
  dismissViewNotice(): void
  /** The unit of speeds and the length of the history, kept for this browser. */
  chooseWind(change: Partial<WindChoices>): void
}
