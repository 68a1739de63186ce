// A golden: a file that must not change, and where it is kept.

import { join } from 'node:path'

export interface Golden {
  /** Below `frozen`, with slashes. */
  readonly path: string
  /** Text, or a picture as PNG. */
  readonly content: string | Buffer
}

export interface GoldenSet {
  readonly goldens: readonly Golden[]
  /** Why some files could not be made, as a sentence, and the endings of their names. */
  readonly skipped?: { readonly sentence: string; readonly endings: readonly string[] }
}

export const frozen = join(import.meta.dirname, 'frozen')

/** A module by which a server begins at this time, so that stored times and ages do not depend on the day. */
export const clockFrom = (ms: number) =>
  `data:text/javascript,Object.defineProperty(performance,'timeOrigin',{value:${ms}})`
