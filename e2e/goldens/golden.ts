// A golden: a file that must be as it was, and where it is kept.

import { join } from 'node:path'

export interface Golden {
  /** Below `frozen`, with slashes. */
  readonly path: string
  /** Text, or a picture as PNG. */
  readonly content: string | Buffer
}

export const frozen = join(import.meta.dirname, 'frozen')
