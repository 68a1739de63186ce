// How a WindComm run was measured, for its report: networks, clocks, method, doubts.

import { paperBoundMs } from '../lab/clock.ts'
import { describePackets } from '../lab/network-report.ts'
import { totals } from '../lab/samples.ts'
import {
  capital,
  count,
  figure,
  interval,
  nothing,
  type Section,
  several,
  signed,
  tableOf,
} from '../report/section.ts'
import { cellLabel } from './windcomm-paper.ts'
import { atSites, machinesIn, simulatedIn, type WindSummary } from './windcomm-summary.ts'
import type { LinkUse, MachineSite } from './windcomm-testbed.ts'

/** Describes what networks that lose packets did, over all methods. */
export const lossyNetworks = ({ sites, links, modes }: WindSummary) =>
  simulatedIn(sites).flatMap(({ name, profile: { loss } }) => {
    if (!loss) return []
    const uses = links.filter(({ site }) => site === name).flatMap(({ packets }) => packets ?? [])
    // A site has one seed.
    return [{ name: capital(name), ...describePackets(loss, uses, 'cubic', modes.length) }]
  })

const packetWords =
  'A network with loss carries IP packets: the server is on a host of its own, in a network namespace, and each method at each site reaches it over a path of its own. Both hosts’ TCP is Linux’s, with CUBIC; --faster does not scale its timeouts. The model of the methods knows no loss.'

export function networksSection(summary: WindSummary): Section {
  const { links } = summary
  const sites = simulatedIn(summary.sites)
  const ways = sites.flatMap(({ profile, ...site }) =>
    (['down', 'up'] as const).map((way) => ({ ...site, way, profile, ...profile[way] })),
  )
  const kilobytes = (bytes: number) => count(Math.round(bytes / 1000))
  return {
    title: 'The networks',
    isMethod: true,
    tables: [
      tableOf<(typeof ways)[number]>(
        'Profiles as run, each direction; milliseconds',
        [
          ['Site', ({ name }) => capital(name)],
          ['Way', ({ way }) => way, 'text'],
          ['Floor', ({ floorMs }) => floorMs],
          ['Queue, mean', ({ queueMeanMs }) => queueMeanMs],
          ['Queue, sd', ({ queueSdMs }) => queueSdMs],
          ['Correlation', ({ correlationMs }) => correlationMs],
          ['Stalls a minute', ({ stalls }) => (stalls ? figure(60 * stalls.perSecond) : nothing)],
          ['Stall', ({ stalls }) => (stalls ? interval([stalls.leastMs, stalls.mostMs]) : nothing)],
          ['kbit/s', ({ profile: { kilobitsPerSecond: rate } }) => (rate === null ? nothing : count(rate))],
          ['Seed', ({ seed }) => String(seed)],
          ['Windows', ({ windows }) => (windows === 'browser' ? 'browser' : 'clients'), 'text'],
        ],
        ways,
      ),
      tableOf<LinkUse>(
        'Links, from their start to the end of the run; late in milliseconds',
        [
          [
            'Site, method',
            ({ site, mode, session }) => cellLabel(site, mode) + (session ? `, session ${session}` : ''),
          ],
          ['Connections', ({ opened }) => (opened === null ? nothing : count(opened))],
          ['Up, kB', ({ upBytes }) => kilobytes(upBytes)],
          ['Down, kB', ({ downBytes }) => kilobytes(downBytes)],
          ['Late, counting', ({ lateMs }) => lateMs],
          ['Down, mean', ({ down }) => down.meanMs],
          ['p99', ({ down }) => down.p99Ms],
          ['Max.', ({ down }) => down.maxMs],
          ['Up, mean', ({ up }) => up.meanMs],
          ['p99', ({ up }) => up.p99Ms],
          ['Max.', ({ up }) => up.maxMs],
        ],
        links,
      ),
    ],
    paragraphs: [
      'Each method at each site has its own link: a relay on this machine that delays every byte in each direction, in order, including handshakes. No two methods share a connection or a queue; one seed per site gives all of them the same course of queues and stalls.',
      'A queue is log-normal and correlated over the given time; a stall is a burst of loss that TCP waits out: what enters during it leaves at its end, in order. Late is the link’s own error: when it released something minus when it was due. “Counting” is the mean of both directions while readings counted; the other figures include the opening of the windows.',
      ...(lossyNetworks(summary).length > 0 ? [packetWords] : []),
      ...sites.map(({ name, profile }) => `${capital(name)}: ${profile.source}`),
    ],
  }
}

