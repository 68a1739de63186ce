// The ordered log's contract, and the log that the configuration selects.

import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Cursor, type Draft, type Kind, type Message, probesChannel } from '../wire/messages.ts'
import type { Clock, Random } from '../wire/time.ts'
import { type BaseStore, Folding, type Folds } from './folding.ts'
import type { NatsSettings } from './nats-log.ts'
import { type Bounds, type Identified, Tail } from './retention.ts'
import { createSequencer, LogFull, newEpoch } from './sequencer.ts'
import { type Durability, openSqliteLog } from './sqlite-log.ts'
import type { SqsSettings } from './sqs-log.ts'

export {
  DocumentDeleted,
  IdTaken,
  isRepeat,
  LogClosed,
  LogFull,
  LogUnavailable,
  NotThere,
  newEpoch,
  TooManyChannels,
} from './sequencer.ts'

/** Snapshots outlive all limits but `maxChannels`. */
export interface LogLimits extends Bounds {
  /** Channels ever used. */
  readonly maxChannels: number
}

export interface Snapshot {
  /**
   * The newest of each channel and kind, in order. Of a cumulative kind (`LogParts.folds`) all: a base that joins the
   * older ones, with the envelope of the newest in it, and those that follow.
   */
  readonly messages: readonly Message[]
  readonly head: Cursor
}

export interface CatchUp extends Snapshot {
  /** True: `messages` follow the cursor, up to `reached`. False: a snapshot. */
  readonly recovered: boolean
  /** Cursor after `messages`, even if empty. Before `head` if portions remain: read on from here. */
  readonly reached: Cursor
}

export interface OldestContent {
  readonly base: Message | null
  readonly messages: readonly Message[]
  readonly after: Cursor
}

/** `text`: the message as JSON, where the log has it anyway. */
export type OnMessage = (message: Message, cursor: string, text?: string) => void

/** Errors that do not stop the log, such as a follower's. Must not throw. */
export type OnFailure = (error: unknown) => void

/** Runs `run` once, at once or later. */
export type Defer = (run: () => void) => void

export interface Log {
  /**
   * Stores a draft, notifies followers in order, then answers with its number: at once where it is stored within the call,
   * else with a promise. Idempotent: while the log holds it or has it pending, the same draft (`id`, sender, channel) has
   * the same number; one that is only in a base is stored again. Rejects, and never throws, with `IdTaken`,
   * `TooManyChannels`, `DocumentDeleted`, `NotThere`, `LogClosed`, `LogFull` or the store's error; then nothing is stored.
   */
  readonly append: (draft: Draft, acceptedAt: number) => number | Promise<number>
  /** The message with that id of that sender on that channel, once it is stored; null when the log holds none. */
  readonly find: (wanted: Identified) => Promise<Message | null>
  /** A portion after the cursor, or a snapshot if the log does not reach back. */
  readonly read: (cursor: Cursor | null, channels: ReadonlySet<string>) => Promise<CatchUp>
  readonly snapshot: (channels: ReadonlySet<string>) => Promise<Snapshot>
  /**
   * The oldest content that the log knows of a cumulative kind: a base of what was erased (null: nothing was), the
   * messages after it, and the cursor after which `read` returns the later ones.
   */
  readonly oldest: (channel: string, kind: Kind) => Promise<OldestContent>
  /** Returns the unsubscribe function. */
  readonly follow: (onMessage: OnMessage) => () => void
  /** The newest number of each channel but the probes', as seen by followers; live. */
  readonly heads: () => ReadonlyMap<string, number>
  /** Completes pending appends, then closes the store. Idempotent. */
  readonly close: () => Promise<void>
}

/** Takes plain data to all other servers of a log, in order; some may be lost. */
export interface Bus {
  readonly post: (note: object) => void
  /** Once. `onReturned`: notes may have been lost before now. */
  readonly follow: (onNote: (note: unknown) => void, onReturned: () => void) => void
  /** A will (MQTT 5.0, 3.1.2.5): what the others are told when this server is gone. Absent where nobody would notice. */
  readonly bequeath?: (note: object) => void
}

/** The log takes no messages at the moment. */
export interface Outage {
  /** A clause: "NATS does not answer". */
  readonly reason: string
  /** The log's last sign of life, or the first failure; ms, by the clock of `LogParts`. */
  readonly since: number
  /** What others write does not come either: reads are out of date. */
  readonly isCutOff: boolean
}

