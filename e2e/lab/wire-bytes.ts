// The bytes of a message on the wire, by layer: its payload, its envelope, frames and headers, TLS.

import { setTimeout as delay } from 'node:timers/promises'
import { mean } from '../../client/statistics.ts'
import { createSeededRandom } from '../../client/wire.ts'
import { type RecordingWindow, readStates, restClocks, showPages, type stampsOf } from '../browser/typing.ts'
import { type Link, startLink } from '../network/delay-link.ts'
import { profiles } from '../network/profiles.ts'
import type { TlsFigures } from '../network/tls-records.ts'
import { type Naming, type Section, table, text } from '../report/section.ts'
import { labelOf } from './mode-names.ts'
import type { Lab } from './run-sessions.ts'
import { median, rounded } from './statistics.ts'
import type { System } from './testbed.ts'

/** Bytes per message, which add up to `total`; their medians do within a byte or two. */
export interface Layers {
  /** The message's `body` as JSON, as the application gave it. */
  readonly payload: number
  /** The rest of the message as JSON: its id, channel, sender, times and number. */
  readonly envelope: number
  /**
   * Everything else that TLS carries: headers and frames of HTTP, SSE and WebSocket, answers,
   * acknowledgements.
   */
  readonly framing: number
  /** Headers, content types and tags of the records. */
  readonly tls: number
  readonly total: number
  /** TLS records. */
  readonly records: number
}

/** Bytes of one message in this mode. */
export type WireBytes = {
  readonly mode: string
  /** From the window that sends; null if messages come from elsewhere. */
  readonly up: Layers | null
  /** To each other window. */
  readonly down: Layers
  /** To the window that sends: the answer, and its own message. */
  readonly back: Layers | null
  /** From each other window: polls and acknowledgements. */
  readonly asked: Layers
}

const tables = [
  { way: 'up', caption: 'From the window that sends' },
  { way: 'down', caption: 'To each window that only receives' },
  { way: 'back', caption: 'To the window that sends: the answer, and its own message' },
  { way: 'asked', caption: 'From each window that only receives: polls, and acknowledgements of HTTP/2' },
] as const

/** `what`: such as `keys, 50 ms apart`. */
export const formatCounting = (what: string, { pushed, polled } = usualNumbers) =>
  `Counted at the end of the first session, in turns whose times are in no figure, by a relay that reads the headers of the TLS records: ${what}. The figures are medians over ${pushed} messages, each alone on the wire, so that heartbeats do not count; where windows poll, over ${pollRounds} times ${polled} messages, with all polls from the first to the last. Handshakes and the loading of pages do not count.`

/**
 * Empty without figures, as in older reports. `words`: how they were counted. `more`: names a row,
 * besides its mode.
 */
export function wireSections<Row extends WireBytes>(
  rows: readonly Row[] | undefined,
  words: string,
  more: Naming<Row> = [],
): readonly Section[] {
  if (rows === undefined || rows.length === 0) return []
  const naming: Naming<Row> = [['Mode', ({ mode }) => labelOf(mode)], ...more]
  const columns = ['Payload', 'Envelope', 'Frames and headers', 'TLS', 'Sum', 'TLS records']
  const shown = tables.flatMap(({ way, caption }) => {
    const cells = rows.flatMap((row) => {
      const layers = row[way]
      if (layers === null || layers.total === 0) return []
      const { payload, envelope, framing, tls, total, records } = layers
      return [[...naming.map(([, cell]) => cell(row)), payload, envelope, framing, tls, total, records]]
    })
    if (cells.length === 0) return []
    return [
      table(`${caption}, in bytes per message`, [...naming.map(([name]) => text(name)), ...columns], cells),
    ]
  })
  return [
    {
      title: 'Bytes on the wire',
      tables: shown,
      paragraphs: [
        words,
        'The payload is the message’s body as JSON, and the envelope is the rest of that JSON: id, channel, sender, times and number. Frames and headers are everything else that TLS encrypts: request and status lines, headers (compressed in HTTP/2), the frames of HTTP/2 and WebSocket, the field names of SSE, and what a transport wraps around a message. TLS adds 22 bytes to each record, by the cipher suites negotiated here: a header of 5, the content type and a tag of 16 (RFC 8446, 5.2). Windows of one browser share a connection over HTTP/2, and then its records. A mode that is not in a table sent nothing there. TCP and IP headers are not counted.',
      ],
    },
  ]
}

