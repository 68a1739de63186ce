// Measures a WindComm run: a server with a sensor, links to it, and receiving windows behind them.

import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectionState } from '../../client/connect.ts'
import {
  createSeededRandom,
  type HttpVersion,
  isKind,
  type Message,
  type Mode,
  type Polling,
} from '../../client/wire.ts'
import type { Figures } from '../../scripts/process.ts'
import { type Browser, startBrowser } from '../browser/browser.ts'
import {
  compareClock,
  hasAll,
  pageClock,
  type RecordingWindow,
  readLink,
  readMachineClock,
  readStamps,
  readTickOffset,
} from '../browser/typing.ts'
import { openTransport } from '../clients/client.ts'
import { exchangeWithServer } from '../clients/http-client.ts'
import { type CheckedClock, type ClockReading, followClock } from '../lab/clock.ts'
import { requireMode } from '../lab/mode-names.ts'
import { openNodeLink } from '../lab/node-link.ts'
import { programs, serverConditions } from '../lab/programs.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { type Delivery, matchDeliveries } from '../lab/samples.ts'
import {
  findFreePorts,
  type MeasuredServer,
  makeServerFolder,
  startServerProcess,
} from '../lab/server-process.ts'
import { everywhere } from '../lab/testbed.ts'
import { layersOf, type WireBytes } from '../lab/wire-bytes.ts'
import { type Link, type LinkFigures, lateBetween, startLink } from '../network/delay-link.ts'
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

interface Place {
  readonly name: string
  readonly windows: 'browser' | 'client'
}

export interface SimulatedSite extends Place {
  /** As run, after scaling. */
  readonly profile: Profile
  /** The same for every method at this site. */
  readonly seed: number
}

/** Reaches the server over the network that there is. */
export interface MachineSite extends Place {
  readonly profile: null
  /** Such as `this machine` or `Chrome 156 on Android`. */
  readonly machine: string
}

export type Site = SimulatedSite | MachineSite

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

/**
 * Offset and bound from exchanges. Stamps at simulated sites are not corrected: one machine has one
 * clock. Those of other machines are, by the mean of the comparisons before and after.
 */
export interface ComparedClock extends CheckedClock {
  /** Error of this clock's stamps against the server's. */
  readonly errorMs: number
  /** Against other windows of the same machine, if that is known apart. */
  readonly withinMs?: number
}

