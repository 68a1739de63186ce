// What a person can ask of the window from the page's frame; the page knows no more of the link than this.

export interface Actions {
  /** Moves this window to another mode, live; the name is one of the modes table, `sse/2`. */
  switchMode(name: string): void
  openWindow(): void
  /** Ends the pause before the next try to connect. */
  retryNow(): void
  dismissRefusal(): void
}
