// Decides whether a log found on disk is still the one that windows hold cursors of.

import type { Random } from '../wire/random.ts'

/** What an acknowledged message outlives: a killed process, or also a power cut. */
export type Durability = 'process' | 'machine'

/** One opening of a log's file. */
export interface Life {
  readonly epoch: string
  /** Names the machine's run, from its start to its end. */
  readonly boot: string
  readonly durability: Durability
  readonly isClosed: boolean
}

export interface Opening {
  readonly boot: string
  readonly durability: Durability
  readonly random: Random
}

/** The next life of a file whose last one was `last`, null for a new file. */
export function nextLife(last: Life | null, { boot, durability, random }: Opening): Life {
  const epoch = last && !mayLackMessages(last, boot) ? last.epoch : newEpoch(random)
  return { epoch, boot, durability, isClosed: false }
}

/**
 * The machine went down under an open log that does not wait for the disk: its last commits may be missing while windows
 * hold cursors beyond them. The numbers will be given again, so the old cursors must not be understood.
 */
function mayLackMessages({ boot: lastBoot, durability, isClosed }: Life, boot: string): boolean {
  return !isClosed && durability === 'process' && lastBoot !== boot
}

/** Eight letters and digits. */
export function newEpoch(random: Random): string {
  return Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
}
