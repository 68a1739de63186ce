// What sites, methods and modes are called in the report of a WindComm run.

import { labelOf } from '../../lab/stats/names.ts'
import { methodOf, methodWords } from '../../lab/windcomm/methods.ts'
import { capital, placeName } from '../../lab/windcomm/words.ts'

/** The paper's word for its methods, the mode's own label for what it had not. */
export function modeLabel(mode: string): string {
  return capital(inSentence(mode))
}

/** `long polling`, not at a beginning. */
export function inSentence(mode: string): string {
  const method = methodOf(mode)
  return method ? methodWords[method] : labelOf(mode)
}

export function cellLabel(site: string, mode: string): string {
  return `${placeName(site)}, ${inSentence(mode)}`
}

/** The paper's methods in the accent's colour, the others beside them. */
export function colourOf(mode: string): string {
  return methodOf(mode) ? 'var(--accent)' : 'var(--peer)'
}

/** Added to captions of a run that was made faster, before their full stop; else nothing. */
export function paceNote(faster: number): string {
  return faster === 1 ? '' : `; ${faster} times as fast: to be taken ${faster} times`
}
