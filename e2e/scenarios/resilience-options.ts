// What the resilience scenario can be told, checked before anything starts.

import { z } from 'zod'
import { modes as allModes } from '../../server/wire/modes.ts'
import { whole } from '../bench/flags.ts'
import { requireMode } from '../lab/subject.ts'
import { readFlags, seed, wordsOnce } from './flags.ts'

const schema = z.strictObject({
  modes: z.string().default('all').transform(namesIn),
  windows: whole(1, 500).default(50),
  seconds: whole(4, 3600).default(60),
  rate: whole(1, 50).default(3),
  browsers: whole(0, 8).default(2),
  seed,
  ladder: z.boolean().default(false),
  out: z.string().min(1).optional(),
  help: z.boolean().default(false),
})

export type ResilienceOptions = z.output<typeof schema>

export const resilienceHelp = `npm run lab -- resilience [flags]

  Windows of every mode write to each other while their connections are cut, their reading is stalled, and their server is
  restarted, killed (kill -9), flooded and sent nonsense. Ends with 1 when anything was lost, repeated or reordered, or
  when fewer faults came about than promised: in 60 s at least 200 cut connections, 3 restarts and 3 kills; in more or
  fewer seconds in proportion, and at least one of each.

  --modes LIST   modes, or all; all of them at the same time, on one server   all
  --windows N    windows in all, dealt out over the modes in turns            50
  --seconds N    how long faults and messages go on, in all                   60
  --rate N       messages a second from each of two writers in each mode      3
  --browsers N   real Chromium windows beside them; 0 leaves them out         2
  --seed N       draws the faults; the same seed plans the same ones          drawn, and printed
  --ladder       lets windows fall to other modes; without it they stay in theirs
  --out DIR      the report's folder                                          reports/<date>-resilience
`

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readResilienceOptions(argv: readonly string[]): ResilienceOptions {
  return checked(readFlags(schema, argv, { ladder: { type: 'boolean' } }))
}

function namesIn(list: string): string[] {
  return list.trim() === 'all' ? allModes.map(({ name }) => name) : wordsOnce.parse(list)
}

function checked(options: ResilienceOptions): ResilienceOptions {
  const { modes, windows } = options
  if (modes.length === 0) throw new Error('--modes names no mode.')
  for (const mode of modes) requireMode(mode)
  if (windows >= modes.length) return options
  throw new Error(`--windows is ${windows}: ${modes.length} modes need one each at least.`)
}
