// The 200 keystrokes of the 2021 paper (4.2), in sessions: one window types, all receive.

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { mean } from '../../client/statistics.ts'
import { createSeededRandom, shuffled, type WindowMode } from '../../client/wire.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import {
  fillPages,
  readFailure,
  showPages,
  stampsOf,
  textBetween,
  typeKeys,
  warmUp,
} from '../browser/typing.ts'
import type { Plan } from '../lab/estimate.ts'
import { flag, headed, names, seed, whole, words, wordsOnce } from '../lab/flags.ts'
import { frontName } from '../lab/front.ts'
import { Machines, machineFlags, refuseMachines, withoutHost } from '../lab/machines.ts'
import {
  type EditorName,
  editorNames,
  peerOf,
  requireRoom,
  requireWindowModes,
  usualBaseline,
  variantOf,
  withoutVariant,
} from '../lab/mode-names.ts'
import { describeNetworks, describePlace } from '../lab/network-report.ts'
import { Participants } from '../lab/participants.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { RunPeers } from '../lab/run-peers.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { atOthers, formatOutcome, type Sample, summariseSamples, transmissionMs } from '../lab/samples.ts'
import { joinServer } from '../lab/server-process.ts'
import { turnOf } from '../lab/standings.ts'
import { type Analysis, analyseStudy, type Cost, isDecided, sessionsNeeded } from '../lab/study.ts'
import { defineStudy } from '../lab/study-experiment.ts'
import { profilesFlag, type ReachedServer, recordingAddress, type System, Testbed } from '../lab/testbed.ts'
import { timeTurn } from '../lab/turns.ts'
import { countModes, formatCounting } from '../lab/wire-bytes.ts'
import { readProfile } from '../network/profiles.ts'
import {
  bareModes,
  imitatedModes,
  isBare,
  nameOfPeer,
  peerLabel,
  peerWords,
  readPeers,
} from '../peers/peers.ts'
import { several } from '../report/section.ts'
import { formatFaults } from '../report/study-finding.ts'
import { formatHttp3 } from './keystrokes-http3.ts'
import { meaningOf } from './keystrokes-meaning.ts'
import { networksVerdict } from './keystrokes-networks.ts'
import { formatEnded } from './keystrokes-peers.ts'
import {
  design,
  detailsOf,
  type GrownRow,
  growing,
  keyRow,
  type Run,
  sectionsOf,
} from './keystrokes-report.ts'

const refuse = (isWrong: boolean, sentence: string) => {
  if (isWrong) throw new Error(`${sentence}.`)
}

/** Refuses options that cannot be measured with a front, and modes that need one. */
function refuseFront(
  given: {
    readonly front: boolean
    readonly server?: string | undefined
    readonly remote: readonly string[]
    readonly join: number
    readonly host?: string | undefined
    readonly peers: readonly string[]
  },
  modes: readonly WindowMode[],
): void {
  const { front, server, remote, join, host, peers } = given
  const overUdp = modes.find(({ isOverUdp }) => isOverUdp)
  refuse(!front && overUdp !== undefined, `${overUdp?.name} needs a front: add --front`)
  const isElsewhere = server !== undefined || remote.length + join > 0 || host !== undefined
  refuse(
    front && (isElsewhere || peers.length > 0),
    'the front is before Crosswind’s own server on this machine: leave out --server, --remote, --join, --host and --peers, or --front',
  )
  const joining = modes.find(({ joinsConnection }) => joinsConnection)
  refuse(
    front && joining !== undefined,
    `a browser does not tell whether a front carries ${joining?.name}, or HTTP/1.1 in its place: leave that mode out, or --front`,
  )
}

const quickFlags = '--until decided --limit 1 --sessions 3 --keys 30 --blocks 1 --warmup 5 --windows 3'

/** `--quick` has fewer. */
const usual = { sessions: 5, keys: 200, blocks: 4, warmup: 10, windows: 5 } as const

