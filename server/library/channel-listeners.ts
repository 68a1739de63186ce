// An application's listeners for channels: each is called in order, later, and fails alone.

import { fits } from '../channels/channel-type.ts'

export type Listener<Told> = (told: Told) => unknown

interface Entry<Told> {
  /** A channel's name, or a prefix and `*`. */
  readonly pattern: string
  readonly listener: Listener<Told>
}

export class ChannelListeners<Told> {
  readonly #onFailure: (error: unknown) => void
  /** Replaced on every change, never modified. */
  #entries: readonly Entry<Told>[] = []

  /** `onFailure` receives what a listener throws or rejects with. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure
  }

  /** Returns the function that removes it. */
  add(pattern: string, listener: Listener<Told>): () => void {
    const entry = { pattern, listener }
    this.#entries = [...this.#entries, entry]
    return () => {
      this.#entries = this.#entries.filter((one) => one !== entry)
    }
  }

  /**
   * Calls the channel's listeners once the current work is done: they may publish, or end clients. `make`
   * is called for each, so that none sees what another changes.
   */
  tell(channel: string, make: () => Told): void {
    for (const entry of this.#entries)
      if (fits(entry.pattern, channel)) queueMicrotask(() => this.#call(entry, make))
  }

  async #call(entry: Entry<Told>, make: () => Told): Promise<void> {
    if (!this.#entries.includes(entry)) return
    try {
      await entry.listener(make())
    } catch (error) {
      this.#onFailure(error)
    }
  }
}