/** Before and after the counted readings: `clients` for all of them, `SITE, MODE` for each page. */
export interface ClockChecks {
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
  maxErrorMs: number | null,
  when: 'before' | 'after',
): void {
  if (maxErrorMs === null) return
  const wrong = clocks.filter(({ errorMs }) => errorMs > maxErrorMs)
  if (wrong.length === 0) return
  const found = wrong.map(({ name, errorMs }) => `${name} may be off by ${errorMs.toFixed(2)} ms`).join('; ')
  const outcome = when === 'before' ? 'Nothing was measured' : 'What was measured does not count'
  throw new Error(
    `Clocks must agree with the server's within ${maxErrorMs} ms (--clock-error); ${when} the run ${found}. ${outcome}: run it again when the machine is less busy.`,
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
  readonly readings: number
  /** Largest error of a clock; null for any. */
  readonly maxErrorMs: number | null
}

/** Where a session takes place: windows, the server that they listen to, and their clocks. */
export interface Testbed {
  readonly windows: readonly ListeningWindow[]
  /** Pages of browsers. */
  readonly pages: readonly Page[]
  /** Describes all browsers; `none` without any. */
  readonly browser: string
  readonly reference: ReferenceClient
  readonly figures: () => Promise<Pick<Figures, 'cpuMs'>>
  /** Nothing but the sensor writes to the server's log. */
  readonly isUndisturbed: boolean
  readonly linkFigures: () => Promise<readonly Omit<LinkUse, 'lateMs'>[]>
  /**
   * Figures of the simulated links to browsers' windows, or to all if no browsers take part; not of those
   * that carry packets.
   */
  readonly tlsFigures: () => readonly LinkTls[]
  /** Rejects if comparisons contradict each other. */
  readonly compareClocks: (when: 'before' | 'after') => Promise<readonly ComparedClock[]>
  /** To add to a window's stamps, once its clock was compared before and after. */
  readonly offsetMs: (window: ListeningWindow) => number
}

/** Where all sessions of a run take place. */
export interface Arrangement {
  /** As in the first session. */
  readonly sites: readonly Site[]
  readonly polling: Polling
  /** For the report. */
  readonly server: string
  readonly parameters?: Circumstances['parameters']
  readonly open: (session: number, opened: AsyncDisposableStack, signal: AbortSignal) => Promise<Testbed>
  readonly end?: () => Promise<void>
}

/** How a window reaches the server. */
export interface Access {
  /** PEM; null trusts any certificate. */
  readonly ca: string | null
  readonly polling: Polling
  readonly opened: AsyncDisposableStack
}

interface SimulatedPlan {
  readonly sites: readonly SimulatedSite[]
  readonly modes: readonly Mode[]
  readonly rateHz: number
  readonly polling: Polling
  /** Each answer over HTTP/1.1 ends its connection. */
  readonly newConnections: boolean
}

/**
 * Starts a server with a simulated sensor, and a link for each method at each site: separate queues, no shared HTTP/2
 * connection. A site's links start together with one seed: all methods meet the same stalls at the same moments. Defers
 * the closing of everything on `opened`. Rejects on abort.
 */
export async function openSimulated(
  { sites, modes, rateHz, polling, newConnections }: SimulatedPlan,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Testbed> {
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
    ...settingsFor(polling),
    'sensor-source': 'simulated',
    'sensor-rate-hz': rateHz,
  })
  const where = network ? { host: network.control, through: network.there } : {}
  const imports = newConnections ? [serverConditions('closing=every')] : []
  const server = await startServerProcess(programs.server, flags, { ...where, imports })
  opened.defer(server.close)
  const access: Access = { ca: folder.ca, polling, opened }
  /** Through the link. */
  const originOf = (site: string, mode: string) => {
    const found = links.find((link) => link.site === site && link.mode === mode)
    if (!found) throw new Error(`There is no link for ${mode} at ${site}.`)
    return found.origin
  }
  const withBrowser = sites.filter(({ windows }) => windows === 'browser')
  const counted = (withBrowser.length > 0 ? withBrowser : sites).map(({ name }) => name)
  const pages: Page[] = []
  const clients: ListeningWindow[] = []
  let version = 'none'
  for (const { name, windows } of sites) {
    const at = (mode: Mode) => ({ site: name, mode, origin: originOf(name, mode.name) })
    if (windows === 'browser') {
      const browser = await startBrowser()
      opened.defer(browser.quit)
      version = browser.version
      for (const mode of modes) {
        signal.throwIfAborted()
        pages.push(await openPage(await newSmallWindow(browser), at(mode)))
      }
    } else {
      for (const mode of modes) clients.push(openClient(access, at(mode)))
    }
  }
  return {
    windows: [...pages, ...clients],
    pages,
    browser: version,
    reference: openReferenceClient(access, server.origin),
    figures: server.figures,
    isUndisturbed: true,
    async linkFigures() {
      const packets = (await network?.figures()) ?? []
      return links.map(({ site, mode, figures }) => ({ site, mode, ...figures(packets) }))
    },
    compareClocks: clockComparer(server.origin['1.1'], folder.ca, pages),
    offsetMs: () => 0,
    tlsFigures: () =>
      links.flatMap(({ site, mode, tls }) =>
        tls && counted.includes(site) ? [{ site, mode, ...tls() }] : [],
      ),
  }
}

/** Settings of every server that a run starts. */
export const settingsFor = ({ intervalMs, holdMs }: Polling) => ({
  share: 'none',
  'polling-interval-ms': intervalMs,
  'polling-hold-ms': holdMs,
  'drain-ms': 1000,
})

type PathUse = Omit<LinkUse, 'site' | 'mode' | 'lateMs'>

