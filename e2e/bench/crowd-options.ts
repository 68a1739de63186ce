// What `bench crowd` can be told, checked before anything starts.

import { z } from 'zod'
import { type Mode, modeNamed, modes } from '../../server/wire/modes.ts'
import { readFlags, whole } from './flags.ts'

const schema = z.object({
  mode: z.string().default('sse/2'),
  windows: whole(1, 50_000).default(10_000),
  'per-browser': whole(1, 1000).default(10),
  rate: whole(1, 1000).default(5),
  seconds: whole(1, 600).default(30),
  opening: whole(1, 1000).default(200),
  clients: whole(1, 8).default(1),
  json: z.string().min(1).optional(),
})

export const crowdHelp = `npm run bench -- crowd [flags]

  A crowd of windows at one server process: what arrives, how late, in how much memory, and who was busy.

  --mode MODE      one mode of Crosswind                sse/2
  --windows N      windows that receive                 10000
  --per-browser K  windows that share an HTTP/2 session 10
  --rate N         messages a second                    5
  --seconds N      seconds measured                     30
  --opening N      handshakes under way at a time       200
  --clients N      processes that the windows are in    1
  --json FILE      write the figures there too
`

export interface CrowdOptions extends Omit<z.output<typeof schema>, 'mode' | 'per-browser'> {
  readonly mode: Mode
  readonly perBrowser: number
}

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readCrowdOptions(argv: readonly string[]): CrowdOptions {
  const { mode: name, 'per-browser': perBrowser, ...rest } = readFlags(schema, argv)
  const mode = modeNamed(name)
  if (!mode) throw new Error(`--mode is "${name}"; there are ${modes.map((known) => known.name).join(', ')}.`)
  return { ...rest, mode, perBrowser }
}
