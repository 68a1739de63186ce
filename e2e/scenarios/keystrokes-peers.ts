// A keystroke run's peers: ratios to bare pages and other systems, and built-in faults.

import { mean } from '../../client/statistics.ts'
import {
  imitatedBy,
  isBarePeer,
  isPeer,
  labelOf,
  overLabel,
  soundPeer,
  withoutVariant,
} from '../lab/mode-names.ts'
import type { EndedPeer } from '../lab/run-peers.ts'
import { hasArrived, type Sample } from '../lab/samples.ts'
import { significant } from '../lab/statistics.ts'
import type { Analysis, contrast, StudyComparison } from '../lab/study.ts'
import { faultOf, isBare, type PeerFacts } from '../peers/peers.ts'
import { count, interval, nothing, type Section, table, text } from '../report/section.ts'
import { ratiosFigure } from '../report/study-report.ts'

type KnownFault = ReturnType<typeof knownFaultsOf>[number]

/** Contrasts two modes, among some windows. */
type Contrasting = (mode: string, baseline: string) => ReturnType<typeof contrast>

/** Largest accepted ratio of a mode's median to a bare page's. */
const goal = 1.3

export function peersSections(
  modes: readonly string[],
  comparisons: readonly StudyComparison[],
  peers: readonly PeerFacts[],
  bareRatios: ReturnType<typeof bareRatiosOf>,
): readonly Section[] {
  const against = comparisons.filter(({ baseline }) => isPeer(baseline))
  const bare = against.filter(({ baseline }) => isBarePeer(baseline))
  const systems = against.filter(({ baseline }) => !isBarePeer(baseline))
  const others = modes.filter((mode) => isPeer(mode) && !isBarePeer(mode))
  return [
    ...(bare.length > 0 ? [barePeersSection(bare, bareRatios)] : []),
    ...(others.length > 0 ? [systemsSection(peers, modes, systems)] : []),
  ]
}

/** For the finding; empty if none failed. */
export const formatEnded = (ended: readonly EndedPeer[]): string =>
  ended.map(({ name, why }) => `${name} was left out: ${why}. `).join('')

export function endedSections(ended: readonly EndedPeer[]): readonly Section[] {
  if (ended.length === 0) return []
  const columns = ['System', 'Session', text('Why')]
  const rows = ended.map(({ name, session, why }) => [name, count(session), why])
  return [
    {
      title: 'Systems that failed',
      tables: [table('Adapters that did not do what docs/adapters.md asks for', columns, rows)],
      paragraphs: [
        'Such a system is left out from that session on and is not compared; its figures, if it has any, are of the sessions before.',
      ],
    },
  ]
}

const medianRows = (comparisons: readonly StudyComparison[]) =>
  comparisons.flatMap(({ mode, baseline, medianRatio: point, medianRatioCi95: ends, sessions }) =>
    point === null || ends === null
      ? []
      : [
          {
            label: overLabel(mode, baseline),
            point,
            interval: ends,
            sessions: sessions.flatMap(({ medianRatio }) => medianRatio ?? []),
          },
        ],
  )

const ratioAxis = 'times the peer’s median'
const ratioWords =
  'Each session gives one ratio of medians; the ratio and its interval are those of the mean of their logarithms.'

/** Ratios of each mode to its bare peer: at the windows that do not type, then at the one that does. */
export function bareRatiosOf(comparisons: Analysis['comparisons'], amongEchoes: Contrasting) {
  return comparisons
    .filter(({ baseline }) => isBarePeer(baseline))
    .flatMap((one) => {
      const groups = [
        { windows: 'the others', found: one },
        { windows: 'the one that types', found: amongEchoes(one.mode, one.baseline) },
      ]
      return groups.flatMap(({ windows, found }) => {
        if (!found?.ratioCi95) return []
        const { mode, baseline, ratio, ratioCi95, p95Ratio, p95RatioCi95 } = found
        return [{ mode, baseline, windows, ratio, ratioCi95, p95Ratio, p95RatioCi95 }]
      })
    })
}

