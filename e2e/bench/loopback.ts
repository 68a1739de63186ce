// What the benches of load clients have in common: their flags of modes, and where they run.

import { z } from 'zod'
import { modes } from '../../server/wire/modes.ts'
import { flag, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'

export const overLoopback = {
  browser: 'none: load clients in a process of their own',
  server: 'a process for each mode and relay, on this machine, over loopback',
}

export const modesFlag = (initial: string) =>
  flag(
    wordsOnce
      .transform((names) => (names.includes('all') ? modes : names.map(requireMode)))
      .prefault(initial),
    'LIST',
    'modes of Crosswind, or all',
    initial,
  )

const known = modes.map(({ name }) => name)

export const modeFlag = flag(
  z
    .enum(known, `there are ${known.join(', ')}`)
    .transform(requireMode)
    .prefault('sse/2'),
  'MODE',
  'one mode of Crosswind',
  'sse/2',
)
