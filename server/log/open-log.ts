// Opens the log that the configuration selects, and a separate one for probes.

import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { probesChannel } from '../page/page-messages.ts'
import { isRefusal } from '../wire/refusal.ts'
import type { Random } from '../wire/time.ts'
import {
  type Log,
  type LogLimits,
  type LogParts,
  newEpoch,
  type OpenedLog,
  type Outage,
  refusedForMs,
} from './log.ts'
import { createMemoryLog } from './memory-log.ts'
import type { NatsSettings } from './nats-connection.ts'
import { type Durability, openSqliteLog } from './sqlite-log.ts'
import type { SqsSettings } from './sqs-log.ts'

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

interface Surroundings extends Omit<LogParts, 'limits'> {
  /** Of a log that is a file. */
  readonly dataFolder: string
  readonly random: Random
  /** If false, nothing is measured: probes have no log of their own. */
  readonly hasProbes?: boolean
  /**
   * Wraps the storing log; with SQS it sits behind the queue, so that drafts are checked in the
   * order in which they are stored.
   */
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
  const { SqsLog } = await import('./sqs-log.ts')
  try {
    const sqs = await SqsLog.open(config.sqs, { log, ...parts })
    const figures = async () => ({ ...bytes(), queued: await sqs.queued() })
    return { log: sqs.log, mostBytes: sqs.mostBytes, figures, outage: () => sqs.outage() ?? outage() }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** Room for a message and SQLite's pages. */
const roomBytes = 262_144

/** Detects from its failures when a log's file has no room. */
function watchDisk({ dataFolder, now, onFailure }: Surroundings) {
  let full: { readonly since: number; readonly at: number } | null = null
  return {
    onFailure(error: unknown): void {
      if (isRefusal(error, 'log-full')) full = { since: full?.since ?? now(), at: now() }
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
  const [{ connectToNats }, { NatsLog }] = await Promise.all([
    import('./nats-connection.ts'),
    import('./nats-log.ts'),
  ])
  const { connection, bus, mostBytes, figures, close } = await connectToNats(nats, parts)
  const open = (name: string, limits: LogLimits) =>
    NatsLog.open({ ...parts, connection, replicas: nats.replicas, name, limits })
  try {
    const pages = await open(nats.stream, limitsOf(config))
    const probes = parts.hasProbes === false ? null : await open(`${nats.stream}-probes`, probeLimits)
    const lost = probes ? Promise.race([pages.lost, probes.lost]) : pages.lost
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
    return withProbes(pages, parts.hasProbes === false ? null : open('probes.db', probeLimits))
  } catch (error) {
    void pages.close()
    throw error
  }
}

/** Sizes of the files of both logs. */
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
 * Probes are stored like other messages, so that they measure the same cost, but separately: no
 * number of them displaces a page's messages. A read covers channels of one log only.
 */
function withProbes(pages: Log, probes: Log | null, close?: () => Promise<void>): Log {
  const logOf = (channel: string) => (probes && channel === probesChannel ? probes : pages)
  const logFor = (channels: ReadonlySet<string>) => (probes && channels.has(probesChannel) ? probes : pages)
  return {
    append: (draft, acceptedAt) => logOf(draft.channel).append(draft, acceptedAt),
    find: (wanted) => logOf(wanted.channel).find(wanted),
    read: (cursor, channels) => logFor(channels).read(cursor, channels),
    snapshot: (channels) => logFor(channels).snapshot(channels),
    oldest: (channel, kind) => logOf(channel).oldest(channel, kind),
    follow(onMessage) {
      const stops = [pages.follow(onMessage), probes?.follow(onMessage)]
      return () => stops.forEach((stop) => void stop?.())
    },
    heads: pages.heads,
    async close() {
      await Promise.all([pages.close(), probes?.close()])
      await close?.()
    },
  }
}