export function machinesSection({ sites, modes, missed = [], environment }: WindSummary): Section {
  const machines = machinesIn(sites)
  const hasBrowser = machines.some(({ windows }) => windows === 'browser')
  const isJoined = machines.some(({ name }) => name.startsWith('device '))
  return {
    title: 'The machines',
    tables: [
      tableOf<MachineSite>(
        'Sites',
        [
          ['Site', ({ name }) => capital(name)],
          ['Machine', ({ machine }) => machine, 'text'],
          ['Windows', ({ windows }) => (windows === 'browser' ? 'browser' : 'clients'), 'text'],
        ],
        machines,
      ),
    ],
    paragraphs: [
      `The server: ${environment.server}. Its windows reach it over the network that there is: nothing is simulated.`,
      `Each site has ${several(modes.length, 'window')}, one for each method, all at once.${hasBrowser ? ' In a browser, those over HTTP/2 share one connection.' : ''}${isJoined ? ' Those of a joined device are frames of one page, which take turns on one thread: a method that arrives with others may wait for them.' : ''}`,
      ...missed.map(
        ({ site, session, why }) =>
          `${capital(site)} ${why} in session ${session}: what it received then is excluded from every figure.`,
      ),
    ],
  }
}

/** Clocks of real machines: one line for each, of the windows that differ most. */
function machineClocks({ sites, clock }: WindSummary) {
  return machinesIn(sites).flatMap(({ name, machine }) => {
    const own = [...clock.before, ...clock.after].filter((one) => one.name.startsWith(`${name}, `))
    if (own.length === 0) return []
    const most = (of: (one: (typeof own)[number]) => number) => Math.max(...own.map(of))
    const offset = own.reduce((one, other) => (other.boundMs < one.boundMs ? other : one)).offsetMs
    return {
      name,
      machine,
      offsetMs: offset,
      errorMs: most(({ errorMs }) => errorMs),
      betweenMs: 2 * most(({ withinMs = 0 }) => withinMs),
    }
  })
}

type MachineClock = ReturnType<typeof machineClocks>[number]

function machineClocksSection(summary: WindSummary): Section {
  return {
    title: 'Clocks',
    tables: [
      tableOf<MachineClock>(
        'Clocks, in milliseconds',
        [
          ['Site', ({ name }) => capital(name)],
          ['Added to its stamps', ({ offsetMs }) => signed(offsetMs)],
          ['Off from the server’s', ({ errorMs }) => `± ${figure(errorMs)}`],
          ['Between its windows', ({ betweenMs }) => `± ${figure(betweenMs)}`],
        ],
        machineClocks(summary),
      ),
    ],
    paragraphs: [
      'Before and after, each machine’s clock was compared with the server’s by exchanges, whose error is bounded by the round trip, and each window’s with its machine’s; what was found was added to the stamps. The windows of a machine share its clock, so that the network adds nothing to the error between them.',
    ],
  }
}

export function clocksSection(summary: WindSummary): Section {
  if (simulatedIn(summary.sites).length === 0) return machineClocksSection(summary)
  const { clock } = summary
  type Clock = (typeof clock.before)[number]
  const afterOf = ({ name }: Clock) => clock.after.find((one) => one.name === name)
  const exchanged = (one: Clock | undefined) =>
    one ? `${signed(one.offsetMs)} ± ${figure(one.boundMs)}` : nothing
  return {
    title: 'Clocks',
    isMethod: true,
    tables: [
      tableOf<Clock>(
        'Clocks against the server’s, in milliseconds',
        [
          ['Clock', ({ name }) => name],
          ['Before, by exchanges', exchanged],
          ['Off at most', ({ errorMs }) => errorMs],
          ['After, by exchanges', (before) => exchanged(afterOf(before))],
          ['Off at most', (before) => afterOf(before)?.errorMs],
        ],
        clock.before,
      ),
    ],
    paragraphs: [
      `One machine has one clock, and nothing was added to any stamp. Before and after, this process was compared with the server by exchanges over an undelayed path, and each page with this process by the machine’s clock. No stamp is off by more than ${figure(clock.largestErrorMs)} ms; above ${paperBoundMs} ms the paper rejected a run.`,
    ],
  }
}

