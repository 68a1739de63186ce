// The 200 keystrokes of the 2021 paper (4.2), in sessions: one window types, all receive.

import { mean } from '../../client/statistics.ts'
import { createSeededRandom, shuffled } from '../../client/wire.ts'
import type { Plan } from '../lab/estimate.ts'
import { frontName } from '../lab/front.ts'
import { Machines, withoutHost } from '../lab/machines.ts'
import { peerOf, withoutVariant } from '../lab/mode-names.ts'
import { describeNetworks, describePlace } from '../lab/network-report.ts'
import { Participants } from '../lab/participants.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { RunPeers } from '../lab/run-peers.ts'
import { joinServer } from '../lab/server-process.ts'
import { type Analysis, analyseStudy, isDecided, sessionsNeeded } from '../lab/study.ts'
import { defineStudy } from '../lab/study-experiment.ts'
import { formatCounting } from '../lab/wire-bytes.ts'
import { readProfile } from '../network/profiles.ts'
import { bareModes, imitatedModes, isBare, nameOfPeer, peerLabel } from '../peers/peers.ts'
import { several } from '../report/section.ts'
import { formatFaults } from '../report/study-finding.ts'
import { keystrokesFlags, type Options, quickFlags, readKeystrokes, usual } from './keystrokes-flags.ts'
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
import {
  countsBytes,
  firstWarmupIntervalMs,
  firstWarmupKeys,
  measureGrowing,
  measureSession,
  nameWith,
  openRig,
  ownMergeMs,
  type Session,
  variantsOf,
} from './keystrokes-session.ts'

export const keystrokes = defineStudy({
  name: 'keystrokes',
  about: `Opens windows in real Chromium, types in one and measures the transmission time to each window, in several sessions: each\n    has its own server process, browsers and windows. Intervals show how far sessions differ.`,
  quick: quickFlags,
  flags: keystrokesFlags,
  options: readKeystrokes,

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