export const keystrokes = defineStudy({
  name: 'keystrokes',
  about: `Opens windows in real Chromium, types in one and measures the transmission time to each window, in several sessions: each\n    has its own server process, browsers and windows. Intervals show how far sessions differ.`,
  quick: quickFlags,
  flags: {
    quick: flag(
      z.boolean().default(false),
      '',
      `a first look of about one minute, which says what it cannot decide; short for ${quickFlags}`,
    ),
    modes: flag(words.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
    editor: flag(names(editorNames).default(['shared']), 'LIST', 'shared, mirror, or both'),
    growing: flag(
      z.boolean().default(false),
      '',
      'also measures documents of 200, 10,000 and 100,000 characters, in the baseline’s mode',
    ),
    sessions: flag(whole(1, 1000).default(usual.sessions), 'N', 'sessions; intervals need at least 2'),
    until: flag(
      z.enum(['decided'], 'must be decided').optional(),
      'decided',
      'measures more sessions until every difference that matters is decided',
    ),
    matters: flag(
      z
        .string()
        .regex(/^\d+(\.\d+)?(ms|%)$/, 'must be like 1ms or 5%')
        .default('5%'),
      'AMOUNT',
      'smallest difference that matters to --until: 1ms, or 5% of the mean compared with',
    ),
    limit: flag(whole(1, 10_000).default(60), 'MINUTES', 'longest run with --until'),
    keys: flag(whole(1, 10_000).default(usual.keys), 'N', 'keys per mode and session'),
    blocks: flag(whole(1, 100).default(usual.blocks), 'N', 'turns per mode and session'),
    warmup: flag(whole(0, 200).default(usual.warmup), 'N', 'uncounted keys before each turn'),
    interval: flag(whole(0, 10_000).default(50), 'MS', 'time between two keys'),
    baseline: flag(
      z.string().optional(),
      'MODE',
      'mode to compare the others with',
      'websocket/1.1, else the first mode',
    ),
    peers: flag(
      wordsOnce.default([]),
      'LIST',
      `also measures the same editor over other systems, taking turns with the modes: ${peerWords}`,
    ),
    windows: flag(whole(1, 50).default(usual.windows), 'N', 'simultaneously open windows'),
    ...machineFlags({
      remote: 'a share of the windows',
      join: 'each is an additional window',
      ports: 'of five with two editors',
    }),
    profile: profilesFlag,
    front: flag(
      z.boolean().default(false),
      '',
      'reaches Crosswind’s modes through Caddy, which also has HTTP/3; with --profile it needs Linux and root, since IP packets are carried',
    ),
    sensor: flag(
      z.enum(['none', 'simulated']).default('none'),
      'NAME',
      'none, or simulated: wind during the typing',
    ),
    seed,
    headed,
  },

  options(given) {
    const { windows, remote, profile, server, join, host, until } = given
    const modes = requireWindowModes(given.modes)
    const peers = readPeers(given.peers)
    const isElsewhere = remote.length > 0 || join > 0 || host !== undefined
    refuse(given.keys < given.blocks, 'keys must be at least as many as blocks')
    refuse(
      until !== undefined && given.sessions < 3,
      'with --until or --quick, --sessions is a minimum of at least 3: two sessions may be alike by chance',
    )
    refuse(given.editor.length === 0, '--editor names no editor')
    refuse(
      given.editor.includes('mirror') &&
        (isElsewhere || server !== undefined || given.front || given.sensor !== 'none'),
      'the mirror editor is an application of its own, on this machine and without wind: leave it out of --editor, or leave out --server, --remote, --join, --host, --front and --sensor',
    )
    refuse(
      profile.length > 0 && (isElsewhere || server !== undefined),
      'a profile is simulated on this machine: leave out --server, --remote, --join and --host, or --profile',
    )
    refuseMachines(given)
    refuseFront(given, modes)
    refuse(
      peers.length > 0 && isElsewhere,
      'peers run on this machine: leave out --peers, or --remote, --join and --host',
    )
    const near = peers.find(({ address }) => address === undefined)
    refuse(
      near !== undefined && server !== undefined && !isLoopback(new URL(server).hostname),
      `${near?.name} of --peers would run on this machine, and the server at ${server} does not: name one that runs there, ${near?.name}=https://host:port, or leave out --server or --peers`,
    )
    const distant = peers.find(({ address }) => address !== undefined)
    refuse(
      profile.length > 0 && distant !== undefined,
      `--profile simulates a network for what runs on this machine: leave it out, or ${distant?.name} of --peers`,
    )
    refuse(
      profile.length > 1 && (peers.length > 0 || given.editor.length > 1 || given.growing),
      'several networks are compared with each other alone: leave out --peers, --growing and a second --editor, or name one --profile',
    )
    requireRoom(modes, windows, Math.ceil(windows / (remote.length + 1)))
    const { baseline = usualBaseline(given.modes) ?? given.modes[0] ?? '' } = given
    refuse(
      !given.modes.includes(baseline),
      `--baseline is "${baseline}", which is not among the modes ${given.modes.join(', ')}`,
    )
    const matters = {
      amount: Number.parseFloat(given.matters),
      isPercent: given.matters.endsWith('%'),
    }
    return { ...given, editors: given.editor, peers, baseline, matters }
  },

  plan(options): Plan {
    const limitMs = options.until && options.limit * 60_000
    return { sessionMs: sessionMs(options), thenMs: growingMs(options), limitMs }
  },

  networks: ({ profile }) => profile,

  carriesPackets: ({ front }) => front,

  design: {
    ...design,
    remarks: (found) => {
      const { overNetworks } = found.details
      // Over several networks it is part of the finding.
      const http3 = overNetworks.length === 0 ? formatHttp3(found) : []
      return [...http3, ...meaningOf(found, overNetworks)]
    },
  },

  own: (run: Run, found: Analysis) => ({ details: detailsOf(run, found) }),

  finding: (run, found, usual) => {
    const { overNetworks } = found.details
    const over = [
      ...formatFaults(design, found),
      ...formatHttp3(found),
      networksVerdict(overNetworks, found.comparisons).verdict,
    ]
    return `${formatEnded(run.endedPeers ?? [])}${overNetworks.length > 0 ? over.join(' ') : usual}`
  },

  sections: sectionsOf,

  wireWords: ({ parameters: { interval } }) =>
    formatCounting(`keys in an empty document, ${interval} ms apart`),

  method: ({ environment: { server }, clock }) => [
    `${server.startsWith('https:') ? 'The server kept running. ' : ''}${clock === 'one machine' ? 'All windows and the server used one machine’s clock.' : 'Each window’s clock was compared with the server’s.'}`,
  ],

  isFailure: ({ endedPeers = [] }) => endedPeers.length > 0,

  facts: ['clock', 'peers', 'endedPeers', 'windows'],

  rows: { growing: 'growing.csv.gz' },

  async measure(options, lab): Promise<Run> {
    const { modes, sessions, until, matters } = options
    const variants = variantsOf(options)
    const front = options.front ? await frontName() : null
    const peers = new RunPeers(options.peers, lab)
    await using opened = new AsyncDisposableStack()
    const machines = await Machines.gather(options, lab, opened)
    const participants = new Participants(options.windows, machines)
    lab.progress.say(formatPlan(options, machines))
    const own = modes.flatMap((mode) => variants.map((variant) => nameWith(mode, variant)))
    const baseline = nameWith(
      options.baseline,
      variants.find((variant) => variant === 'mirror'),
    )
    lab.progress.compare({
      caption: 'Transmission time in milliseconds',
      subjects: own,
      baselineOf: (name) =>
        options.profile.length > 1 ? nameWith(withoutVariant(name), options.profile[0]) : baseline,
    })
    const { mergeMs } =
      options.server === undefined ? { mergeMs: ownMergeMs } : await joinServer(options.server)
    const random = createSeededRandom(options.seed)
    let outcome: Run['until'] = 'limit'
    const goesOn = (done: readonly Session[]) => {
      if (until === undefined) return false
      const found = analyseStudy(design, { ...runOf(done), matters })
      if (isDecided(found)) outcome = 'decided'
      if (outcome === 'decided') lab.progress.say('Every interval is narrow enough.')
      else if (!options.quick)
        lab.progress.say(
          `About ${sessionsNeeded(found.comparisons, done.length)} sessions would decide every comparison.`,
        )
      // Another session would end beyond the limit.
      return outcome !== 'decided' && lab.elapsedMs * (1 + 1 / done.length) <= options.limit * 60_000
    }
    const found = await lab.sessions(
      sessions,
      async (session, opened) => {
        const rig = await openRig(options, machines, opened, session, peers)
        const systems = shuffled(rig.systems, random)
        return measureSession(options, { ...rig, systems }, session, { machines, participants }, lab)
      },
      goesOn,
    )
    const grown: GrownRow[] = []
    if (options.growing && !lab.isStopped)
      await lab.sessions(1, async (_, opened) => {
        const alone = { ...options, peers: [] }
        const { systems, browsers } = await openRig(alone, machines, opened, 1, new RunPeers([], lab))
        const both = systems.filter(({ mode }) => mode.name === options.baseline)
        const windows = await participants.open(browsers)
        grown.push(...(await measureGrowing(both, windows, { machines, participants }, options.warmup, lab)))
        for (const window of windows) await window.close()
      })
    await machines.end()
    return {
      ...runOf(found),
      ...(until && { until: outcome, matters }),
      ...(options.quick && { quick: { fullMs: wholeMs({ ...options, ...usual }) } }),
      ...(grown.length > 0 && { growing: grown }),
    }

    function runOf(found: readonly Session[]): Run {
      const samples = found.flatMap((one) => one.samples.map(keyRow))
      const bytes = found[0]?.bytes ?? []
      const measured = new Set(samples.map(({ mode }) => mode))
      const names = [...own, ...peers.systems.filter((name) => measured.has(name))]
      const { command, ...circumstances } = lab.circumstances({
        browser: found[0]?.version ?? '',
        server:
          options.server ??
          (machines.reach
            ? 'a process of its own on this machine, over its network address'
            : `${describePlace(options.profile)}${front ? `, through ${front}` : ''}`),
        parameters: { ...parametersOf(options, machines), mergeMs, ...(front && { front }) },
      })
      return {
        ...circumstances,
        command: withoutHost(command),
        ...describeNetworks(
          options.profile,
          found.map(({ networkUses }) => networkUses),
        ),
        ...(options.peers.length > 0 && {
          peers: peers.facts,
          endedPeers: peers.ended,
          uncompared: names.filter((name) => peers.ended.some((peer) => peer.name === peerOf(name))),
        }),
        ...(countsBytes(options) && {
          wire: names.flatMap((name) => bytes.filter(({ mode }) => mode === name)),
        }),
        levels: { mode: names },
        baseline,
        samples,
        costs: found.flatMap(({ uses }) => uses),
        clock: machines.method,
        boundMs: Math.max(...found.map(({ boundMs }) => boundMs)),
        ...(machines.method === 'server exchange' && { windows: participants.windows }),
      }
    }
  },
})

type Options = ReturnType<typeof keystrokes.options>

function formatPlan(options: Options, { devices }: Machines) {
  const { modes, editors, peers, sessions, until, keys, windows, seed } = options
  const beside = peers.map((peer) => peerLabel(nameOfPeer(peer))).join(', ')
  const what = [
    `${several(modes.length, 'mode')} (${modes.join(', ')})`,
    editors.length > 1 && `with the editors ${editors.join(' and ')}`,
    beside && `beside ${beside}`,
  ]
  const joined = devices.length > 0 ? ` and ${devices.length} joined` : ''
  return `${what.filter(Boolean).join(' ')}: ${until ? 'at least ' : ''}${several(sessions, 'session')}, ${several(keys, 'key')} for each mode in a session, ${several(windows, 'window')}${joined}. Seed ${seed}.`
}

function parametersOf(options: Options, { devices }: Machines): Circumstances['parameters'] {
  const { editors, windows, sessions, keys, blocks, warmup, interval, sensor, seed, until, matters } = options
  const { limit, profile, headed, remote } = options
  return {
    editors: editors.join(', '),
    windows,
    sessions,
    keys,
    blocks,
    warmup,
    interval,
    sensor,
    seed,
    ...(until && { until, matters: `${matters.amount}${matters.isPercent ? '%' : 'ms'}`, limit }),
    ...(profile.length > 0 && { profile: profile.join(', ') }),
    headed,
    remotes: remote.length,
    ...(devices.length > 0 && { joined: devices.map(({ name, agent }) => `${name}: ${agent}`).join('; ') }),
  }
}

/** The networks or the editors, if there are several. */
const variantsOf = ({ profile, editors }: Pick<Options, 'profile' | 'editors'>) =>
  [profile, editors].find((each) => each.length > 1) ?? [undefined]

const nameWith = (mode: string, variant: string | undefined) =>
  variant === undefined ? mode : `${mode} ${variant}`

/** Servers and browsers of a session; a server given by `--server` keeps running. */
async function openRig(
  options: Options,
  machines: Machines,
  opened: AsyncDisposableStack,
  session: number,
  peers: RunPeers,
) {
  const testbed = new Testbed('keystrokes', options, session, opened)
  const systems: System[] = []
  for (const [place, editor] of options.editors.entries()) {
    // The same one over each network.
    const servers = await openServer(options, machines, testbed, editor, place)
    for (const [over, server] of servers.entries()) {
      const variant = variantsOf(options)[place + over]
      for (const mode of requireWindowModes(options.modes))
        systems.push({
          name: nameWith(mode.name, variant),
          editor,
          mode,
          server,
          front: server.front,
          forgets: editor === 'mirror',
        })
    }
  }
  const { modes, windows, remote } = options
  const perBrowser = Math.ceil(windows / (remote.length + 1))
  systems.push(...(await peers.start(testbed, { session, modes, windows, perBrowser })))
  // Server and browser compile the same code over every network.
  const [network] = options.profile
  const warmed = systems.filter(({ name }) => options.profile.length < 2 || variantOf(name) === network)
  const browsers = await machines.startBrowsers(opened, { headed: options.headed, http3: testbed.http3 })
  return { testbed, systems, warmed, browsers, peers }
}

/** One key is one message. */
const ownMergeMs = 0

async function openServer(
  { server, sensor }: Options,
  machines: Machines,
  testbed: Testbed,
  editor: EditorName,
  place: number,
): Promise<readonly ReachedServer[]> {
  if (editor === 'mirror') return testbed.startMirror()
  if (server === undefined) {
    const settings = { 'sensor-source': sensor, share: 'none', 'merge-ms': ownMergeMs }
    return testbed.startServer(settings, await machines.placeOf(place))
  }
  return [await joinServer(server)]
}

/** On two idle cores: of a server or peer, of a browser, and of a new page in every window. */
const startMs = 600
const browserMs = 1000
const pagesMs = ({ windows, join, profile }: Options) =>
  900 + 110 * (windows + join) + windows * roundTripsOfPage * roundTripMs(profile)

const roundTripsOfPage = 10

/** Mean over the networks; 0 without one. */
function roundTripMs(names: readonly string[]): number {
  const times = names.flatMap((name) => {
    const network = readProfile(name)
    return network ? [network.down.floorMs + network.up.floorMs] : []
  })
  return times.length === 0 ? 0 : mean(times)
}

/** Number of modes of Crosswind and of peers that take turns. An adapter has one, as far as is known. */
const systemsOf = ({ modes, editors, peers, profile }: Options) =>
  Math.max(1, profile.length) * editors.length * modes.length +
  peers.reduce((sum, { name }) => sum + (isBare(name) ? imitatedModes(bareModes, modes).length : 1), 0)

/** Time to count a system's bytes, besides its pages. */
const countingMs = 5000

const rigMs = ({ editors, peers, remote }: Options) =>
  (editors.length + peers.length) * startMs + (1 + remote.length) * browserMs

function sessionMs(options: Options): number {
  const { keys, blocks, warmup, interval, profile } = options
  const firstMs = warmup === 0 ? 0 : pagesMs(options) + 2 * firstWarmupKeys * firstWarmupIntervalMs
  const turnsMs = blocks * (pagesMs(options) + 2 * warmup * interval) + keys * interval
  const bytesMs = countsBytes(options) ? (pagesMs(options) + countingMs) / options.sessions : 0
  return rigMs(options) + systemsOf(options) * (firstMs / Math.max(1, profile.length) + turnsMs + bytesMs)
}

const wholeMs = (options: Options) => options.sessions * sessionMs(options) + growingMs(options)

function growingMs(options: Options): number {
  if (!options.growing) return 0
  const { characters, turns, keysInTurn, intervalMs } = growing
  const { warmup, editors } = options
  const turnMs = 2 * pagesMs(options) + (keysInTurn + 2 * warmup) * intervalMs
  return rigMs(options) + characters.length * turns * editors.length * turnMs
}

/** Each key is also deleted again, which doubles the messages. */
const firstWarmupKeys = 40
const firstWarmupIntervalMs = 20

/** TCP doubles its timeout each time that the same packet is lost again. */
const resentWithinMs = 30_000

/** Participants of a session, and their machines. */
interface Taking {
  readonly machines: Machines
  readonly participants: Participants
}

type Session = Awaited<ReturnType<typeof measureSession>>

/**
 * The systems take turns. Rejects on abort, if a page does not open, or unless there is exactly one
 * message per key; if it is a peer's, that peer ends instead, without samples of this session.
 */
async function measureSession(
  options: Options,
  { testbed, systems, warmed, browsers, peers }: Awaited<ReturnType<typeof openRig>>,
  session: number,
  { machines, participants }: Taking,
  lab: Lab,
) {
  const { sessions, keys, blocks, warmup, interval, until, profile } = options
  const run = randomUUID().slice(0, 8)
  const windows = await participants.open(browsers)
  const channelOf = (what: string, { name }: System) =>
    `${what}-${run}-${name.replaceAll(/[^a-z0-9.]/g, '-')}`
  // Otherwise the first mode would pay for code not yet compiled in server and browser.
  if (warmup > 0) {
    lab.progress.announce(`Session ${session} of ${sessions}: warming up every mode.`)
    machines.say('Warming up')
    for (const system of warmed) {
      lab.signal.throwIfAborted()
      await peers.measure(system, session, async () => {
        // On its own page: over a slow network the last one's keys may still be in flight.
        const address = recordingAddress(system, channelOf('warm', system))
        await testbed.withoutLoss(() => showPages(windows, address, { text: '', ...system }))
        await warmUp(windows, firstWarmupKeys, firstWarmupIntervalMs)
      })
    }
  }
  const labelWidth = Math.max(20, ...systems.map(({ name }) => name.length))
  const samples: Sample[] = []
  const uses: (Cost & { readonly mode: string })[] = []
  let boundMs = 0
  const turns = sessions * blocks * systems.length
  let turn = (session - 1) * blocks * systems.length
  for (let block = 1; block <= blocks; block += 1) {
    const firstKey = Math.floor(((block - 1) * keys) / blocks) + 1
    const text = textBetween(firstKey, Math.floor((block * keys) / blocks) + 1)
    // The order of modes rotates from block to block.
    const first = (block - 1) % systems.length
    for (const system of [...systems.slice(first), ...systems.slice(0, first)]) {
      lab.signal.throwIfAborted()
      const label = `${system.name.padEnd(labelWidth)} block ${block}/${blocks}`
      turn += 1
      machines.say(`Measuring turn ${turn}${until ? '' : ` of ${turns}`}`)
      const taken = await peers.measure(system, session, async () => {
        const { forgets } = system
        const shown = { text: textBetween(1, firstKey), forgets }
        const address = recordingAddress(system, channelOf('keys', system))
        await testbed.withoutLoss(() => showPages(windows, address, shown))
        await warmUp(windows, warmup, interval)
        const showKey = (typed: number) => lab.progress.step(`${label}  ${barOf(typed, text.length)}`)
        const { isPresent } = participants
        const turn = await timeTurn(
          windows,
          system,
          { session, block, firstKey, method: machines.method },
          async () => {
            const marks = await typeKeys(windows, [...text], interval, showKey, lab.signal)
            return stampsOf(windows, marks, profile.length > 0 ? resentWithinMs : undefined)
          },
          isPresent,
        )
        await requireWhole(turn, text.length, system, windows)
        return turn
      })
      if (taken === null) continue
      const missed = participants.noteTurn(`session ${session}, block ${block}, ${system.name}`, taken.clocks)
      for (const words of missed) lab.progress.say(`${label}  ${words}`)
      samples.push(...taken.samples)
      uses.push({ mode: system.name, session, ...taken.use })
      boundMs = Math.max(boundMs, taken.boundMs)
      lab.progress.took(
        turnOf(system.name, atOthers(taken.samples)),
        `${label}  ${formatOutcome(atOthers(taken.samples))}`,
      )
    }
  }
  const counting = (system: System) => ({
    address: recordingAddress(system, channelOf('bytes', system)),
    sends: [
      async (messages: number) =>
        stampsOf(windows, await typeKeys(windows, [...textBetween(1, messages + 1)], interval)),
    ],
  })
  const isCounted = (system: System) => !peers.hasEnded(system) && !system.peer?.isSpoiled
  const counted = session === 1 && countsBytes(options) ? systems.filter(isCounted) : []
  const bytes = (await countModes(windows, counted, counting, lab)).flat()
  // A browser has few HTTP/1.1 connections to a server.
  for (const window of windows) await window.close()
  const version = browsers.map((browser) => browser.version).join(', ')
  const left = new Set(systems.filter((system) => !peers.hasEnded(system)).map(({ name }) => name))
  const ofThem = <One extends { readonly mode: string }>(all: readonly One[]) =>
    all.filter(({ mode }) => left.has(mode))
  const networkUses = await testbed.networkUses()
  return { samples: ofThem(samples), uses: ofThem(uses), bytes, boundMs, version, networkUses }
}

/** Since TCP's bytes are counted: all runs on this machine, over no simulated network and no front. */
const countsBytes = ({ server, remote, join, host, profile, front, windows }: Options) =>
  server === undefined &&
  !front &&
  remote.length + join + profile.length === 0 &&
  host === undefined &&
  windows > 1

/** A system that loses or repeats messages cannot be compared by the times of the others. */
async function requireWhole(
  { sent, samples }: Awaited<ReturnType<typeof timeTurn>>,
  keys: number,
  { name, peer }: System,
  windows: Awaited<ReturnType<Participants['open']>>,
): Promise<void> {
  if (sent !== keys) throw new Error(`${name}: ${keys} keys were typed, the page sent ${sent} messages.`)
  if (peer === undefined || peer.isSpoiled) return
  const { expected, lost, duplicated } = summariseSamples(samples, transmissionMs)
  if (lost + duplicated === 0) return
  const why = await windows[0]?.run(readFailure)
  throw new Error(
    `of ${expected} messages to windows it lost ${lost} and repeated ${duplicated}${why ? `; its page says ${why}` : ''}`,
  )
}

/** `systems`: those of one mode, each with a different editor; they take turns. */
async function measureGrowing(
  systems: readonly System[],
  windows: Awaited<ReturnType<Participants['open']>>,
  { machines, participants }: Taking,
  warmupKeys: number,
  lab: Lab,
): Promise<readonly GrownRow[]> {
  const { paragraphCharacters, keysInTurn, turns, intervalMs } = growing
  const run = randomUUID().slice(0, 8)
  const text = 'the wind turns '.repeat(paragraphCharacters).slice(0, paragraphCharacters - 1)
  const grown: GrownRow[] = []
  for (const characters of growing.characters) {
    const paragraphs = Array.from({ length: characters / paragraphCharacters }, () => `${text}.`)
    for (let turn = 1; turn <= turns; turn += 1)
      for (const system of turn % 2 === 0 ? systems.toReversed() : systems) {
        lab.signal.throwIfAborted()
        const { name, editor, forgets } = system
        machines.say(`Measuring a document of ${characters} characters`)
        const channel = `grow-${run}-${editor}-${characters}-${turn}`
        await showPages(windows, recordingAddress(system, channel), { text: '', forgets })
        await fillPages(windows, paragraphs, editor)
        await warmUp(windows, warmupKeys, intervalMs)
        const { isPresent } = participants
        const firstKey = (turn - 1) * keysInTurn + 1
        const place = { session: 1, block: turn, firstKey, method: machines.method }
        const taken = await timeTurn(
          windows,
          system,
          place,
          async () => {
            const keys = [...textBetween(1, keysInTurn + 1)]
            return stampsOf(windows, await typeKeys(windows, keys, intervalMs, undefined, lab.signal))
          },
          isPresent,
        )
        if (taken.sent !== keysInTurn)
          throw new Error(`${name}: ${keysInTurn} keys were typed, the page sent ${taken.sent} messages.`)
        grown.push(...taken.samples.map((sample) => ({ ...keyRow(sample), characters })))
        lab.progress.say(
          `${name.padEnd(20)} ${characters} characters, turn ${turn}  ${formatOutcome(atOthers(taken.samples))}`,
        )
      }
  }
  return grown
}

function barOf(typed: number, keys: number): string {
  const whole = Math.round((typed / keys) * 24)
  return `${'━'.repeat(whole)}${'─'.repeat(24 - whole)}  ${typed}/${keys} keys`
}
