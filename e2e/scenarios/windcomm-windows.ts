// What a WindComm run measures: a server, links to it, and receiving windows behind them.

import type { LinkState } from '../../client/index.ts'
import { isKind, type Message, type Polling } from '../../server/wire/messages.ts'
import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import { createSeededRandom, type Random } from '../../server/wire/time.ts'
import type { LabDoor } from '../../web/lab.ts'
import type { Browser } from '../browser/browser.ts'
import { pageClock, readMachineClock } from '../browser/typing.ts'
import { openTransport } from '../clients/client.ts'
import { requireMode } from '../lab/mode-names.ts'
import { openNodeLink } from '../lab/node-link.ts'
import { findFreePorts, makeServerFolder, serverProgram, startServerProcess } from '../lab/server-process.ts'
import { startLink } from '../network/delay-link.ts'
import { baseline } from './windcomm-paper.ts'
import type { Reading, Receipt, Site } from './windcomm-samples.ts'

export interface Plan {
  readonly sites: readonly Site[]
  readonly modes: readonly Mode[]
  readonly readings: number
  readonly rateHz: number
  readonly polling: Polling
  readonly seed: number
}

export type Testbed = Awaited<ReturnType<typeof openTestbed>>

/**
 * Starts a server with a simulated sensor, and a link for each method at each site: separate queues, no shared HTTP/2
 * connection. A site's links start together with one seed: all methods meet the same stalls at the same moments. Defers
 * the closing of everything on `opened`.
 */
export async function openTestbed({ sites, modes, rateHz, polling }: Plan, opened: AsyncDisposableStack) {
  const folder = await makeServerFolder('windcomm')
  opened.defer(folder.remove)
  // Chosen first, because server and links need each other's addresses.
  const ports = await findFreePorts()
  const started = sites.flatMap(({ name: site, profile, seed }) =>
    modes.map(async ({ name: mode, http }) => {
      const random = createSeededRandom(seed)
      const link = await startLink({ targetPort: ports[http], profile, random })
      opened.defer(() => link.close())
      return { site, mode, link, origin: `https://localhost:${link.port}` }
    }),
  )
  const links = await Promise.all(started)
  const flags = folder.flags({
    host: 'localhost',
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
  const server = await startServerProcess(serverProgram, flags)
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
    linkFigures: () => links.map(({ site, mode, link }) => ({ site, mode, ...link.figures() })),
  }
}

export type ListeningWindow = Pick<Page, 'site' | 'mode' | 'link' | 'receipts'>

/** One channel per window: no presence messages from other sites. */
function channelOf(site: string, mode: string): string {
  return `windcomm-${site}-${mode.replace('/', '-')}`
}

export type Page = Awaited<ReturnType<typeof openPage>>

/**
 * Receives the wind without drawing it, in a small window: the paper had one window per computer and excluded its
 * display; here six would draw on the processors that run server and links.
 */
export async function openPage(browser: Browser, testbed: Testbed, site: string, mode: Mode) {
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
    /** Against the server, without a link's delay. */
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
export function openClient(testbed: Testbed, site: string, mode: Mode, random: Random) {
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

export type ReferenceClient = ReturnType<typeof openReferenceClient>

/** Reads at the server without a link; the reference for every other window. */
export function openReferenceClient(testbed: Testbed) {
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
    ...{ name: 'w', channels: [channel, 'wind'], mode, mayFall: false },
    ...{ originFor, polling, bounds, random },
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
