// What an overview carries: the numbers that the server works out of a page's edits and of the wind, and their channel.

import type { ReadingBody, SensorSource } from './reading.ts'

export interface OverviewBody {
  /** Of the page's newest content, as a reader counts them in any script: UAX #29. */
  readonly words: number
  /** Spaces included, ends of lines not. */
  readonly characters: number
  /** The sum of `editsEachSecond`. */
  readonly editsLastMinute: number
  /** Edits in each of the last 60 seconds; the second under way is the last. */
  readonly editsEachSecond: readonly number[]
  /** All that the server has taken on this page since `countedSince`. */
  readonly edits: number
  /** When the server began to count edits, ms since the epoch. */
  readonly countedSince: number
  /** Null where no sensor has been heard of. */
  readonly wind: WindOverview | null
}

export interface WindOverview {
  readonly source: SensorSource
  /** Of the newest reading; null before the first. */
  readonly state: ReadingBody['state'] | null
  readonly status: string | null
  /** When the newest reading was made, by the server's clock, ms since the epoch: old where the sensor is silent. */
  readonly readingAt: number | null
  /** What is wrong with the sensor, one sentence for people; null when all is well. */
  readonly trouble: string | null
  /** Mean speed of the last 2 minutes, calms included; null where they had no reading. */
  readonly meanMetresPerSecond: number | null
  /** Where the mean vector of the last 2 minutes comes from, 0 to 359; null in a calm too. */
  readonly meanDirectionDegrees: number | null
  /** How much of the 2 minutes readings stand for, whole seconds: less at the beginning and after an outage. */
  readonly meanCoversSeconds: number
  /** Highest 3 s mean of the last 10 minutes. */
  readonly gustMetresPerSecond: number | null
  /** The same of the 10 minutes. */
  readonly gustCoversSeconds: number
}

/** While anybody reads it, it comes so often even where nothing has changed; ms. */
export const longestPauseMs = 5000

const prefix = 'overview.'

/** A channel's name has 64 characters at most (PROTOCOL.md). */
const longestPage = 64 - prefix.length

/** The channel on which a page's overview comes; null for a page whose name is too long to have one. */
export function overviewChannel(page: string): string | null {
  return page.length > longestPage ? null : prefix + page
}

/** The page that an overview's channel is about; null for any other channel. */
export function pageOfOverview(channel: string): string | null {
  return channel.startsWith(prefix) ? channel.slice(prefix.length) : null
}
