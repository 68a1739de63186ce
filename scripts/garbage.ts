// Garbage collection on demand, for measurements of memory.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects everything unreachable, in this thread. */
export const collectGarbage: () => void = runInNewContext('gc')
