// What a run needs of a window, whether it is a browser's page or a client without one.

import type { Receipt } from '../../lab/windcomm/matching.ts'

export interface ListeningWindow {
  readonly site: string
  readonly mode: string
  readonly isOpen: () => Promise<boolean>
  /** How many readings it has received so far. */
  readonly count: () => Promise<number>
  readonly has: (id: string) => Promise<boolean>
  /** All of them, in the order in which they came. Rejects when the window left its mode meanwhile. */
  readonly receipts: () => Promise<readonly Receipt[]>
  readonly close: () => void
}

/** Its own, so that nobody is told of windows that come and go at other sites. */
export function channelOf(site: string, mode: string): string {
  return `windcomm-${site}-${mode.replace('/', '-')}`
}

/** A cell is called by its mode: what was heard over another one does not belong there. */
export function refuseOtherMode(site: string, mode: string, spoken: string | undefined): void {
  if (spoken === mode) return
  throw new Error(
    `The window of ${mode} at ${site} ended in ${spoken}: what it heard is no figure of ${mode}.`,
  )
}