export interface Counting {
  /** Address of the page, at the system's own origin. */
  readonly address: string
  /** Each is counted by itself. They send from the first window, and resolve when all have received. */
  readonly sends: readonly Send[]
  /** Default: `usualNumbers`. */
  readonly numbers?: typeof usualNumbers
}

type Send = (messages: number) => ReturnType<typeof stampsOf>

/** Messages that are counted for each send: one by one, or without push those of a round. */
const usualNumbers: { readonly pushed: number; readonly polled: number } = { pushed: 10, polled: 20 }

const warmupMessages = 3
/** Without push, the cost of a poll is shared by the messages that it brings: a round has all of them. */
const pollRounds = 3

/**
 * By system and send, in order. A system that cannot be counted is left out, and the run says why:
 * its times are not affected.
 */
export async function countModes<One extends Counted>(
  windows: readonly RecordingWindow[],
  systems: readonly One[],
  countingOf: (system: One) => Counting,
  lab: Pick<Lab, 'progress' | 'signal'>,
): Promise<readonly (readonly WireBytes[])[]> {
  const counted: WireBytes[][] = []
  for (const system of systems) {
    lab.signal.throwIfAborted()
    try {
      counted.push(await countWireBytes(windows, system, countingOf(system)))
    } catch (error) {
      lab.signal.throwIfAborted()
      lab.progress.say(`Bytes were not counted. ${error instanceof Error ? error.message : error}`)
    }
  }
  return counted
}

type Counted = Pick<System, 'name' | 'mode' | 'forgets'>

/**
 * Counts the bytes of messages between a system and windows; the first window sends. One relay carries
 * the sender's connection and another the others', so that they share none. Handshakes and the loading
 * of pages have passed before. The figures are medians over the messages, each alone on the wire, in
 * which a heartbeat does not show; without push over three rounds of them. Rejects if a message is
 * lost, a window uses another mode, TLS is not 1.3, or fewer bytes pass than the messages have.
 */
