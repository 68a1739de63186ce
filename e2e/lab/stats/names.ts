// What a mode is called: which are Crosswind's own, whom a peer imitates, and how to say them in a sentence.

import { modeNamed } from '../../../server/wire/modes.ts'

/** `bare:sse/2` imitates `sse/2`; a mode of Crosswind, which has no colon, imitates nobody. */
export function imitatedBy(mode: string): string | undefined {
  const colon = mode.indexOf(':')
  return colon === -1 ? undefined : mode.slice(colon + 1)
}

export function isPeer(mode: string): boolean {
  return imitatedBy(mode) !== undefined
}

/** For a table or a figure: `SSE + XHR, HTTP/2`; a peer keeps its own name in front, `bare: SSE + XHR, HTTP/2`. */
export function labelOf(mode: string): string {
  const imitated = imitatedBy(mode)
  if (imitated === undefined) return modeNamed(mode)?.label ?? mode
  return `${mode.slice(0, mode.indexOf(':'))}: ${modeNamed(imitated)?.label ?? imitated}`
}

/** The far side of a pair whose mode is named already: `bare` for its peer, which imitates that same mode. */
export function opponentLabel(baseline: string): string {
  return isPeer(baseline) ? baseline.slice(0, baseline.indexOf(':')) : labelOf(baseline)
}

/** For a sentence: `SSE + XHR over HTTP/2`. */
export function spokenName(mode: string): string {
  return labelOf(mode).replace(', HTTP/', ' over HTTP/')
}
