// The other windows, across connections: one that only reopens its stream sees nobody leave.

import type { AwarenessFrame } from '../protocol/messages.ts'
import { nothingPlanned, type Timers } from '../protocol/time.ts'

/** Time for which the server shows a window whose client has left, ms. */
export const keepShownMs = 4000

export class ShownWindows {
  readonly #timers: Timers
  readonly #tell: (frame: AwarenessFrame) => void
  /**
   * Channels whose windows no connection has listed completely since one was lost, and until when these
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

  /** Removes all windows of the channels that were lost. */
  clear(): void {
    this.#stopTimer()
    this.#clearUntil(Infinity)
  }
}