/** To the server's port: a link, or on the far host packets. */
async function openPath(
  { profile, seed, port }: Pick<SimulatedSite, 'profile' | 'seed'> & { readonly port: number },
  network: PacketNetwork | null,
  opened: AsyncDisposableStack,
): Promise<{
  origin: string
  figures: (packets: readonly PathFigures[]) => PathUse
  tls: Link['tlsFigures'] | null
}> {
  if (network && profile.loss) {
    const { number, address } = await network.addPath(profile, seed)
    return {
      origin: `https://${address}:${port}`,
      tls: null,
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
  return {
    origin: `https://localhost:${link.port}`,
    figures: () => link.figures(),
    tls: () => link.tlsFigures(),
  }
}

export interface ListeningWindow {
  readonly site: string
  readonly mode: string
  readonly link: () => Promise<ReturnType<typeof readLink>>
  readonly has: (id: string) => Promise<boolean>
  readonly receipts: () => Promise<readonly Receipt[]>
  /** For windows that a measurement can do without: leaves this one's site out, and says why. */
  readonly miss?: (why: string) => void
  /** Why its site is left out; null if it is not. */
  readonly missed?: () => string | null
}

interface WindowPlace {
  readonly site: string
  readonly mode: Mode
  readonly origin: string
}

/** One channel per window: no presence messages from other sites. */
function channelOf(site: string, mode: string): string {
  return `windcomm-${site}-${mode}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')
}

export interface Page extends ListeningWindow {
  readonly window: RecordingWindow
  readonly origin: string
}

/**
 * In which a page receives the wind without drawing it: the paper had one window per computer and excluded its
 * display; here six would draw on the processors that run server and links.
 */
export async function newSmallWindow(browser: Pick<Browser, 'newWindow'>): Promise<RecordingWindow> {
  const window = await browser.newWindow()
  await window.resize(520, 640)
  return window
}

export async function openPage(window: RecordingWindow, { site, mode, origin }: WindowPlace): Promise<Page> {
  const { name, transport, http } = mode
  const channel = channelOf(site, name)
  const query = new URLSearchParams({ transport, http, channel, view: 'editor', record: '' })
  await window.open(`${origin}/?${query}`)
  return {
    window,
    origin,
    site,
    mode: name,
    link: () => window.run(readLink),
    has: (id) => window.run(hasAll, [id], 0),
    async receipts() {
      const { received } = await window.run(readStamps, 0, 0)
      return received
        .filter(({ kind }) => kind === 'reading')
        .map(({ id, receivedAt }) => ({ id, receivedAt }))
    },
  }
}

/** Without a browser: the web app's link in this process. */
export function openClient(access: Access, { site, mode, origin }: WindowPlace): ListeningWindow {
  const receipts: Receipt[] = []
  const link = openLink(access, {
    channel: channelOf(site, mode.name),
    mode,
    originFor: () => origin,
    onReading: ({ id }, receivedAt) => void receipts.push({ id, receivedAt }),
  })
  return {
    site,
    mode: mode.name,
    link,
    has: async (wanted) => receipts.some(({ id }) => id === wanted),
    receipts: async () => receipts,
  }
}

type ReferenceClient = ReturnType<typeof openReferenceClient>

/** Reads from the server without a simulated link, as the reference for every other window. */
export function openReferenceClient(access: Access, origin: MeasuredServer['origin']) {
  /** In the log's order. */
  const readings: Reading[] = []
  const sizes: { bytes: number; bodyBytes: number }[] = []
  const link = openLink(access, {
    channel: 'windcomm-reference',
    mode: requireMode(baseline),
    originFor: (http) => origin[http],
    onReading(reading) {
      const { id, seq, at, acceptedAt, body } = reading
      readings.push({ id, seq, at, acceptedAt })
      sizes.push({ bytes: jsonBytes(reading), bodyBytes: jsonBytes(body) })
    },
  })
  return { link, readings, sizes }
}

const jsonBytes = (value: object) => Buffer.byteLength(JSON.stringify(value))

interface LinkOpening {
  readonly channel: string
  readonly mode: Mode
  readonly originFor: (http: HttpVersion) => string
  /** `receivedAt`: stamped before parsing, ms since the epoch. */
  readonly onReading: (reading: Message<'reading'>, receivedAt: number) => void
}

/** It publishes nothing. */
const bounds = { messages: 1, bytes: 1024 }

function openLink({ ca, polling, opened }: Access, { channel, mode, originFor, onReading }: LinkOpening) {
  let shown: { readonly state?: ConnectionState['status']; readonly mode?: string } = {}
  const link = openNodeLink({
    name: 'w',
    channels: [channel, 'wind'],
    mode,
    mayFall: false,
    originFor,
    ca,
    polling,
    bounds,
    connect: (opening) => openTransport({ ...opening, ca }),
    onState({ status, mode }) {
      shown = { state: status, mode }
    },
    onMessage(message, receivedAt) {
      if (isKind(message, 'reading')) onReading(message, receivedAt)
    },
  })
  opened.defer(() => link.close())
  return async () => shown
}

/** Five seconds at the paper's rate. */
export const warmUpReadings = 20

/**
 * Rejects on abort, if windows do not open, if a clock's error is too large, and if the sensor
 * stops.
 */
export async function measureWind(
  { readings: wanted, maxErrorMs }: Plan,
  testbed: Testbed,
  { signal, progress }: Lab,
) {
  const { windows, pages, browser, reference } = testbed
  await untilOpen(windows, reference, signal)
  progress.say(
    `${windows.length} windows are open${browser === 'none' ? '' : `, ${pages.length} of ${browser}`}.`,
  )

  const before = await testbed.compareClocks('before')
  refuseWrongClocks(before, maxErrorMs, 'before')
  const errorMs = Math.max(...before.map(({ errorMs }) => errorMs))
  progress.say(`Clocks are off by ${errorMs.toFixed(2)} ms at most; warming up.`)
  const first = await warmUp(windows, reference, signal)
  const usedBefore = await testbed.figures()
  const linksBefore = await testbed.linkFigures()
  const tlsBefore = testbed.tlsFigures()
  const timer = setInterval(() => {
    progress.update(`${reference.readings.length - first} of ${wanted} readings`)
  }, progressEveryMs)
  try {
    await untilReadings(reference, first + wanted, signal)
  } finally {
    clearInterval(timer)
    progress.clear()
  }
  const readings = reference.readings.slice(first, first + wanted)
  if (testbed.isUndisturbed) refuseGaps(readings)
  const last = readings.at(-1)
  // Readings still missing count as lost.
  if (last) await lacking(windows, last, signal)
  const links = (await testbed.linkFigures()).map((after, place) => ({
    ...after,
    lateMs: lateBetween(linksBefore[place] ?? after, after),
  }))
  const bytes = bytesOf(tlsBefore, testbed.tlsFigures(), reference.sizes.slice(first))
  const usedAfter = await testbed.figures()
  const after = await testbed.compareClocks('after')
  refuseWrongClocks(after, maxErrorMs, 'after')
  const samples: WindSample[] = []
  // A joined device's windows are asked one after the other.
  for (const window of windows) samples.push(...(await samplesOf(window, readings, testbed)))
  const missed = [
    ...new Map(windows.map(({ site, missed }) => [site, missed?.() ?? null])).entries(),
  ].flatMap(([site, why]) => (why === null ? [] : [{ site, why }]))
  for (const { site, why } of missed) progress.say(`Without ${site}, which ${why}.`)
  const isThere = ({ site }: { readonly site: string }) => missed.every((one) => one.site !== site)
  const serverCpuMs = usedAfter.cpuMs - usedBefore.cpuMs
  return {
    readings,
    samples: samples.filter(isThere),
    missed,
    clock: { before, after },
    links,
    bytes,
    serverCpuMs,
    browser,
  }
}

export interface SiteBytes extends WireBytes {
  readonly site: string
}

type LinkTls = ReturnType<Link['tlsFigures']> & { readonly site: string; readonly mode: string }

/** A link over which a connection was opened is left out: its handshake would count. */
function bytesOf(
  before: readonly LinkTls[],
  after: readonly LinkTls[],
  sizes: ReferenceClient['sizes'],
): readonly SiteBytes[] {
  return after.flatMap(({ site, mode, opened, up, down }, place) => {
    const start = before[place]
    if (start?.opened !== opened) return []
    return {
      site,
      mode,
      up: null,
      back: null,
      down: layersOf(start.down, down, sizes, sizes.length),
      asked: layersOf(start.up, up, [], sizes.length),
    }
  })
}

/** Empty if its site is left out. */
async function samplesOf(window: ListeningWindow, readings: readonly Reading[], testbed: Testbed) {
  const { mode, site } = window
  const { mode: spoken } = await window.link()
  const receipts = await window.receipts()
  if ((window.missed?.() ?? null) !== null) return []
  if (spoken !== mode)
    throw new Error(
      `The window of ${mode} at ${site} ended in ${spoken}: what it received cannot count for ${mode}.`,
    )
  refuseUnknown(receipts, readings)
  const offsetMs = testbed.offsetMs(window)
  const byServer = receipts.map(({ id, receivedAt }) => ({ id, receivedAt: receivedAt + offsetMs }))
  return matchReadings(readings, window, byServer)
}

/** Throws if the window received a reading between the counted ones that the reference missed. */
function refuseUnknown(receipts: readonly Receipt[], readings: readonly Reading[]): void {
  const known = new Set(readings.map(({ id }) => id))
  const from = receipts.findIndex(({ id }) => id === readings[0]?.id)
  const to = receipts.findIndex(({ id }) => id === readings.at(-1)?.id)
  const unknown = receipts.slice(Math.max(0, from), Math.max(0, to)).find(({ id }) => !known.has(id))
  if (from >= 0 && unknown)
    throw new Error(`The reference missed the reading ${unknown.id}, which a window received. Run it again.`)
}

async function warmUp(windows: readonly ListeningWindow[], reference: ReferenceClient, signal: AbortSignal) {
  const settled = reference.readings.length
  await untilReadings(reference, settled + warmUpReadings, signal)
  const early = reference.readings[settled]
  const late = early ? await lacking(windows, early, signal) : windows
  for (const { miss } of late) miss?.('did not receive the readings of the warm-up')
  if (late.every(({ miss }) => miss)) return reference.readings.length
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
  const listening: readonly Pick<ListeningWindow, 'site' | 'mode' | 'link' | 'miss' | 'missed'>[] = [
    ...windows,
    { link: reference.link, mode: 'the reference', site: 'the server' },
  ]
  for (const { link, mode, site, miss, missed } of listening) {
    const isOpen = async () => (missed?.() ?? null) !== null || (await link()).state === 'open'
    if (await until(isOpen, end, signal)) continue
    if (miss) miss('did not open its windows in time')
    else missing.push(`${mode} at ${site}`)
  }
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

/** The windows that do not have it in time. */
async function lacking(
  windows: readonly ListeningWindow[],
  { id }: Reading,
  signal: AbortSignal,
): Promise<readonly ListeningWindow[]> {
  const end = performance.now() + stragglersWithinMs
  const late: ListeningWindow[] = []
  for (const window of windows) if (!(await until(() => window.has(id), end, signal))) late.push(window)
  return late
}

const ticks = 20
/** Load widens a bound without biasing it; repeats keep the fastest exchanges. */
const maxRounds = 20
const closeEnoughMs = 1

/** Compares this process's clock with that of the server at `origin`. */
export function followOwnClock(origin: string, ca: string | null) {
  const clients = followClock('clients', (times) => exchangeWithServer(origin, ca, times))

  return async () => {
    let own = await compareClock(clients)
    for (let round = 2; round <= maxRounds && errorOf(own) > closeEnoughMs; round += 1)
      own = await compareClock(clients)
    const machine = readTickOffset(ticks)
    return {
      own,
      /** The offset from this machine's clock to the server's. */
      machine: { offsetMs: own.offsetMs - machine.offsetMs, boundMs: own.boundMs + machine.boundMs },
    }
  }
}

/**
 * Clients use this process's clock. Exchanges with a page in a busy browser are too imprecise, so
 * its bound comes through the machine's shared clock: page to machine, machine to this process,
 * this process to server. Rejects if a page's exchanges contradict this chain.
 */
function clockComparer(origin: string, ca: string, pages: readonly Page[]): Testbed['compareClocks'] {
  const readOwn = followOwnClock(origin, ca)
  const exchanging = pages.map((page) => ({
    ...page,
    // Without a link's delay.
    clock: pageClock(page.window, `${page.site}, ${page.mode}`, origin),
  }))

  return async () => {
    const { own, machine } = await readOwn()
    const found: ComparedClock[] = [{ ...own, errorMs: errorOf(own) }]
    for (const { window, clock } of exchanging) {
      const exchanged = await compareClock(clock)
      const ownTicks = await readMachineClock(window)
      const chained = addClocks(ownTicks, machine)
      if (Math.abs(exchanged.offsetMs - chained.offsetMs) > exchanged.boundMs + chained.boundMs)
        throw new Error(
          `The clock of ${exchanged.name} is ${exchanged.offsetMs.toFixed(2)} ms from the server's by exchanges and ${chained.offsetMs.toFixed(2)} ms by the machine's clock: one of them was changed meanwhile. Run it again.`,
        )
      found.push({ ...exchanged, errorMs: errorOf(chained) })
    }
    return found
  }
}

/** From a first clock to a third. */
export const addClocks = (one: ClockReading, other: ClockReading): ClockReading => ({
  offsetMs: one.offsetMs + other.offsetMs,
  boundMs: one.boundMs + other.boundMs,
})