function barePeersSection(
  comparisons: readonly StudyComparison[],
  ratios: ReturnType<typeof bareRatiosOf>,
): Section {
  const rows = medianRows(comparisons).map((row) => {
    const [low, high] = row.interval
    const outcome = high <= goal ? 'met' : low > goal ? 'missed' : 'undecided'
    return { ...row, outcome: `goal ${outcome}`, isDecided: outcome !== 'undecided' }
  })
  const caption = `Ratio of the medians with its 95 % interval; small ticks: the ratio in each session. At 1 both are alike; the dashed line is the goal, ${goal}. Filled: met or missed; hollow: undecided.`
  return {
    title: 'Against bare peers',
    ...(rows.length > 0 && {
      figure: ratiosFigure(rows, { caption, axis: ratioAxis, references: [1, goal] }),
    }),
    tables: [
      table(
        `Ratio of the medians, mode over peer; the goal is at most ${goal}`,
        ['Mode / peer', 'Ratio', '95 % interval', text('Goal')],
        rows.map((row) => [row.label, row.point, interval(row.interval), row.outcome.replace('goal ', '')]),
      ),
      table(
        'Ratios of the means and of the 95th percentiles, mode over peer, with their 95 % intervals',
        ['Mode / peer', text('Windows'), 'Means', '95 % interval', '95th percentiles', '95 % interval'],
        ratios.map(({ mode, baseline, windows, ratio, ratioCi95, p95Ratio, p95RatioCi95 }) => [
          overLabel(mode, baseline),
          windows,
          ratio,
          interval(ratioCi95),
          p95Ratio,
          p95RatioCi95 ? interval(p95RatioCi95) : nothing,
        ]),
      ),
    ],
    paragraphs: [
      `${ratioWords} The goal is met if the whole interval is within it, and missed if the whole interval is beyond it.`,
    ],
  }
}

/** Names the systems even if there was nothing to compare them with. */
function systemsSection(
  peers: readonly PeerFacts[],
  modes: readonly string[],
  comparisons: readonly StudyComparison[],
): Section {
  const rows = medianRows(comparisons).map((row) => {
    const [low, high] = row.interval
    return { ...row, isDecided: low > 1 || high < 1 }
  })
  const caption =
    'Ratio of the medians with its 95 % interval; small ticks: the ratio in each session. Left of 1 Crosswind’s mode took less time. Filled: the interval excludes 1; hollow: it contains 1. Each interval is for its comparison alone; the verdicts are those of the comparisons of means.'
  const systems = peers.filter(({ name }) => !isBare(name))
  const isElsewhere = systems.some(({ address }) => address !== null)
  const own = modes.filter((mode) => !isPeer(mode)).map(withoutVariant)
  const alone = modes.filter((mode) => isPeer(mode) && !own.includes(imitatedBy(mode) ?? ''))
  return {
    title: 'Against other systems',
    ...(rows.length > 0 && { figure: ratiosFigure(rows, { caption, axis: ratioAxis, references: [1] }) }),
    tables: [
      ...(rows.length > 0
        ? [
            table(
              'Ratio of the medians, mode over system',
              ['Mode / system', 'Ratio', '95 % interval'],
              rows.map((row) => [row.label, row.point, interval(row.interval)]),
            ),
          ]
        : []),
      table(
        'The systems in this run',
        ['System', ...['Version', 'Transport', ...(isElsewhere ? ['Server'] : [])].map(text)],
        systems.map((system) => [
          system.label,
          system.version ?? 'unknown',
          system.transport,
          ...(isElsewhere ? [system.address ?? 'started for the run'] : []),
        ]),
      ),
    ],
    paragraphs: [
      `${rows.length > 0 ? `${ratioWords} ` : ''}Each system relays the messages of the bare page, which sends the whole content at each key. The lab’s own relays store, merge and check nothing; Crosswind does, and its times include that.`,
      'A message counts as received when the system’s client hands it to the page, after its own decoding; on the bare page and on Crosswind’s, before decoding.',
      ...alone.map((mode) => `${labelOf(mode)} has no comparison: no mode with its transport was measured.`),
    ],
  }
}

