// Puts what is known of this window's clock into words.

import type { LinkView } from '../store/store.ts'

/** As one reads a clock: ahead of the server's it is on, with a plus. */
export function clockWords(clock: LinkView['clock']): string {
  if (clock === null) return 'Clock: not compared with the server'
  const aheadMs = -clock.offsetMs
  const sign = aheadMs < 0 ? '−' : '+'
  return `Clock: ${sign}${inMs(Math.abs(aheadMs))} ± ${inMs(clock.boundMs, Math.ceil)} against the server`
}

/** To a tenth; a bound never less than it is. */
function inMs(ms: number, round: (tenths: number) => number = Math.round): string {
  return `${(round(ms * 10) / 10).toFixed(1)} ms`
}
