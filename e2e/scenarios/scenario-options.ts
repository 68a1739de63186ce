// The flags of each scenario, checked before anything starts.

import { z } from 'zod'
import { editorNames } from '../../server/wire/messages.ts'
import { type Mode, shareNames } from '../../server/wire/modes.ts'
import { readFlags, seed, whole, words, wordsOnce } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { answeringPeers } from '../load/ramp-clients.ts'
import { type ProfileName, profiles } from '../network/profiles.ts'
import { imitatedModes, peerWords, readPeers } from '../peers/peers.ts'
import { brokerNames } from './pubsub-analysis.ts'
import { baseline, methods, modeOf, modesBeside } from './windcomm-paper.ts'

const out = z.string().min(1).optional()

const profileName = z.enum(
  Object.keys(profiles) as ProfileName[],
  `there are ${Object.keys(profiles).join(', ')}`,
)

const hostName = z
  .string()
  .regex(/^[\w.:-]+$/, 'must be a name or address of this machine, lab.local or 192.168.1.5')

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
    peers: wordsOnce.default([]),
    server: z.url({ protocol: /^https$/, error: 'must be an https address, https://host:8443' }).optional(),
    remote: z
      .array(z.url({ protocol: /^https?$/, error: 'must be a WebDriver address, http://laptop:4444' }))
      .default([]),
    join: whole(0, 50).default(0),
    host: hostName.optional(),
    listen: hostName.optional(),
    port: whole(1, 65_000).optional(),
    'tls-cert-file': z.string().min(1).optional(),
    'tls-key-file': z.string().min(1).optional(),
    sensor: z.enum(['none', 'simulated']).default('none'),
    profile: profileName.optional(),
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
    ({ profile, server, remote, join, host }) =>
      profile === undefined ||
      (server === undefined && remote.length === 0 && join === 0 && host === undefined),
    'a profile is simulated on this machine: leave out --server, --remote, --join and --host, or --profile',
  )
  .refine(
    ({ join, host, server }) => server === undefined || (join === 0 && host === undefined),
    'the lab starts the server that devices join: leave out --server, or --join and --host',
  )
  .refine(
    ({ peers, remote, join, host }) =>
      peers.length === 0 || (remote.length === 0 && join === 0 && host === undefined),
    'peers run on this machine: leave out --peers, or --remote, --join and --host',
  )
  .refine(
    (given) => (given['tls-cert-file'] === undefined) === (given['tls-key-file'] === undefined),
    '--tls-cert-file and --tls-key-file belong together',
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
  --peers LIST      also measures the same editor over other systems, in turns with the modes:
                    ${peerWords}
  --server URL      a running server                 one started for the run
  --remote URL      a WebDriver on another machine that opens a share of the windows; repeatable
  --join N          waits for N other devices, which open the link that it prints: each is a further window
  --host NAME       name or address by which other machines reach this one
                                                     its first address
  --listen ADDRESS  address to listen on             the host
  --port N          first of three ports for other machines, of five with two editors
                                                     free ones
  --tls-cert-file FILE --tls-key-file FILE
                    a certificate of your own        the one of npm start
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
  const { windows, remote, profile } = options
  const modes = requireModes(options.modes)
  const peers = readPeers(options.peers)
  const distant = peers.find(({ address }) => address !== undefined)
  if (profile && distant)
    throw new Error(
      `--profile is simulated for what runs on this machine: leave it out, or ${distant.name} of --peers.`,
    )
  if (options.editor.length === 0) throw new Error('--editor names no editor.')
  const editors = options.editor.map((name) => requireKnown('--editor', name, editorNames))
  const imitated = peers.flatMap((peer) => imitatedModes(peer, options.modes)).map(requireMode)
  requireRoom([...modes, ...imitated], windows, Math.ceil(windows / (remote.length + 1)))
  const usual = options.modes.find((mode) => mode === 'websocket/1.1') ?? options.modes[0]
  const { baseline = usual ?? '' } = options
  const matters = {
    amount: Number.parseFloat(options.matters),
    unit: options.matters.endsWith('%') ? '%' : 'ms',
  } as const
  if (options.modes.includes(baseline)) return { ...options, editors, peers, baseline, matters }
  throw new Error(`--baseline is "${baseline}", which is not among the modes ${options.modes.join(', ')}.`)
}