async function countWireBytes(
  windows: readonly RecordingWindow[],
  { name, mode, forgets }: Counted,
  { address, sends, numbers: { pushed, polled } = usualNumbers }: Counting,
): Promise<WireBytes[]> {
  const others = windows.length - 1
  if (others < 1) throw new Error('Bytes are counted with at least two windows.')
  await using opened = new AsyncDisposableStack()
  const near = await openRelay(address, opened)
  const far = await openRelay(address, opened)
  const addresses = windows.map((_, index) => (index === 0 ? near : far).address)
  await showPages(windows, addresses, { text: '', forgets })
  for (const { mode: used } of await readStates(windows))
    if (used !== null && used !== mode.name) throw new Error(`${name}: a window uses ${used}.`)
  await restClocks(windows)

  async function sendRound(send: Send, size: number) {
    const before = [near.link.tlsFigures(), far.link.tlsFigures()] as const
    const { sent, received } = await send(size)
    await silence([near.link, far.link])
    const after = [near.link.tlsFigures(), far.link.tlsFigures()] as const
    if (sent.length !== size || received.some((stamps) => stamps.length !== size))
      throw new Error(
        `${name}: ${size} messages were to be counted; ${sent.length} were sent and ${received.map(({ length }) => length).join(', ')} received.`,
      )
    const [echoed = [], ...elsewhere] = received
    const [nearBefore, farBefore] = before
    const [nearAfter, farAfter] = after
    return {
      opened: nearAfter.opened + farAfter.opened - nearBefore.opened - farBefore.opened,
      up: layersOf(nearBefore.up, nearAfter.up, sent, size),
      down: layersOf(farBefore.down, farAfter.down, elsewhere.flat(), size * others),
      back: layersOf(nearBefore.down, nearAfter.down, echoed, size),
      asked: layersOf(farBefore.up, farAfter.up, [], size * others),
    }
  }

  async function count(send: Send): Promise<WireBytes> {
    await sendRound(send, warmupMessages)
    const sizes = mode.isPush
      ? Array.from({ length: pushed }, () => 1)
      : Array.from({ length: pollRounds }, () => polled)
    const rounds: Awaited<ReturnType<typeof sendRound>>[] = []
    for (const size of sizes) rounds.push(await sendRound(send, size))
    // A connection that opened in between would add its handshake.
    const settled = rounds.filter((round) => round.opened === 0)
    if (settled.length < rounds.length / 2)
      throw new Error(
        `${name}: connections opened during ${rounds.length - settled.length} of ${rounds.length} rounds.`,
      )
    const middle = (way: 'up' | 'down' | 'back' | 'asked') => medianLayers(settled.map((round) => round[way]))
    const layers = {
      up: middle('up'),
      down: middle('down'),
      back: middle('back'),
      asked: middle('asked'),
    }
    if (layers.up.framing < 0 || layers.down.framing < 0)
      throw new Error(
        `${name}: fewer bytes passed than its messages have; they are compressed, or do not go to the page’s server.`,
      )
    return { mode: name, ...layers }
  }

  const counted: WireBytes[] = []
  for (const send of sends) counted.push(await count(send))
  return counted
}

/** The page's address through a relay to its server. */
async function openRelay(address: string, opened: AsyncDisposableStack) {
  const url = new URL(address)
  const link = await startLink({
    targetPort: Number(url.port),
    profile: profiles.loopback,
    random: createSeededRandom(1),
  })
  opened.defer(link.close)
  url.port = String(link.port)
  return { link, address: url.href }
}

const silentMs = 40
/** Polls that follow each other are never silent for long. */
const silentWithinMs = 200

/** Resolves when nothing has passed for a while: answers and acknowledgements are through. */
async function silence(links: readonly Link[]): Promise<void> {
  const passed = () => links.reduce((sum, link) => sum + link.figures().upBytes + link.figures().downBytes, 0)
  const end = performance.now() + silentWithinMs
  for (let before = -1; before !== passed() && performance.now() < end; ) {
    before = passed()
    await delay(silentMs)
  }
}

interface Sized {
  readonly bytes: number
  readonly bodyBytes: number
}

/** Each of `shares` is one message at one window. */
export function layersOf(
  before: TlsFigures,
  after: TlsFigures,
  messages: readonly Sized[],
  shares: number,
): Layers {
  const total = (after.bytes - before.bytes) / shares
  const tls = (after.overheadBytes - before.overheadBytes) / shares
  const payload = messages.length === 0 ? 0 : mean(messages.map(({ bodyBytes }) => bodyBytes))
  const json = messages.length === 0 ? 0 : mean(messages.map(({ bytes }) => bytes))
  return {
    payload: rounded(payload),
    envelope: rounded(json - payload),
    framing: rounded(total - tls - json),
    tls: rounded(tls),
    total: rounded(total),
    records: rounded((after.records - before.records) / shares),
  }
}

function medianLayers(rounds: readonly Layers[]): Layers {
  const middle = (layer: keyof Layers) => rounded(median(rounds.map((layers) => layers[layer])))
  return {
    payload: middle('payload'),
    envelope: middle('envelope'),
    framing: middle('framing'),
    tls: middle('tls'),
    total: middle('total'),
    records: middle('records'),
  }
}
