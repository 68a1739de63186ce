// The flags of each scenario, checked before anything starts.

import { z } from 'zod'
import { editorNames } from '../../server/wire/messages.ts'
import { modes as allModes, type Mode } from '../../server/wire/modes.ts'
import { readFlags, seed, whole, words, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { type ProfileName, profiles } from '../network/profiles.ts'
import { baseline, methods, modeOf, modesBeside } from './windcomm-paper.ts'

const out = z.string().min(1).optional()

const keystrokes = z
  .strictObject({
    modes: words.default(['sse/2', 'sse/1.1', 'websocket/1.1']),
    editor: wordsOnce.default(['shared']),
    growing: z.boolean().default(false),
    windows: whole(1, 50).default(5),
    sessions: whole(1, 1000).default(5),
    keys: whole(1, 10_000).default(200),
    blocks: whole(1, 100).default(4),
    warmup: whole(0, 200).default(10),
    interval: whole(0, 10_000).default(50),
    baseline: z.string().optional(),
    peers: words.default([]),
    server: z.url({ protocol: /^https$/, error: 'must be an https address, https://host:8443' }).optional(),
    remote: z
      .array(z.url({ protocol: /^https?$/, error: 'must be a WebDriver address, http://laptop:4444' }))
      .default([]),
    sensor: z.enum(['none', 'simulated']).default('none'),
    profile: z
      .enum(Object.keys(profiles) as ProfileName[], `there are ${Object.keys(profiles).join(', ')}`)
      .optional(),
    until: z.enum(['decided'], 'must be decided').optional(),
    matters: z
      .string()
      .regex(/^\d+(\.\d+)?(ms|%)$/, 'must be like 1ms or 5%')
      .default('5%'),
    limit: whole(1, 10_000).default(60),
    seed,
    out,
    headed: z.boolean().default(false),
  })
  .refine(({ keys, blocks }) => keys >= blocks, 'keys must be at least as many as blocks')
  .refine(
    ({ until, sessions }) => until === undefined || sessions > 2,
    'two sessions may be alike by chance: with --until, --sessions is the fewest, 3 or more',
  )
  .refine(
    ({ editor, server }) => editor.length === 1 || server === undefined,
    'a server has one editor: leave out --server or name one --editor',
  )
  .refine(
    ({ profile, server, remote }) => profile === undefined || (server === undefined && remote.length === 0),
    'a profile is simulated on this machine: leave out --server and --remote, or --profile',
  )
  .refine(
    ({ peers, server }) => peers.length === 0 || server === undefined,
    'peers run on this machine: leave out --server or --peers',
  )

export type KeystrokeOptions = ReturnType<typeof readKeystrokeOptions>

export const keystrokesHelp = `npm run lab -- keystrokes [flags]

  Opens windows in real Chromium, types in one and measures the transmission time to each window, in several sessions: each
  has a server process, browsers and windows of its own. Intervals tell how far sessions differ.

  --modes LIST      modes to compare                 sse/2,sse/1.1,websocket/1.1
  --editor LIST     shared, mirror, or both          shared
  --growing         also measures documents of 200, 10,000 and 100,000 characters, in the baseline's mode
  --windows N       windows open at a time           5
  --sessions N      at least 2 for intervals         5
  --until decided   goes on in sessions until every interval is narrow enough to settle what matters
  --matters AMOUNT  difference that matters: 1ms, or 5% of what a mode is compared with
                                                     5%
  --limit MINUTES   ends --until, decided or not     60
  --keys N          keys of each mode in a session   200
  --blocks N        turns of each mode in a session  4
  --warmup N        uncounted keys before each turn  10
  --interval MS     time between two keys            50
  --baseline MODE   mode to compare the others with  websocket/1.1, else the first mode
  --peers bare      also measures a page without a framework
  --server URL      a running server                 one started for the run
  --remote URL      a WebDriver on another machine that opens a share of the windows; repeatable
  --profile NAME    a simulated network between windows and server: ${Object.keys(profiles).join(', ')}
  --sensor NAME     none, or simulated: wind during the typing
  --seed N          repeats the order of the modes   drawn, and printed
  --out DIR         folder of the report             reports/<date>-keystrokes
  --headed          shows the windows
`

/** Throws one sentence with the flag, its value and the allowed ones, as do the other readers. */
export function readKeystrokeOptions(argv: readonly string[]) {
  const options = readFlags(keystrokes, argv, {
    remote: { type: 'string', multiple: true },
    headed: { type: 'boolean' },
    growing: { type: 'boolean' },
  })
  const { peers, windows, remote } = options
  const modes = requireModes(options.modes)
  if (options.editor.length === 0) throw new Error('--editor names no editor.')
  const editors = options.editor.map((name) => requireKnown('--editor', name, editorNames))
  for (const peer of peers) requireKnown('--peers', peer, ['bare'])
  // A browser's connection limit makes any further window hang without an error.
  const perBrowser = Math.ceil(windows / (remote.length + 1))
  const crowded = modes.find((mode) => perBrowser > (mode.windowsPerBrowser ?? perBrowser))
  if (crowded)
    throw new Error(
      `--windows is ${windows}: ${crowded.name} carries ${crowded.windowsPerBrowser} windows of one browser; leave that mode out, or add a --remote.`,
    )
  const usual = options.modes.find((mode) => mode === 'websocket/1.1') ?? options.modes[0]
  const { baseline = usual ?? '' } = options
  const matters = {
    amount: Number.parseFloat(options.matters),
    unit: options.matters.endsWith('%') ? '%' : 'ms',
  } as const
  if (options.modes.includes(baseline)) return { ...options, editors, baseline, matters }
  throw new Error(`--baseline is "${baseline}", which is not among the modes ${options.modes.join(', ')}.`)
}

function requireModes(names: readonly string[]): readonly Mode[] {
  if (names.length === 0) throw new Error('--modes names no mode.')
  return names.map(requireMode)
}

function requireKnown<Name extends string>(flag: string, name: string, known: readonly Name[]): Name {
  const found = known.find((one) => one === name)
  if (found !== undefined) return found
  throw new Error(`${flag} names "${name}"; there ${known.length > 1 ? 'are' : 'is'} ${known.join(', ')}.`)
}

const resilience = z.strictObject({
  modes: z
    .string()
    .default('all')
    .transform((list) => (list.trim() === 'all' ? allModes.map(({ name }) => name) : wordsOnce.parse(list))),
  windows: whole(1, 500).default(50),
  seconds: whole(4, 3600).default(60),
  rate: whole(1, 50).default(3),
  browsers: whole(0, 8).default(2),
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
  --seed N       repeats the plan of the faults                               drawn, and printed
  --fallback     lets windows fall back to other modes
  --out DIR      folder of the report                                          reports/<date>-resilience
`

export function readResilienceOptions(argv: readonly string[]): ResilienceOptions {
  const options = readFlags(resilience, argv, { fallback: { type: 'boolean' } })
  const { modes, windows } = options
  requireModes(modes)
  if (windows < modes.length)
    throw new Error(`--windows is ${windows}: ${modes.length} modes need one each at least.`)
  return options
}

const windcomm = z.strictObject({
  sites: wordsOnce.default(['edmonton', 'lund', 'caracas', 'nagaoka']),
  modes: wordsOnce.default([...methods.map((method) => modeOf[method]), ...modesBeside]),
  readings: whole(2, 100_000).default(1200),
  rate: z.coerce.number().min(0.25).max(100).default(4),
  hold: whole(0, 25_000).default(300),
  interval: whole(10, 60_000).default(150),
  faster: z.coerce.number().min(1).max(100).default(1),
  'browsers-at': z.string().min(1).optional(),
  seed,
  from: z.string().min(1).optional(),
  out,
})

export type WindcommOptions = ReturnType<typeof readWindcommOptions>

export const windcommHelp = `npm run lab -- windcomm [flags]

  Repeats the experiment of the 2012 WindComm paper: measures the transmission time of wind readings to windows behind
  simulated long-distance networks, over the paper's three transports and three later ones, all at the same time.
  Exits with status 1 if a reading was lost, repeated or reordered.

  --sites LIST      networks: ${Object.keys(profiles).join(', ')}
                                                         edmonton,lund,caracas,nagaoka
  --modes LIST      modes, ${baseline} among them    the paper's three, sse/2, streaming/2, websocket/2
  --readings N      readings measured in each window     1200
  --rate HZ         readings a second                    4
  --hold MS         longest time a long poll is held     300
  --interval MS     pause between polls                  150
  --browsers-at S   the site whose windows are real Chromium windows; none for no browser
                                                         the first site
  --faster N        speeds up rate, hold, interval and delays by this factor
                                                         1
  --seed N          repeats the networks' queues and stalls
                                                         drawn, and printed
  --out DIR         folder of the report                  reports/<date>-windcomm
  --from DIR        measures nothing: writes another report from the samples in that report's folder;
                    allows --out only
`

/** Rate and pauses are those after `faster` is applied; `browsersAt` is null for no browser. */
export function readWindcommOptions(argv: readonly string[]) {
  const { sites: names, 'browsers-at': wished, ...given } = readFlags(windcomm, argv)
  const { modes, readings, rate, hold, interval, faster, seed, out } = given
  const sites = names.map((name) => requireKnown('--sites', name, profileNames))
  const [first] = sites
  if (!first) throw new Error('--sites names no site.')
  requireModes(modes)
  if (!modes.includes(baseline))
    throw new Error(`--modes has to name ${baseline} too: all others are set against it.`)
  const pace = { rateHz: rate * faster, holdMs: hold / faster, intervalMs: interval / faster }
  const wrong = (flag: string, product: string, limit: string) =>
    new Error(`${flag} and --faster ${faster} make ${product}; ${limit}.`)
  if (pace.rateHz > 100) throw wrong(`--rate ${rate}`, `${pace.rateHz} Hz`, 'the sensor has 100 at most')
  if (!Number.isInteger(pace.holdMs))
    throw wrong(`--hold ${hold}`, `${pace.holdMs} ms`, 'the server takes whole ones')
  if (!Number.isInteger(pace.intervalMs) || pace.intervalMs < 10)
    throw wrong(`--interval ${interval}`, `${pace.intervalMs} ms`, 'the server takes whole ones from 10 on')
  const browsersAt = wished === 'none' ? null : requireKnown('--browsers-at', wished ?? first, profileNames)
  if (browsersAt !== null && !sites.includes(browsersAt))
    throw new Error(`--browsers-at is "${browsersAt}", which is not among the sites ${sites.join(', ')}.`)
  return { sites, modes, readings, faster, seed, out, ...pace, browsersAt }
}

const profileNames = Object.keys(profiles) as ProfileName[]

export type Reanalysis = NonNullable<ReturnType<typeof readReanalysis>>

/** A measured run to analyse again; null without --from. */
export function readReanalysis(argv: readonly string[]) {
  const { from, out } = readFlags(windcomm, argv)
  if (from === undefined) return null
  const others = argv.filter((word) => /^--(?!from\b|out\b)/.test(word))
  if (others.length === 0) return { from, out }
  throw new Error(
    `--from works a finished run out again as it was measured; ${others.join(', ')} cannot change that.`,
  )
}