/** A browser's connection limit makes any further window hang without an error. */
function requireRoom(modes: readonly Mode[], windows: number, perBrowser: number): void {
  const crowded = modes.find((mode) => perBrowser > (mode.windowsPerBrowser ?? perBrowser))
  if (crowded)
    throw new Error(
      `--windows is ${windows}: ${crowded.name} carries ${crowded.windowsPerBrowser} windows of one browser; leave that mode out, or ask for fewer.`,
    )
}

export function requireModes(names: readonly string[]): readonly Mode[] {
  if (names.length === 0) throw new Error('--modes names no mode.')
  return names.map(requireMode)
}

function requireKnown<Name extends string>(flag: string, name: string, known: readonly Name[]): Name {
  const found = known.find((one) => one === name)
  if (found !== undefined) return found
  throw new Error(`${flag} names "${name}"; there ${known.length > 1 ? 'are' : 'is'} ${known.join(', ')}.`)
}

/** Comma-separated whole numbers, each once, ascending. */
const numbers = (initial: string, least: number, most: number) =>
  wordsOnce
    .refine(
      (list) => list.length > 0 && list.every((word) => whole(least, most).safeParse(word).success),
      `must be whole numbers from ${least} to ${most}`,
    )
    .transform((list) => list.map(Number).sort((one, other) => one - other))
    .prefault(initial)

const windows = z
  .strictObject({
    counts: numbers('1,2,4,6,8,16,32', 1, 200),
    browsers: numbers('1', 1, 16),
    modes: wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']),
    share: wordsOnce.default(['none']),
    peers: wordsOnce.default(['bare']),
    sessions: whole(1, 1000).default(3),
    keys: whole(1, 10_000).default(10),
    interval: whole(0, 10_000).default(200),
    warmup: whole(0, 200).default(5),
    patience: whole(1, 600).default(10),
    wait: whole(1, 600).default(3),
    profile: profileName.optional(),
    seed,
    out,
    headed: z.boolean().default(false),
  })
  .refine(
    ({ counts, browsers }) => browsers.every((number) => counts.some((count) => count >= number)),
    'each of --browsers needs a window at least: name a larger one of --counts',
  )

export type WindowsOptions = ReturnType<typeof readWindowsOptions>

export const windowsHelp = `npm run lab -- windows [flags]

  Opens more and more windows, types in the first and measures the transmission time to each, and what is lost: how many
  windows each mode carries in one browser and in several. Each session has server processes of its own, each number of
  windows and mode browsers of its own.

  --counts LIST     windows in all, dealt out to the browsers  1,2,4,6,8,16,32
  --browsers LIST   separate Chromium processes, each with a profile of its own
                                                     1
  --modes LIST      modes to compare                 sse/2,sse/1.1,websocket/1.1
  --share LIST      the server's setting share: ${shareNames.join(', ')}
                                                     none
  --peers NAME      bare: the same modes on a page of a few lines, without Crosswind's limit of five held connections;
                    or none                          bare
  --sessions N      at least 2 for intervals         3
  --keys N          keys of each mode and number of windows in a session
                                                     10
  --interval MS     time between two keys            200
  --warmup N        uncounted keys before them       5
  --patience S      for a window to open; after one that did not, all others together have as long
                                                     10
  --wait S          a key that has not arrived by then is lost
                                                     3
  --profile NAME    a simulated network between windows and server: ${Object.keys(profiles).join(', ')}
  --seed N          repeats the order of the modes   drawn, and printed
  --out DIR         folder of the report             reports/<date>-windows
  --headed          shows the windows
`

/** `baseline` is null where WebSocket is not measured. */
export function readWindowsOptions(argv: readonly string[]) {
  const options = readFlags(windows, argv, { headed: { type: 'boolean' } })
  requireModes(options.modes)
  if (options.share.length === 0) throw new Error('--share names no setting.')
  const share = options.share.map((name) => requireKnown('--share', name, shareNames))
  const peers = options.peers
    .map((peer) => requireKnown('--peers', peer, ['bare', 'none'] as const))
    .filter((name) => name !== 'none')
  return { ...options, share, peers, baseline: baselineOf(options) }
}