export function knownFaultsSections(knownFaults: readonly KnownFault[]): readonly Section[] {
  if (knownFaults.length === 0) return []
  const spoiled = knownFaults.filter(({ hasFaults }) => hasFaults)
  const delayed = knownFaults.filter(({ hasFaults }) => !hasFaults)
  const delays = table(
    'Delays built into a relay, and what the lab found; in milliseconds',
    ['Relay', 'Built in', 'Found', '95 % interval', 'Found, % of built in', text('In the interval')],
    delayed.map(({ mode, builtMs, foundMs, foundCi95Ms, holds }) => [
      labelOf(mode),
      builtMs,
      foundMs,
      interval(foundCi95Ms),
      (100 * foundMs) / (builtMs ?? Number.NaN),
      holds ? 'yes' : 'no',
    ]),
  )
  const pair = ({ built, found }: { built: number; found: number }) => `${count(found)} of ${count(built)}`
  const counts = table(
    'Samples spoiled by a relay, found of built in',
    ['Relay', 'Lost', 'Duplicated', 'Reordered'],
    spoiled.map(({ mode, lost, duplicated, reordered }) => [
      labelOf(mode),
      ...[lost, duplicated, reordered].map(pair),
    ]),
  )
  return [
    {
      title: 'Known faults',
      tables: [delays, counts].filter(({ rows }) => rows.length > 0),
      paragraphs: [
        'These relays have deliberate faults, so that the lab itself can be checked. The built-in delay is the relay’s own, by its stamps of each message, minus that of the sound relay; the found delay is the difference of the transmission times, at the windows that do not type: the typing window is still drawing its key when its message returns at once, which hides some of a delay.',
      ],
    },
  ]
}

/**
 * For each peer with a built-in fault, what was built in and what was found. The delay is the
 * relay's own, by its stamps, and is found in the difference from the sound relay at the windows
 * that do not type: the typing window is still drawing its key when its message returns at once,
 * which hides some of a delay.
 */
export function knownFaultsOf(modes: readonly string[], all: readonly Sample[], amongOthers: Contrasting) {
  return modes.flatMap((mode) => {
    const sound = soundOf(mode, modes)
    const found = sound === mode ? undefined : amongOthers(mode, sound)
    if (!found?.differenceCi95) return []
    const samples = all.filter((sample) => sample.mode === mode)
    const builtMs = relayMs(samples) - relayMs(all.filter((sample) => sample.mode === sound))
    const [low, high] = found.differenceCi95
    const lastKeys = new Map(samples.map(({ session, block, key }) => [`${session} ${block}`, key]))
    const isLast = ({ session, block, key }: Sample) => lastKeys.get(`${session} ${block}`) === key
    const hasFaults = mode.includes('+faults')
    const built = (fault: ReturnType<typeof faultOf>) =>
      // A message waiting for a later one in its turn, which never comes, does not arrive in it.
      samples.filter(
        (sample) =>
          hasFaults &&
          (faultOf(sample.id) === fault ||
            (fault === 'lost' && faultOf(sample.id) === 'reordered' && isLast(sample))) &&
          !(fault === 'reordered' && isLast(sample)),
      ).length
    return {
      mode,
      sound,
      hasFaults,
      builtMs: significant(builtMs),
      foundMs: found.difference,
      foundCi95Ms: found.differenceCi95,
      holds: low <= builtMs && builtMs <= high,
      lost: { built: built('lost'), found: samples.filter((sample) => !hasArrived(sample)).length },
      duplicated: { built: built('duplicated'), found: samples.filter(({ copies }) => copies > 1).length },
      reordered: { built: built('reordered'), found: samples.filter(({ reordered }) => reordered).length },
    }
  })
}

/** The relay without faults; if it is not measured, the one that delays least. */
function soundOf(mode: string, modes: readonly string[]): string {
  const sound = soundPeer(mode)
  if (modes.includes(sound)) return sound
  const delayOf = (name: string) => Number(/\+([\d.]+)ms:/.exec(name)?.[1] ?? Number.POSITIVE_INFINITY)
  const alike = modes.filter((name) => soundPeer(name) === sound)
  return alike.toSorted((one, other) => delayOf(one) - delayOf(other))[0] ?? mode
}

/** Mean time in the relay before it begins to send, ms. */
function relayMs(samples: readonly Sample[]): number {
  const times = samples.flatMap(({ acceptedAt, committingAt }) =>
    acceptedAt === null || committingAt === null ? [] : [committingAt - acceptedAt],
  )
  return times.length === 0 ? Number.NaN : mean(times)
}
