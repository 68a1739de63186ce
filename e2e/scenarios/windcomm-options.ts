// What the WindComm scenario can be told, checked before anything starts.

import { z } from 'zod'
import { whole } from '../bench/flags.ts'
import { requireMode } from '../lab/subject.ts'
import { baseline, methods, modeOf, modesBeside } from '../lab/windcomm/methods.ts'
import { type ProfileName, profiles } from '../network/profiles.ts'
import { readFlags, seed, wordsOnce } from './flags.ts'

const schema = z.strictObject({
  sites: wordsOnce.default(['edmonton', 'lund', 'caracas', 'nagaoka']),
  modes: wordsOnce.default([...methods.map((method) => modeOf[method]), ...modesBeside]),
  readings: whole(2, 100_000).default(1200),
  rate: z.coerce.number().min(0.25).max(100).default(4),
  hold: whole(0, 25_000).default(300),
  interval: whole(10, 60_000).default(150),
  faster: z.coerce.number().min(1).max(100).default(1),
  'browsers-at': z.string().min(1).optional(),
  seed,
  out: z.string().min(1).optional(),
  help: z.boolean().default(false),
})

export interface WindcommOptions {
  readonly sites: readonly ProfileName[]
  readonly modes: readonly string[]
  readonly readings: number
  readonly faster: number
  /** These three as they are run: made faster already. */
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
  /** The site whose windows are a browser's; null for none. */
  readonly browsersAt: ProfileName | null
  readonly seed: number
  readonly out: string | undefined
}

export const windcommHelp = `npm run lab -- windcomm [flags]

  The experiment of the 2012 WindComm paper: a wind sensor's readings, timed from the server to windows far away, over
  WebSocket, long polling and polling, and over what the paper could not have, all at once over the same readings and the
  same networks. Ends with 1 when a reading was lost, repeated or reordered.

  --sites LIST      networks: ${Object.keys(profiles).join(', ')}
                                                         edmonton,lund,caracas,nagaoka
  --modes LIST      modes, ${baseline} among them    the paper's three, sse/2, streaming/2, websocket/2
  --readings N      readings that count in every window  1200
  --rate HZ         readings a second                    4
  --hold MS         how long a long poll is held         300
  --interval MS     polling's pause                      150
  --browsers-at S   the site whose windows are real Chromium's; none for no browser
                                                         the first site
  --faster N        rate, hold, interval and delays, all so many times as fast
                                                         1
  --seed N          draws the networks' queues and stalls
                                                         drawn, and printed
  --out DIR         the report's folder                  reports/<date>-windcomm
`

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readWindcommOptions(argv: readonly string[]): WindcommOptions {
  return checked(readFlags(schema, argv))
}

function checked(given: z.output<typeof schema>): WindcommOptions {
  const { sites, modes, readings, faster, seed, out } = given
  const named = sites.map((name) => requireSite(name, '--sites'))
  const [first] = named
  if (!first) throw new Error('--sites names no site.')
  for (const mode of modes) requireMode(mode)
  if (!modes.includes(baseline))
    throw new Error(`--modes has to name ${baseline} too: all others are set against it.`)
  return {
    sites: named,
    modes,
    readings,
    faster,
    seed,
    out,
    ...paceOf(given),
    browsersAt: siteOfBrowsers(given, first),
  }
}

/** Throws where a pace that is made faster is none that the server can have. */
function paceOf({ rate, hold, interval, faster }: z.output<typeof schema>) {
  const pace = { rateHz: rate * faster, holdMs: hold / faster, intervalMs: interval / faster }
  if (pace.rateHz > 100)
    throw new Error(
      `--rate ${rate} and --faster ${faster} make ${pace.rateHz} Hz; the sensor has 100 at most.`,
    )
  if (!Number.isInteger(pace.holdMs))
    throw new Error(
      `--hold ${hold} and --faster ${faster} make ${pace.holdMs} ms; the server takes whole ones.`,
    )
  if (!Number.isInteger(pace.intervalMs) || pace.intervalMs < 10)
    throw new Error(
      `--interval ${interval} and --faster ${faster} make ${pace.intervalMs} ms; the server takes whole ones from 10 on.`,
    )
  return pace
}

function siteOfBrowsers(given: z.output<typeof schema>, first: ProfileName): ProfileName | null {
  const wished = given['browsers-at'] ?? first
  if (wished === noSite) return null
  const site = requireSite(wished, '--browsers-at')
  if (given.sites.includes(site)) return site
  throw new Error(`--browsers-at is "${wished}", which is not among the sites ${given.sites.join(', ')}.`)
}

const noSite = 'none'

function requireSite(name: string, flag: string): ProfileName {
  const names = Object.keys(profiles) as ProfileName[]
  const found = names.find((known) => known === name)
  if (found) return found
  throw new Error(`${flag} names "${name}"; there are ${names.join(', ')}.`)
}