export function method({ cells, warmUpReadings, readings, serverCpuMs, serialLine, sites }: WindSummary) {
  const isSimulated = simulatedIn(sites).length > 0
  const deliveries = cells.reduce((sum, { expected }) => sum + expected, 0)
  const line = `${figure(serialLine.meanMs)} ms on average (p99 ${figure(serialLine.p99Ms)})`
  return [
    'A latency runs from the server’s stamp when it accepts the reading (acceptedAt) to the moment at which a window has the bytes, before it parses them: the paper’s t4 − t0. It includes the time in which the log stores the reading.',
    isSimulated
      ? `A real sensor’s serial line takes additional time before that, about 25 ms for the 24 bytes of a polar frame at 9,600 baud, the same for every method. The simulated sensor’s frames took ${line} from their first byte until the server had the reading. Neither is part of a latency.`
      : `The sensor’s frames took ${line} from their first byte until the server had the reading, the same for every method. That is not part of a latency.`,
    `${count(warmUpReadings)} readings were excluded after every window was open and had one; the next ${count(readings)} count, the same for every window, by their ids in the log. Windows are real Chromium’s, which process the wind without drawing it, or clients in Node: the web app’s own link over the same transports.`,
    `The paper’s methods run over HTTP/1.1, as in 2012${isSimulated ? ', each window with its own connections' : ''}; the others over HTTP/2. Everything uses TLS, which the paper did not: it costs no round trip once a connection is established. The paper’s Δ also had to cover parsing and display.`,
    `The server used ${figure(serverCpuMs / 1000)} s of processor time for ${count(deliveries)} deliveries${isSimulated ? '' : ', and whatever else it did meanwhile'}.`,
  ]
}

function formatMachineClock(summary: WindSummary): string {
  const clocks = machineClocks(summary)
  const off = clocks.map(({ name, errorMs }) => {
    const { oneWayMs = null } = summary.predictions.find(({ site }) => site === name) ?? {}
    return `${figure(errorMs)} ms ${atSites([name])}, where WebSocket’s mean is ${figure(oneWayMs)} ms`
  })
  const between = Math.max(0, ...clocks.map(({ betweenMs }) => betweenMs))
  return `Clock: all times of a site may be too long or too short by the same amount, and ratios to WebSocket’s mean are off accordingly. That amount is at most ${off.join('; ')}. Differences between the methods at a site are off by at most ${figure(between)} ms; one that the clocks could cause is left open.`
}

export function doubtsSection(summary: WindSummary): Section {
  const { clock, drifts, cells, readings } = summary
  const isSimulated = simulatedIn(summary.sites).length > 0
  const drifted = drifts.filter(({ pCorrected }) => pCorrected <= 0.01)
  const drift = ({ site, mode, differenceMs, ci99Ms }: (typeof drifts)[number]) =>
    `${cellLabel(site, mode)} ${signed(differenceMs)} ms (${interval(ci99Ms)})`
  const trend = `from the first to the last third of the readings, at 99 %, corrected for ${drifts.length} cells`
  const worth = cells.flatMap(({ effectiveN }) => effectiveN ?? [])
  const { lost, expected } = totals(cells)
  const all = count(expected)
  return {
    title: 'Doubts',
    isMethod: true,
    paragraphs: [
      ...(isSimulated
        ? [
            lossyNetworks(summary).length > 0
              ? 'Simulation: no packet left this machine.'
              : 'Simulation: no packet left this machine. The links delay bytes in order; slow start, congestion windows, acknowledgements and the loss of single packets are not modelled, and a burst of loss is a stall of the whole path.',
            `Clock: no stamp is off by more than ${figure(clock.largestErrorMs)} ms; a difference that two windows’ clocks could cause is left open.`,
          ]
        : [formatMachineClock(summary)]),
      drifts.length === 0
        ? 'Drift: too few readings arrived to look for a trend.'
        : `Drift: ${drifted.length === 0 ? `none was found ${trend}` : `${trend}, the mean changed: ${drifted.map(drift).join('; ')}`}. All methods ran at once, so a trend of network or machine affects all of them.`,
      worth.length === 0
        ? 'Dependence: nothing arrived.'
        : `Dependence: consecutive readings resemble each other; the ${count(readings)} readings of a cell are worth ${count(Math.min(...worth))} to ${count(Math.max(...worth))} independent ones. ${summary.sessions > 1 ? 'The intervals of ratios are over sessions.' : 'This is one session: another would draw other stalls, and its means may differ by more than these intervals say.'}`,
      lost === 0
        ? `Lost: none of ${all} deliveries was.`
        : `Lost: ${count(lost)} of ${all} deliveries were, and are in no mean; if the slow ones were lost, the means are too low.`,
    ],
  }
}
