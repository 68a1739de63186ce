// The flags of the resilience scenario, of its named faults too.

import { z } from 'zod'
import { modes as allModes } from '../../server/wire/modes.ts'
import { readFlags, seed, whole, wordsOnce } from '../lab/flags.ts'
import { type FaultName, faultNames } from './resilience-analysis.ts'
import { requireModes } from './scenario-options.ts'

const out = z.string().min(1).optional()

const resilience = z.strictObject({
  modes: z
    .string()
    .default('all')
    .transform((list) => (list.trim() === 'all' ? allModes.map(({ name }) => name) : wordsOnce.parse(list))),
  windows: whole(1, 500).default(50),
  seconds: whole(4, 3600).default(60),
  rate: whole(1, 50).default(3),
  browsers: whole(0, 8).default(2),
  servers: whole(1, 9).default(1),
  workers: whole(1, 16).default(1),
  seed,
  fallback: z.boolean().default(false),
  out,
})

export type ResilienceOptions = z.output<typeof resilience>

export const resilienceHelp = `npm run lab -- resilience [flags]

  Opens windows in every mode that write to each other, cuts their connections, stalls their reading, and restarts, kills
  (kill -9), floods and attacks the server with invalid input. Exits with status 1 if a message was lost, repeated or
  reordered, if windows were back later than 2 s in the median or 5 s at worst after the server's return, or if fewer
  faults occurred than promised: in 60 s 200 cut connections, 3 restarts and 3 kills, the last of which keeps the server
  away for 8 s; for other durations in proportion, and at least one of each.

  --modes LIST   modes, or all, at the same time on one server                all
  --windows N    windows in all, spread evenly over the modes                 50
  --seconds N    duration                                                     60
  --rate N       messages a second from each of two writers in each mode      3
  --browsers N   additional real Chromium windows; 0 for none                 2
  --servers N    over one NATS stream, behind a balancer; faults meet them in
                 turn, and NATS is killed too; needs nats-server              1
  --workers N    of each server; one of them is killed (kill -9) six times a
                 minute                                                       1
  --seed N       repeats the plan of the faults                               drawn, and printed
  --fallback     lets windows fall back to other modes
  --out DIR      folder of the report                                          reports/<date>-resilience

  Named faults, one after the other, each on fresh servers; or schedules of two to four of them. Exits with status 1 if
  an acknowledged message is missing without a word of the server or in the window, or came twice or out of order:

  --faults LIST  ${faultNames.sqlite.join(', ')},
                 ${faultNames.nats.slice(0, 5).join(', ')},
                 ${faultNames.nats.slice(5).join(', ')}; or all
  --schedules N  random schedules in place of single faults
  --resume DIR   goes on with a run of these that was stopped; its other flags are in the folder
  Of the flags above they take --modes (sse/2,websocket/1.1,streaming/2,long-polling/2 by default), --windows (12; 60
  for rolling-restart alone), --rate, --seed and --out. Those that begin with a stream, a node or the broker need
  nats-server; disk-full needs the right to mount a tmpfs.
`

const allFaults: readonly FaultName[] = Object.values(faultNames).flat()

const trials = z.strictObject({
  faults: wordsOnce
    .transform((names) => (names.join() === 'all' ? allFaults : names))
    .pipe(z.array(z.enum(allFaults, `must be all, or of ${allFaults.join(', ')}`)))
    .optional(),
  schedules: whole(1, 1000).optional(),
  resume: z.string().min(1).optional(),
  modes: wordsOnce.default(['sse/2', 'websocket/1.1', 'streaming/2', 'long-polling/2']),
  windows: whole(1, 500).default(12),
  rate: whole(1, 50).default(3),
  seed,
  out,
})

export type TrialOptions = NonNullable<ReturnType<typeof readTrialOptions>>

/** Null for a run of cuts, restarts and kills. */
export function readTrialOptions(argv: readonly string[]) {
  const names = argv.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/s, ''))
  if (!names.some((name) => ['--faults', '--schedules', '--resume'].includes(name))) return null
  const { faults = [], ...options } = readFlags(trials, argv)
  const other = names.find((name) => name !== '--resume')
  if (options.resume !== undefined && other !== undefined)
    throw new Error(`--resume takes everything from ${options.resume}: leave out ${other}.`)
  if (faults.length > 0 && options.schedules !== undefined)
    throw new Error('--schedules draws its faults: leave out --faults.')
  requireWindowForEach(options)
  return { faults, ...options }
}

export function readResilienceOptions(argv: readonly string[]): ResilienceOptions {
  const options = readFlags(resilience, argv, { fallback: { type: 'boolean' } })
  requireWindowForEach(options)
  return options
}

function requireWindowForEach({ modes, windows }: Pick<ResilienceOptions, 'modes' | 'windows'>): void {
  requireModes(modes)
  if (windows < modes.length)
    throw new Error(`--windows is ${windows}: ${modes.length} modes need one each at least.`)
}