/** WebSocket, with the first setting where there are several. */
function baselineOf({
  modes,
  share,
}: {
  readonly modes: readonly string[]
  readonly share: readonly string[]
}) {
  const usual = modes.find((mode) => mode === 'websocket/1.1')
  return usual === undefined ? null : share.length === 1 ? usual : `${usual} share=${share[0]}`
}

const payload = z.strictObject({
  sizes: numbers('10,100,1000,10000,100000,1000000', 1, 2_000_000),
  modes: wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']),
  windows: whole(1, 50).default(3),
  sessions: whole(1, 1000).default(3),
  messages: whole(1, 10_000).default(20),
  warmup: whole(0, 200).default(3),
  interval: whole(1, 10_000).default(50),
  wait: whole(1, 600).default(10),
  profile: profileName.optional(),
  seed,
  out,
  headed: z.boolean().default(false),
})

export type PayloadOptions = ReturnType<typeof readPayloadOptions>

export const payloadHelp = `npm run lab -- payload [flags]

  Sends messages of growing size from one window to all, one at a time, and measures the transmission time of each to
  each window, in several sessions.

  --sizes LIST      bytes of a message's text, up to 2000000
                                                     10,100,1000,10000,100000,1000000
  --modes LIST      modes to compare                 sse/2,sse/1.1,websocket/1.1
  --windows N       windows open at a time           3
  --sessions N      at least 2 for intervals         3
  --messages N      of each size and mode in a session
                                                     20
  --warmup N        uncounted messages before them   3
  --interval MS     least time between two messages  50
  --wait S          a message that has not arrived by then is lost
                                                     10
  --profile NAME    a simulated network between windows and server: ${Object.keys(profiles).join(', ')}
  --seed N          repeats the order of modes and sizes
                                                     drawn, and printed
  --out DIR         folder of the report             reports/<date>-payload
  --headed          shows the windows
`

/** `baseline`: WebSocket, or else the first mode. */
export function readPayloadOptions(argv: readonly string[]) {
  const options = readFlags(payload, argv, { headed: { type: 'boolean' } })
  requireRoom(requireModes(options.modes), options.windows, options.windows)
  return { ...options, baseline: baselineOf({ ...options, share: ['none'] }) ?? options.modes[0] ?? '' }
}

const pubsub = z
  .strictObject({
    users: numbers('50,100,500,1000,5000,10000', 1, 20_000),
    brokers: wordsOnce
      .pipe(z.array(z.enum(brokerNames, `there are ${brokerNames.join(', ')}`)).min(1, 'names no broker'))
      .default(['none', 'embedded', 'nats', 'sqs']),
    modes: wordsOnce.default(['websocket/1.1', 'sse/2']),
    iterations: whole(1, 1000).default(30),
    sessions: whole(1, 100).default(5),
    warmup: whole(0, 100_000).default(3000),
    processes: whole(1, 64).default(2),
    wait: whole(1, 600).default(60),
    out,
  })
  .refine(
    ({ iterations, sessions }) => iterations >= sessions,
    'iterations must be at least as many as sessions',
  )

export type PubsubOptions = ReturnType<typeof readPubsubOptions>

export const pubsubHelp = `npm run lab -- pubsub [flags]

  Repeats the experiment of the 2015 publish/subscribe paper: each user sends one message at the same time and waits for it
  to come back, through each broker in turn. Compares loss, response latency and bandwidth with a bare relay's.
  Exits with status 1 if a message was lost with a broker.

  --users LIST      users at the same time, up to 20000     50,100,500,1000,5000,10000
  --brokers LIST    none: a bare relay; embedded, nats, sqs; bare-file, bare-nats: the bare relay, storing in a file or
                    on NATS, as a floor of the former. NATS and SQS need the programs that docs/cluster.md names
                                                            none,embedded,nats,sqs
  --modes LIST      modes of the users                      websocket/1.1,sse/2
  --iterations N    bursts of each                          30
  --sessions N      fresh servers and users, among which the iterations are divided
                                                            5
  --warmup N        uncounted messages of each at least, in whole bursts
                                                            3000
  --processes N     client processes for each broker        2
  --wait S          time after which a message is lost      60
  --out DIR         folder of the report                    reports/<date>-pubsub
`

