// Measures a WindComm run: a server with a sensor, links to it, and receiving windows behind them.

import { setTimeout as delay } from 'node:timers/promises'
import type { LinkState } from '../../client/engine.ts'
import {
  createSeededRandom,
  type HttpVersion,
  isKind,
  type Message,
  type Mode,
  type Polling,
  type Random,
} from '../../client/wire.ts'
import type { LabDoor } from '../../web/lab.ts'
import { type Browser, startBrowser } from '../browser/browser.ts'
import { compareClock, pageClock, readMachineClock, readTickOffset } from '../browser/typing.ts'
import { openTransport } from '../clients/client.ts'
import { exchangeWithServer } from '../clients/http-client.ts'
import { type CheckedClock, type ClockReading, followClock } from '../lab/clock.ts'
import type { Lab } from '../lab/experiment.ts'
import { requireMode } from '../lab/mode-names.ts'
import { openNodeLink } from '../lab/node-link.ts'
import { programs } from '../lab/programs.ts'
import { type Delivery, matchDeliveries } from '../lab/samples.ts'
import { findFreePorts, makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import { everywhere } from '../lab/testbed.ts'
import { type LinkFigures, lateBetween, startLink } from '../network/delay-link.ts'
import { PacketNetwork } from '../network/packet-network.ts'
import type { PathFigures, WayFigures } from '../network/packet-relay.ts'
import type { Profile } from '../network/profiles.ts'
import { baseline } from './windcomm-paper.ts'

/** Times are ms since the epoch by the server's clock. */
export interface Reading {
  readonly id: string
  readonly seq: number
  /** The host's stamp of the frame's first byte. */
  readonly at: number
  /** When the server could forward the reading: the paper's t0. */
  readonly acceptedAt: number
}

/** `receivedAt` is stamped before parsing: the paper's t4. */
export interface WindSample extends Delivery {
  readonly site: string
  readonly mode: string
  /** Number among the counted readings, from 1. */
  readonly place: number
  readonly seq: number
  readonly acceptedAt: number
}

export interface Site {
  readonly name: string
  /** As run, after scaling. */
  readonly profile: Profile
  /** The same for every method at this site. */
  readonly seed: number
  readonly windows: 'browser' | 'client'
}

export interface Receipt {
  readonly id: string
  readonly receivedAt: number
}

/** Includes lost readings; ignores receipts of uncounted ones. `receipts`: in order of arrival. */
export function matchReadings(
  readings: readonly Reading[],
  { site, mode }: Pick<WindSample, 'site' | 'mode'>,
  receipts: readonly Receipt[],
): readonly WindSample[] {
  const deliveries = matchDeliveries(
    readings.map(({ id }) => id),
    receipts,
  )
  return readings.map(({ id, seq, acceptedAt }, place) => {
    const { first, copies, reordered } = deliveries[place] ?? { copies: 0, reordered: false }
    const receivedAt = first?.receivedAt ?? null
    return { site, mode, place: place + 1, id, seq, acceptedAt, receivedAt, copies, reordered }
  })
}

/** Offset and bound from exchanges. Stamps are not corrected: one machine has one clock. */
export interface ComparedClock extends CheckedClock {
  /** Error of this clock's stamps against the server's. */
  readonly errorMs: number
}

/** Before and after the counted readings: `clients` for all of them, `SITE, MODE` for each page. */
export interface RunClock {
  readonly before: readonly ComparedClock[]
  readonly after: readonly ComparedClock[]
}

/** Uncorrected offset plus its uncertainty, ms. */
function errorOf({ offsetMs, boundMs }: ClockReading): number {
  return Math.abs(offsetMs) + boundMs
}

/** Throws, naming each clock whose error may exceed the limit. */
export function refuseWrongClocks(
  clocks: readonly ComparedClock[],
  mostErrorMs: number,
  when: 'before' | 'after',
): void {
  const wrong = clocks.filter(({ errorMs }) => errorMs > mostErrorMs)
  if (wrong.length === 0) return
  const found = wrong.map(({ name, errorMs }) => `${name} may be off by ${errorMs.toFixed(2)} ms`).join('; ')
  const outcome = when === 'before' ? 'Nothing was measured' : 'What was measured does not count'
  throw new Error(
    `Clocks must agree with the server's within ${mostErrorMs} ms (--clock-error); ${when} the run ${found}. ${outcome}: run it again when the machine is less busy.`,
  )
}

export interface LinkUse extends Omit<LinkFigures, 'connections' | 'opened'> {
  /** Connections; unknown if the link carries packets. */
  readonly opened: number | null
  readonly site: string
  readonly mode: string
  /** If there are several. */
  readonly session?: number
  /** Actual minus scheduled departure, mean over both directions. */
  readonly lateMs: number
  /** If the link loses packets. */
  readonly packets?: Readonly<Record<'up' | 'down', Pick<WayFigures, 'sent' | 'lost' | 'overflowed'>>>
}

interface Plan {
  readonly sites: readonly Site[]
  readonly modes: readonly Mode[]
  readonly readings: number
  readonly rateHz: number
  readonly polling: Polling
  readonly seed: number
  /** Largest error of a clock. */
  readonly mostErrorMs: number
}

type Testbed = Awaited<ReturnType<typeof openTestbed>>

/**
 * Starts a server with a simulated sensor, and a link for each method at each site: separate queues, no shared HTTP/2
 * connection. A site's links start together with one seed: all methods meet the same stalls at the same moments. Defers
 * the closing of everything on `opened`.
 */
async function openTestbed({ sites, modes, rateHz, polling }: Plan, opened: AsyncDisposableStack) {
  const network = sites.some(({ profile }) => profile.loss) ? await PacketNetwork.open('cubic') : null
  if (network) opened.defer(network.close)
  // Chosen first, because server and links need each other's addresses.
  const ports = await findFreePorts()
  const started = sites.flatMap(({ name: site, ...path }) =>
    modes.map(async ({ name: mode, http }) => {
      return { site, mode, ...(await openPath({ ...path, port: ports[http] }, network, opened)) }
    }),
  )
  const links = await Promise.all(started)
  const reached = network ? [network.control, ...links.map(({ origin }) => new URL(origin).hostname)] : []
  const folder = await makeServerFolder('windcomm', undefined, reached)
  opened.defer(folder.remove)
  const flags = folder.flags({
    host: network ? everywhere : 'localhost',
    ...(network && { access: 'open' }),
    port: ports['2'],
    'http1-port': ports['1.1'],
    // Pages also read the server's clock at its own port, another origin.
    'allowed-origins': links.map(({ origin }) => origin).join(','),
    share: 'none',
    'polling-interval-ms': polling.intervalMs,
    'polling-hold-ms': polling.holdMs,
    'drain-ms': 1000,
    'sensor-source': 'simulated',
    'sensor-rate-hz': rateHz,
  })
  const where = network ? { host: network.control, through: network.there } : {}
  const server = await startServerProcess(programs.server, flags, where)
  opened.defer(server.close)
  return {
    server,
    ca: folder.ca,
    polling,
    opened,
    /** Through the link. */
    originOf(site: string, mode: string): string {
      const found = links.find((link) => link.site === site && link.mode === mode)
      if (!found) throw new Error(`There is no link for ${mode} at ${site}.`)
      return found.origin
    },
    async linkFigures() {
      const packets = (await network?.figures()) ?? []
      return links.map(({ site, mode, figures }) => ({ site, mode, ...figures(packets) }))
    },
  }
}

type PathUse = Omit<LinkUse, 'site' | 'mode' | 'lateMs'>

/** To the server's port: a link, or on the far host packets. */
async function openPath(
  { profile, seed, port }: Pick<Site, 'profile' | 'seed'> & { readonly port: number },
  network: PacketNetwork | null,
  opened: AsyncDisposableStack,
): Promise<{ origin: string; figures: (packets: readonly PathFigures[]) => PathUse }> {
  if (network && profile.loss) {
    const { number, address } = await network.addPath(profile, seed)
    return {
      origin: `https://${address}:${port}`,
      figures(paths) {
        const path = paths.find((one) => one.number === number)
        if (!path) throw new Error(`There is no path ${number}.`)
        const { up, down } = path
        const bytes = { upBytes: up.bytes, downBytes: down.bytes }
        return { opened: null, ...bytes, up: up.late, down: down.late, packets: { up, down } }
      },
    }
  }
  const random = createSeededRandom(seed)
  const target = { targetPort: port, ...(network && { targetHost: network.control }) }
  const link = await startLink({ ...target, profile, random })
  opened.defer(() => link.close())
  return { origin: `https://localhost:${link.port}`, figures: () => link.figures() }
}

type ListeningWindow = Pick<Page, 'site' | 'mode' | 'link' | 'receipts'>

/** One channel per window: no presence messages from other sites. */
function channelOf(site: string, mode: string): string {
  return `windcomm-${site}-${mode}`.replaceAll(/[^a-z0-9.-]/g, '-')
}

type Page = Awaited<ReturnType<typeof openPage>>

/**
 * Receives the wind without drawing it, in a small window: the paper had one window per computer and excluded its
 * display; here six would draw on the processors that run server and links.
 */
async function openPage(browser: Browser, testbed: Testbed, site: string, mode: Mode) {
  const { name, transport, http } = mode
  const window = await browser.newWindow()
  await window.resize(520, 640)
  const channel = channelOf(site, name)
  const query = new URLSearchParams({ transport, http, channel, view: 'editor', record: '' })
  await window.open(`${testbed.originOf(site, name)}/?${query}`)
  return {
    site,
    mode: name,
    link: () => window.run(linkNow),
    receipts: () => window.run(readReceipts),
    /** Compared with the server, without a link's delay. */
    clock: pageClock(window, `${site}, ${name}`, testbed.server.origin['1.1']),
    readMachineClock: () => readMachineClock(window),
  }
}

// These two run in the page; they must use nothing from this module.

type InPage = typeof globalThis & { readonly crosswind?: LabDoor }

function linkNow(): { state?: string; mode?: string } {
  const { view } = (globalThis as InPage).crosswind ?? {}
  // Until the app runs, this global is the element with that id.
  if (typeof view !== 'function') return {}
  const { state, mode } = view().link
  return { state, mode }
}

function readReceipts(): Receipt[] {
  const received = (globalThis as InPage).crosswind?.take().received ?? []
  return received.filter(({ kind }) => kind === 'reading').map(({ id, receivedAt }) => ({ id, receivedAt }))
}

/** Without a browser: the web app's link in this process. */
function openClient(testbed: Testbed, site: string, mode: Mode, random: Random) {
  const receipts: Receipt[] = []
  const origin = testbed.originOf(site, mode.name)
  const link = openLink(testbed, {
    channel: channelOf(site, mode.name),
    mode,
    originFor: () => origin,
    random,
    onReading: ({ id }, receivedAt) => void receipts.push({ id, receivedAt }),
  })
  return { site, mode: mode.name, link, receipts: async () => receipts }
}

type ReferenceClient = ReturnType<typeof openReferenceClient>

/** Reads from the server without a link, as the reference for every other window. */
function openReferenceClient(testbed: Testbed) {
  /** In the log's order. */
  const readings: Reading[] = []
  const link = openLink(testbed, {
    channel: 'windcomm-reference',
    mode: requireMode(baseline),
    originFor: (http) => testbed.server.origin[http],
    random: createSeededRandom(1),
    onReading: ({ id, seq, at, acceptedAt }) => void readings.push({ id, seq, at, acceptedAt }),
  })
  return { link, readings }
}

interface LinkOpening {
  readonly channel: string
  readonly mode: Mode
  readonly originFor: (http: HttpVersion) => string
  readonly random: Random
  /** `receivedAt`: stamped before parsing, ms since the epoch. */
  readonly onReading: (reading: Message<'reading'>, receivedAt: number) => void
}

/** It publishes nothing. */
const bounds = { messages: 1, bytes: 1024 }

function openLink(
  { ca, polling, opened }: Testbed,
  { channel, mode, originFor, random, onReading }: LinkOpening,
) {
  let state: Partial<Pick<LinkState, 'state' | 'mode'>> = {}
  const link = openNodeLink({
    name: 'w',
    channels: [channel, 'wind'],
    mode,
    mayFall: false,
    originFor,
    polling,
    bounds,
    random,
    connect: (opening) => openTransport({ ...opening, ca }),
    onState(next) {
      state = next
    },
    onMessage(message, receivedAt) {
      if (isKind(message, 'reading')) onReading(message, receivedAt)
    },
  })
  opened.defer(() => link.close())
  return async () => state
}

/** Five seconds at the paper's rate. */
export const warmUpReadings = 20

/**
 * Rejects on abort, if windows do not open, if a clock's error is too large, and if the sensor
 * stops.
 */
export async function measureWind(plan: Plan, { signal, progress }: Lab) {
  await using opened = new AsyncDisposableStack()
  const testbed = await openTestbed(plan, opened)
  const reference = openReferenceClient(testbed)
  const { windows, pages, browser } = await openWindows(plan, testbed, opened, signal)
  await untilOpen(windows, reference, signal)
  progress.say(
    `${windows.length} windows are open${browser === 'none' ? '' : `, ${pages.length} of ${browser}`}.`,
  )

  const compareClocks = clockComparer(testbed, pages, plan.mostErrorMs)
  const before = await compareClocks('before')
  const errorMs = Math.max(...before.map(({ errorMs }) => errorMs))
  progress.say(`Clocks are off by ${errorMs.toFixed(2)} ms at most; warming up.`)
  const first = await warmUp(windows, reference, signal)
  const usedBefore = await testbed.server.figures()
  const linksBefore = await testbed.linkFigures()
  const timer = setInterval(() => {
    progress.update(`${reference.readings.length - first} of ${plan.readings} readings`)
  }, progressEveryMs)
  try {
    await untilReadings(reference, first + plan.readings, signal)
  } finally {
    clearInterval(timer)
    progress.clear()
  }
  const readings = reference.readings.slice(first, first + plan.readings)
  refuseGaps(readings)
  const last = readings.at(-1)
  // Readings still missing count as lost.
  if (last) await untilEverywhere(windows, last, signal)
  const links = (await testbed.linkFigures()).map((after, place) => ({
    ...after,
    lateMs: lateBetween(linksBefore[place] ?? after, after),
  }))
  const usedAfter = await testbed.server.figures()
  const after = await compareClocks('after')
  const received = await Promise.all(windows.map((window) => samplesOf(window, readings)))
  const serverCpuMs = usedAfter.cpuMs - usedBefore.cpuMs
  return { readings, samples: received.flat(), clock: { before, after }, links, serverCpuMs, browser }
}

async function samplesOf(window: ListeningWindow, readings: readonly Reading[]) {
  const { mode, site } = window
  const spoken = (await window.link()).mode
  if (spoken === mode) return matchReadings(readings, window, await window.receipts())
  throw new Error(
    `The window of ${mode} at ${site} ended in ${spoken}: what it received cannot count for ${mode}.`,
  )
}

async function openWindows(
  { sites, modes, seed }: Plan,
  testbed: Testbed,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
) {
  const pages: Page[] = []
  const clients: ListeningWindow[] = []
  const random = createSeededRandom(seed)
  let version = 'none'
  for (const { name, windows } of sites) {
    if (windows === 'browser') {
      const browser = await startBrowser()
      opened.defer(browser.quit)
      version = browser.version
      for (const mode of modes) {
        signal.throwIfAborted()
        pages.push(await openPage(browser, testbed, name, mode))
      }
    } else {
      for (const mode of modes) clients.push(openClient(testbed, name, mode, random))
    }
  }
  return { windows: [...pages, ...clients], pages, browser: version }
}

async function warmUp(windows: readonly ListeningWindow[], reference: ReferenceClient, signal: AbortSignal) {
  const settled = reference.readings.length
  await untilReadings(reference, settled + warmUpReadings, signal)
  const early = reference.readings[settled]
  if (early && (await untilEverywhere(windows, early, signal))) return reference.readings.length
  throw new Error('Not every window received the readings of the warm-up: nothing was measured.')
}

/** Only the sensor writes, so readings are numbered consecutively. Throws for a gap. */
function refuseGaps(readings: readonly Reading[]): void {
  const gap = readings.findIndex(({ seq }, place) => place > 0 && seq !== (readings[place - 1]?.seq ?? 0) + 1)
  if (gap === -1) return
  throw new Error(
    `After reading ${readings[gap - 1]?.seq} the log continues with ${readings[gap]?.seq}: something else was written, or the reference missed a reading. Run it again.`,
  )
}

const progressEveryMs = 5000
const lookMs = 100
const openWithinMs = 60_000
/** After this long without a reading the sensor has stopped. */
const silentAfterMs = 20_000
/** Ten times the longest stall of any profile. */
const stragglersWithinMs = 20_000

/** False if it did not hold until `end`. Rejects on abort. */
async function until(holds: () => Promise<boolean>, end: number, signal: AbortSignal): Promise<boolean> {
  while (!(await holds())) {
    if (performance.now() > end) return false
    await delay(lookMs, undefined, { signal })
  }
  return true
}

async function untilOpen(
  windows: readonly ListeningWindow[],
  reference: ReferenceClient,
  signal: AbortSignal,
) {
  const end = performance.now() + openWithinMs
  const missing: string[] = []
  for (const { link, mode, site } of [
    ...windows,
    { ...reference, mode: 'the reference', site: 'the server' },
  ])
    if (!(await until(async () => (await link()).state === 'open', end, signal)))
      missing.push(`${mode} at ${site}`)
  if (missing.length > 0)
    throw new Error(`Windows did not open within ${openWithinMs / 1000} s: ${missing.join('; ')}.`)
}

async function untilReadings(
  { readings }: ReferenceClient,
  wanted: number,
  signal: AbortSignal,
): Promise<void> {
  while (readings.length < wanted) {
    const known = readings.length
    if (await until(async () => readings.length > known, performance.now() + silentAfterMs, signal)) continue
    throw new Error(`No reading arrived for ${silentAfterMs / 1000} s: the server or its sensor has stopped.`)
  }
}

/** False if not every window has it in time. */
async function untilEverywhere(
  windows: readonly ListeningWindow[],
  wanted: Reading,
  signal: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + stragglersWithinMs
  for (const { receipts } of windows) {
    const hasIt = async () => (await receipts()).some(({ id }) => id === wanted.id)
    if (!(await until(hasIt, end, signal))) return false
  }
  return true
}

const ticks = 20
/** Load widens a bound without biasing it; repeats keep the fastest exchanges. */
const mostRounds = 20
const closeEnoughMs = 1

/**
 * Clients use this process's clock. Exchanges with a page in a busy browser are too imprecise, so
 * its bound comes through the machine's shared clock: page to machine, machine to this process,
 * this process to server. Rejects if a page's exchanges contradict this chain, or if a clock's
 * error exceeds the limit.
 */
function clockComparer({ server, ca }: Testbed, pages: readonly Page[], mostErrorMs: number) {
  const clients = followClock('clients', (times) => exchangeWithServer(server.origin['1.1'], ca, times))

  return async (when: 'before' | 'after'): Promise<readonly ComparedClock[]> => {
    let own = await compareClock(clients)
    for (let round = 2; round <= mostRounds && errorOf(own) > closeEnoughMs; round += 1)
      own = await compareClock(clients)
    const machine = readTickOffset(ticks)
    const found: ComparedClock[] = [{ ...own, errorMs: errorOf(own) }]
    for (const page of pages) {
      const exchanged = await compareClock(page.clock)
      const ownTicks = await page.readMachineClock()
      const chained = {
        offsetMs: ownTicks.offsetMs - machine.offsetMs + own.offsetMs,
        boundMs: ownTicks.boundMs + machine.boundMs + own.boundMs,
      }
      if (Math.abs(exchanged.offsetMs - chained.offsetMs) > exchanged.boundMs + chained.boundMs)
        throw new Error(
          `The clock of ${exchanged.name} is ${exchanged.offsetMs.toFixed(2)} ms from the server's by exchanges and ${chained.offsetMs.toFixed(2)} ms by the machine's clock: one of them was changed meanwhile. Run it again.`,
        )
      found.push({ ...exchanged, errorMs: errorOf(chained) })
    }
    refuseWrongClocks(found, mostErrorMs, when)
    return found
  }
}
