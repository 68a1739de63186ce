// What the resilience scenario can be told, checked before anything starts.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { modes as allModes } from '../../server/wire/modes.ts'
import { requireMode } from '../lab/subject.ts'

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most)

const schema = z.strictObject({
  modes: z.string().default('all').transform(namesIn),
  windows: whole(1, 500).default(50),
  seconds: whole(4, 3600).default(60),
  rate: whole(1, 50).default(3),
  browsers: whole(0, 8).default(2),
  seed: whole(0, 2 ** 32 - 1).default(() => Math.floor(Math.random() * 2 ** 32)),
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
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, { type: 'string' as const }])),
      ladder: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  const parsed = schema.safeParse(values)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const flag = String(issue?.path[0] ?? '')
    const given: unknown = Object.entries(values).find(([name]) => name === flag)?.[1]
    throw new Error(`--${flag} is ${JSON.stringify(given)}: ${issue?.message}.`)
  }
  return checked(parsed.data)
}

function namesIn(list: string): string[] {
  if (list.trim() === 'all') return allModes.map(({ name }) => name)
  const names = list.split(',').map((word) => word.trim())
  return [...new Set(names.filter(Boolean))]
}

function checked(options: ResilienceOptions): ResilienceOptions {
  const { modes, windows } = options
  if (modes.length === 0) throw new Error('--modes names no mode.')
  for (const mode of modes) requireMode(mode)
  if (windows >= modes.length) return options
  throw new Error(`--windows is ${windows}: ${modes.length} modes need one each at least.`)
}

/** The report's folder: dated to the second, so that each run has its own. */
export function resilienceFolder({ out }: ResilienceOptions, startedAt: Date): string {
  const date = startedAt.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')
  return out ?? join('reports', `${date}-resilience`)
}