export interface OpenedLog {
  readonly log: Log
  /** Absent where the log has one server. */
  readonly bus?: Bus | undefined
  /** The largest message that the broker takes, bytes as JSON; absent where it takes any. */
  readonly mostBytes?: number
  /** Null while the log takes messages; absent where it cannot know. */
  readonly outage?: () => Outage | null
  /** Resolves to the reason when the log was replaced by another one: this one is over. Absent where it cannot be. */
  readonly lost?: Promise<string>
  /** How often stored messages were found missing or damaged; absent where another process counts it. */
  readonly losses?: () => number
  readonly figures?: () => Promise<LogFigures>
}

/** What only files and brokers know. A broker has 0.3 s to tell; what it does not tell is left out. */
export interface LogFigures {
  /** On the disk: of each file, or stream of the broker. */
  readonly bytes?: Counts
  /** The newest number of each stream of the broker. */
  readonly brokerHead?: Counts
  /** How often the connection to each broker was restored. */
  readonly reconnects?: Counts
  /** Messages in the queue, approximately: `waiting`, `received` and not deleted, `dead`. */
  readonly queued?: Counts
}

type Counts = Readonly<Record<string, number>>

const hourMs = 3_600_000

interface LogConfig {
  readonly broker: 'embedded' | 'nats' | 'sqs'
  readonly nats: NatsSettings
  readonly sqs: SqsSettings
  readonly storage: 'memory' | 'sqlite'
  readonly durability: Durability
  readonly limits: {
    readonly logMessages: number
    readonly logBytes: number
    readonly logHours: number
    readonly maxChannels: number
  }
}

export interface LogParts {
  readonly limits: LogLimits
  /** The kinds of which a snapshot needs all messages, and how to join them; default: none. */
  readonly folds?: Folds
  readonly now: Clock
  readonly onFailure: OnFailure
  /** Takes sentences for the terminal: what a start waits for. */
  readonly print?: (sentence: string) => void
  /** Ends a wait: the log then rejects. */
  readonly signal?: AbortSignal
}

interface Surroundings extends Omit<LogParts, 'limits'> {
  /** Takes a sentence when stored messages turn out to be missing or damaged. Must not throw; default: a failure. */
  readonly onLoss?: (sentence: string) => void
  readonly dataFolder: string
  readonly random: Random
  /** Around what stores: behind a queue, so that drafts are checked in the order in which they are stored. */
  readonly guard?: (log: Log) => Log
}

/** Longer than a polling client's pause, short enough for a small file. */
const probeLimits: LogLimits = { messages: 4096, bytes: 4_194_304, ageMs: 60_000, maxChannels: 1 }

