// How old a reading is, in words that stay still while readings keep coming.

import { gapMs } from '../../../server/wire/wind/sampling.ts'

/** What is as old as this is no longer the wind: a reading is missing at any rate that the sensor has. */
export const staleAfterMs = gapMs

export function isStale(ageMs: number): boolean {
  return ageMs >= staleAfterMs
}

/** Without the seconds so far: it is read out once. */
export const staleSentence = `No reading has come for more than ${timeWords(staleAfterMs)}.`

/** Coarse on purpose: up to `staleAfterMs` a reading is simply new. */
export function ageWords(ageMs: number): string {
  return isStale(ageMs) ? `${timeWords(ageMs)} ago` : 'just now'
}

/** A time in its largest whole unit: `12 s`, `3 min`, `2 h`, `more than a day`. */
export function timeWords(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours} h` : 'more than a day'
}
