// Opens the log that the configuration selects.

import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isRefusal } from '../../protocol/refusal.ts'
import type { Random } from '../../protocol/time.ts'
import {
  hourMs,
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
import type { SharedStorage } from './store.ts'

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
    readonly memoryMessages: number
    readonly memoryBytes: number
    readonly maxChannels: number
  }
}

interface Surroundings extends Omit<LogParts, 'limits'> {
  /** Folder of a log that is a file. */
  readonly dataFolder: string
  readonly random: Random
  /** Where the log is, instead of where the settings say. */
  readonly shared?: SharedStorage | null
  /** Receives the log that stores, before anything is appended to it. */
  readonly onOpened?: (log: Log) => void
}

/** Rejects with a `LogFileError` that names the file, or with a sentence about the broker. */
export async function openLog(config: LogConfig, parts: Surroundings): Promise<OpenedLog> {
  const { onOpened, shared } = parts
  if (shared || config.broker === 'nats') {
    const opened = await (shared ? openOnStore(shared, config, parts) : openOnNats(config, parts))
    onOpened?.(opened.log)
    return opened
  }
  const { onFailure, outage } = watchDisk(parts)
  const log = openEmbedded(config, { ...parts, onFailure })
  onOpened?.(log)
  const bytes = () => (config.storage === 'sqlite' ? { bytes: sizesIn(parts.dataFolder) } : {})
  if (config.broker === 'embedded') return { log, outage, figures: async () => bytes() }
  const { SqsLog } = await import('./sqs-log.ts')
  try {
    const sqs = await SqsLog.open(config.sqs, { log, ...parts })
    const figures = async () => ({ ...bytes(), queued: await sqs.queued() })
    return { log: sqs, maxBytes: sqs.maxBytes, figures, outage: () => sqs.outage() ?? outage() }
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
  const { connection, bus, maxBytes, figures, close } = await connectToNats(nats, parts)
  try {
    const log = await NatsLog.open({
      ...parts,
      connection,
      replicas: nats.replicas,
      name: nats.stream,
      limits: limitsOf(config),
      onClosed: close,
    })
    const { outage, lost } = log
    return { log, bus, maxBytes, outage, lost, figures }
  } catch (error) {
    await close()
    throw error
  }
}

async function openOnStore(
  shared: SharedStorage,
  config: LogConfig,
  parts: Surroundings,
): Promise<OpenedLog> {
  const { openStoreLog } = await import('./store-log.ts')
  return openStoreLog(shared, { ...parts, limits: limitsOf(config) })
}

function openEmbedded(config: LogConfig, parts: Surroundings): Log {
  const { storage, durability } = config
  const limits = limitsOf(config)
  return storage === 'memory'
    ? createMemoryLog({ epoch: newEpoch(parts.random), limits, ...parts })
    : openSqliteLog({ file: join(parts.dataFolder, fileName), limits, durability, ...parts })
}

export const fileName = 'log.db'

/** Sizes of the file and those beside it. */
function sizesIn(folder: string): Record<string, number> {
  const names = readdirSync(folder).filter((name) => name.startsWith(fileName))
  // SQLite may have removed one since.
  const sizes = names.map((name) => [
    name,
    statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  ])
  return Object.fromEntries(sizes)
}

/** A log in memory, or a server's copy of a stream, keeps no more than memory holds. */
export function limitsOf({
  broker,
  storage,
  limits,
}: Pick<LogConfig, 'broker' | 'storage' | 'limits'>): LogLimits {
  const { logMessages, logBytes, logHours, memoryMessages, memoryBytes, maxChannels } = limits
  const isInMemory = broker === 'nats' || storage === 'memory'
  return {
    messages: isInMemory ? Math.min(logMessages, memoryMessages) : logMessages,
    bytes: isInMemory ? Math.min(logBytes, memoryBytes) : logBytes,
    ageMs: logHours * hourMs,
    maxChannels,
  }
}