/** Rejects with a `LogFileError` that names the file, or with a sentence about the broker. */
export async function openLog(config: LogConfig, parts: Surroundings): Promise<OpenedLog> {
  const { guard = (log) => log } = parts
  if (config.broker === 'nats') {
    const opened = await openOnNats(config, parts)
    return { ...opened, log: guard(opened.log) }
  }
  const { onFailure, outage } = watchDisk(parts)
  const log = guard(openEmbedded(config, { ...parts, onFailure }))
  const bytes = () => (config.storage === 'sqlite' ? { bytes: sizesIn(parts.dataFolder) } : {})
  if (config.broker === 'embedded') return { log, outage, figures: async () => bytes() }
  const { openSqs } = await import('./sqs-log.ts')
  try {
    const { queued, ...opened } = await openSqs(config.sqs, { log, ...parts })
    const figures = async () => ({ ...bytes(), queued: await queued() })
    return { ...opened, figures, outage: () => opened.outage() ?? outage() }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** A refusal counts for so long, ms; then the disk is asked. */
export const refusedForMs = 5000
/** For a message and SQLite's pages. */
const roomBytes = 262_144

/** Knows from its failures when a log in a file has no room. */
function watchDisk({ dataFolder, now, onFailure }: Surroundings) {
  let full: { readonly since: number; readonly at: number } | null = null
  return {
    onFailure(error: unknown): void {
      if (error instanceof LogFull) full = { since: full?.since ?? now(), at: now() }
      else onFailure(error)
    },
    outage(): Outage | null {
      if (full !== null && now() - full.at > refusedForMs) {
        const { bavail, bsize } = statfsSync(dataFolder)
        if (bavail * bsize > roomBytes) full = null
      }
      return (
        full && { reason: 'there is no room on the disk for its file', since: full.since, isCutOff: false }
      )
    },
  }
}

async function openOnNats(config: LogConfig, parts: Surroundings): Promise<OpenedLog> {
  const { nats } = config
  const { openNats } = await import('./nats-log.ts')
  const { open, bus, mostBytes, figures, close } = await openNats(nats, parts)
  try {
    const pages = await open(nats.stream, { ...parts, limits: limitsOf(config) })
    const probes = await open(`${nats.stream}-probes`, { ...parts, limits: probeLimits })
    const lost = Promise.race([pages.lost, probes.lost])
    return { log: withProbes(pages, probes, close), bus, mostBytes, outage: pages.outage, lost, figures }
  } catch (error) {
    await close()
    throw error
  }
}

function openEmbedded(config: LogConfig, parts: Surroundings): Log {
  const { storage, durability } = config
  const open = (name: string, limits: LogLimits) =>
    storage === 'memory'
      ? createMemoryLog({ epoch: newEpoch(parts.random), limits, ...parts })
      : openSqliteLog({ file: join(parts.dataFolder, name), limits, durability, ...parts })
  const pages = open('log.db', limitsOf(config))
  try {
    return withProbes(pages, open('probes.db', probeLimits))
  } catch (error) {
    void pages.close()
    throw error
  }
}

/** Of the files of both logs. */
function sizesIn(folder: string): Record<string, number> {
  const names = readdirSync(folder).filter((name) => /^(log|probes)\.db/.test(name))
  // SQLite may have removed one since.
  const sizes = names.map((name) => [
    name,
    statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  ])
  return Object.fromEntries(sizes)
}

function limitsOf({ limits }: LogConfig): LogLimits {
  const { logMessages, logBytes, logHours, maxChannels } = limits
  return { messages: logMessages, bytes: logBytes, ageMs: logHours * hourMs, maxChannels }
}

/**
 * Probes are stored like other messages, so that they measure what those cost, but apart: no number of them displaces a
 * page's messages. Channels are read either from one log or from the other.
 */
function withProbes(pages: Log, probes: Log, close?: () => Promise<void>): Log {
  const logOf = (channel: string) => (channel === probesChannel ? probes : pages)
  const logFor = (channels: ReadonlySet<string>) => (channels.has(probesChannel) ? probes : pages)
  return {
    append: (draft, acceptedAt) => logOf(draft.channel).append(draft, acceptedAt),
    find: (wanted) => logOf(wanted.channel).find(wanted),
    read: (cursor, channels) => logFor(channels).read(cursor, channels),
    snapshot: (channels) => logFor(channels).snapshot(channels),
    oldest: (channel, kind) => logOf(channel).oldest(channel, kind),
    follow(onMessage) {
      const stops = [pages.follow(onMessage), probes.follow(onMessage)]
      return () => stops.forEach((stop) => void stop())
    },
    heads: pages.heads,
    async close() {
      await Promise.all([pages.close(), probes.close()])
      await close?.()
    },
  }
}

/** A pure relay, as in the 2021 paper, with a bounded tail to resume from. `epoch` is new for each process. */
export function createMemoryLog({ epoch, limits, folds = {}, now, onFailure }: MemoryLogParts): Log {
  const onFolded = (messages: readonly Message[]) =>
    messages.forEach((message) => void tail.superseded(message))
  const defer: Defer = setImmediate
  const floor = () => tail.floor
  const folding = new Folding({ folds, bases: createBases(), defer, onFailure, onFolded, floor })
  const tail = new Tail(limits, now, folding)
  return createSequencer({
    epoch,
    tail,
    maxChannels: limits.maxChannels,
    store: {
      commit: (group) => group.map((_entry, place) => tail.head + 1 + place),
      floor() {
        tail.forget()
        return tail.floor
      },
      after: (seq, channels) => tail.after(seq, channels),
      oldest: (channel, kind) => folding.oldest(channel, kind),
      close: () => folding.close(),
    },
    onFailure,
  })
}

interface MemoryLogParts extends LogParts {
  readonly epoch: string
}

function createBases(): BaseStore {
  const bases = new Map<string, Message>()
  // Neither has a space.
  const keyOf = (channel: string, kind: Kind) => `${channel} ${kind}`
  const past = new Map<string, Map<number, Message>>()
  const pastOf = (channel: string, kind: Kind) =>
    past.getOrInsertComputed(keyOf(channel, kind), () => new Map<number, Message>())
  return {
    read: (channel, kind) => bases.get(keyOf(channel, kind)),
    write(base) {
      bases.set(keyOf(base.channel, base.kind), base)
      return JSON.stringify(base.body).length
    },
    past: (channel, kind) =>
      pastOf(channel, kind)
        .keys()
        .toArray()
        .sort((one, other) => one - other),
    readPast: (channel, kind, seq) => pastOf(channel, kind).get(seq),
    keepPast: (base) => void pastOf(base.channel, base.kind).set(base.seq, base),
    forgetPast: (channel, kind, seq) => void pastOf(channel, kind).delete(seq),
    erase(channel) {
      for (const all of [bases, past])
        for (const key of all.keys()) if (key.startsWith(`${channel} `)) all.delete(key)
    },
  }
}
