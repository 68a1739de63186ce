// The other windows, across connections: one that only reopens its stream sees nobody leave.

import type { AwarenessFrame } from '../server/wire/messages.ts'
import { nothingPlanned, type Timers } from '../server/wire/time.ts'

/** As long as the server shows a window whose client has left. */
export const keepShownMs = 4000

export class ShownWindows {
  readonly #timers: Timers
  readonly #tell: (frame: AwarenessFrame) => void
  /**
   * Channels of which no connection has shown all windows since one was lost, and until when the
   * windows stay, ms since the epoch.
   */
  readonly #outdated = new Map<string, number>()
  #stopTimer = nothingPlanned

  constructor(timers: Timers, tell: (frame: AwarenessFrame) => void) {
    this.#timers = timers
    this.#tell = tell
  }

  take(frame: AwarenessFrame): void {
    if (frame.whole) this.#outdated.delete(frame.channel)
    this.#tell(frame)
  }

  /** The windows on these channels stay until a connection shows all of them, or for a while. */
  lost(channels: Iterable<string>): void {
    const until = this.#timers.now() + keepShownMs
    for (const channel of channels) this.#outdated.set(channel, this.#outdated.get(channel) ?? until)
    this.#plan()
  }

  #plan(): void {
    this.#stopTimer()
    const [first] = this.#outdated.values()
    if (first === undefined) return
    this.#stopTimer = this.#timers.later(() => {
      this.#clearUntil(this.#timers.now())
      this.#plan()
    }, first - this.#timers.now())
  }

  #clearUntil(at: number): void {
    for (const [channel, until] of [...this.#outdated]) {
      if (until > at) continue
      this.#outdated.delete(channel)
      this.#tell({ type: 'awareness', channel, windows: [], whole: true })
    }
  }

  /** Nobody is shown any more on the channels that were lost. */
  clear(): void {
    this.#stopTimer()
    this.#clearUntil(Infinity)
  }
}