const publishing = ['sse', 'websocket', 'streaming']

export function readPubsubOptions(argv: readonly string[]) {
  const options = readFlags(pubsub, argv)
  for (const { name, transport } of requireModes(options.modes))
    if (!publishing.includes(transport))
      throw new Error(`--modes names ${name}: a user of pubsub waits for a message, and does not poll.`)
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

export const experimentNames = [
  'clients',
  'comparison',
  'switching',
  'workers',
  'period',
  'connections',
  'size',
  'most',
] as const

export type ExperimentName = (typeof experimentNames)[number]

const capacity = z.strictObject({
  experiments: wordsOnce.default([...experimentNames]),
  modes: wordsOnce.default(['websocket/1.1', 'sse/2']),
  peers: wordsOnce.default([...answeringPeers]),
  workers: numbers('1,2,3', 1, 64),
  clients: whole(1, 64).default(2),
  rate: whole(1, 5000).default(40),
  seconds: whole(2, 3600).default(20),
  hold: whole(1, 3600).default(8),
  period: z.coerce.number().min(0.1).max(600).default(2.5),
  file: numbers('1000,500000', 1, 1_000_000),
  'per-browser': numbers('1,10', 1, 1000),
  'per-page': whole(1, 100_000).default(100),
  connections: whole(0, 1_000_000).default(25_000),
  windows: whole(0, 1_000_000).default(100_000),
  'most-rate': whole(1, 5000).default(250),
  'most-hold': whole(1, 3600).default(30),
  sessions: whole(1, 100).default(2),
  seed,
  out,
})

export type CapacityOptions = ReturnType<typeof readCapacityOptions>

export const capacityHelp = `npm run lab -- capacity [flags]

  Repeats the experiments of the 2014 SocketCluster thesis: windows open at a steady rate, each pings at a random period of
  its own, and the server answers. Records processor time and memory of every process each second. Each ramp has a server
  and load processes of its own; modes and peers take turns in an order that changes. Needs Linux. Exits with status 1 if a
  window of the experiment most failed or was dropped, or a ping of it was not answered.

  --experiments LIST  ${experimentNames.join(', ')}
                                                     all
  --modes LIST        modes of Crosswind; the first is also that of the other experiments
                                                     websocket/1.1,sse/2
  --peers LIST        ${answeringPeers.join(', ')}; or nothing ("")
                                                     all
  --workers LIST      workers to compare, with four times the windows
                                                     1,2,3
  --clients N         load processes                 2
  --rate N            windows that open each second  40
  --seconds N         duration of a ramp             20
  --hold N            seconds after it, with all windows open
                                                     8
  --period S          mean time between two pings of a window; period, connections and size take 1.6 and 1.2 times it
                                                     2.5
  --file LIST         bytes of an answer, in the experiment size
                                                     1000,500000
  --per-browser LIST  windows that share an HTTP/2 session, in the experiment comparison
                                                     1,10
  --per-page N        windows that share a page      100
  --connections N     of the experiment most, over the first mode whose windows share no connection; 0 for none
                                                     25000
  --windows N         of the experiment most, over the first mode of HTTP/2, ten to a session; 0 for none
                                                     100000
  --most-rate N       windows that open each second in the experiment most; of HTTP/2 four times as many
                                                     250
  --most-hold N       seconds after it               30
  --sessions N        turns of the ramps of comparison and workers; the others come twice at most, those of most once
                                                     2
  --seed N            repeats the periods, and the order
                                                     drawn, and printed
  --out DIR           folder of the report           reports/<date>-capacity
`

export function readCapacityOptions(argv: readonly string[]) {
  const options = readFlags(capacity, argv)
  requireModes(options.modes)
  if (options.experiments.length === 0) throw new Error('--experiments names no experiment.')
  const experiments = options.experiments.map((name) => requireKnown('--experiments', name, experimentNames))
  const peers = options.peers.map((name) => requireKnown('--peers', name, answeringPeers))
  return { ...options, experiments, peers }
}
