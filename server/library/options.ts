// Options of an application's server: checked before anything is opened.

import { availableParallelism } from 'node:os'
import { refuseOthers } from '../../scripts/suggestion.ts'
import { checkEngine, type EngineSettings } from '../config/engine-settings.ts'
import type { Schema } from '../document/update-reader.ts'
import type { ShowRefusal } from '../http/refusals.ts'
import type { Durability } from '../log/sqlite-log.ts'
import type { SharedStorage } from '../log/store.ts'
import type { Authorize } from '../security/permits.ts'
import type { ChannelRule } from './channels.ts'

export type Storage =
  | 'memory'
  /** A file `log.db` of a folder: survives a killed process, with `machine` also a power cut. */
  | { readonly kind: 'sqlite'; readonly folder: string; readonly durability?: Durability }
  /** A stream of NATS JetStream, shared by several servers. */
  | {
      readonly kind: 'nats'
      /** `host:port` of any servers of the cluster. */
      readonly servers: readonly string[]
      /** Its name; default `crosswind`. */
      readonly stream?: string
      /** Copies of a new stream. Default: three in a cluster of at least three, otherwise one. */
      readonly replicas?: number
      /** Credentials of a NATS user (.creds). */
      readonly credentialsFile?: string
    }
  /** A queue of Amazon SQS, which each message passes before it is stored in a folder as above. */
  | {
      readonly kind: 'sqs'
      /** Without one it is stored in memory. */
      readonly folder?: string
      readonly durability?: Durability
      /** Created if missing, as is one with the suffix `-dead`; default `crosswind`. */
      readonly queue?: string
      readonly region?: string
      /** Another server with SQS's API. */
      readonly endpoint?: string
      /** Until a message that was received and not deleted is received again, s. */
      readonly visibilitySeconds?: number
      /** How often a message is received before it is a dead letter. */
      readonly maxReceives?: number
    }
  /** Made by a package such as @crosswind/postgres; shared by several servers. */
  | SharedStorage

/** Content that documents may have, and the work done on them beside the event loop. */
export interface DocumentOptions {
  readonly schema?: Schema
  /** A module that calls `performTasks` with the same schema and tasks of the application's own. */
  readonly tasks?: URL
}

export interface CrosswindOptions {
  /** Where its endpoints are, such as `/realtime`. */
  readonly path: string
  readonly channels: Readonly<Record<string, ChannelRule>>
  /**
   * Returns what a client may read and write, or null to refuse it. Called for each ticket, again when its
   * permit ends, and without tickets for each request; a stream is one request. Required: nothing is open
   * by omission.
   */
  readonly authorize: 'everyone' | Authorize
  /**
   * Signs tickets, at least 32 characters. Servers behind one address need the same; by default each
   * makes its own, which its workers share.
   */
  readonly secret?: string
  /** Where messages are stored. Default: in memory. */
  readonly storage?: Storage
  /** Options for the channels that are documents. Default: any shape. */
  readonly documents?: DocumentOptions
  /**
   * How many processes serve clients on the ports of `listen`; `auto` is one for each core. With
   * several, one more has the log: it runs the program first and, in `listen`, forks the others, which
   * run it again. `isWorker` tells them apart. Default: 1.
   */
  readonly workers?: number | 'auto'
  /** As in docs/settings.md, such as `{ messagesPerSecond: 100 }`. */
  readonly limits?: Partial<EngineSettings['limits']>
  /** Interval of heartbeats, ms; a client that is silent for 2.5 of them has left. */
  readonly heartbeatMs?: number
  /** Origins of pages on other hosts that may use it, such as `https://wind.example.org`. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Names by which clients may reach it, such as `wind.example.org`; `*` for any. Addresses,
   * `localhost`, the name of the machine and the hosts of `allowedOrigins` are always allowed. Default:
   * no others on a loopback address, elsewhere any.
   */
  readonly allowedHosts?: readonly string[]
  /** Ports of the same hosts, besides those of `listen`, whose pages may use it, such as that of a front. */
  readonly allowedPorts?: readonly number[]
  /** Names of senders, besides `server`, that clients may not use, and `publish` may. */
  readonly reservedNames?: readonly string[]
  /** How long a long poll is held at most, ms, 0 to 25,000. Default: 25,000. */
  readonly holdMs?: number
  /** Time for clients to leave, ms: when it closes, when another log replaces it. Default: 5,000. */
  readonly drainMs?: number
  /** How a client makes room for a channel beyond `limits.maxChannels`: a clause of its refusal. */
  readonly roomMaking?: string
  /** Makes a page of a refusal, for people whose browser opened its address. Default: they get JSON, too. */
  readonly showRefusal?: ShowRefusal
  /** Ends a start that waits for its broker: `createCrosswind` then rejects. */
  readonly signal?: AbortSignal | undefined
  /** Receives errors of the log, of streams, of `validate` and of `authorize`, and reports their invalid results. */
  readonly onFailure?: (error: unknown) => void
}

/** Longest hold of a long poll: a client may ask for less. Many proxies cut an answer after 30 s. */
export const longestHoldMs = 25_000

export const usualDrainMs = 5000
const longestDrainMs = 60_000

const minSecret = 32
const maxWorkers = 64

/** Number of processes that serve clients. */
export function workersOf({ workers = 1 }: Pick<CrosswindOptions, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

const optionNames: readonly (keyof CrosswindOptions)[] = [
  'path',
  'channels',
  'authorize',
  'secret',
  'storage',
  'documents',
  'workers',
  'limits',
  'heartbeatMs',
  'allowedOrigins',
  'allowedHosts',
  'allowedPorts',
  'reservedNames',
  'holdMs',
  'drainMs',
  'roomMaking',
  'showRefusal',
  'signal',
  'onFailure',
]

const storageNames: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['kind', 'folder', 'durability'],
  nats: ['kind', 'servers', 'stream', 'replicas', 'credentialsFile'],
  shared: ['kind', 'name', 'place', 'connect'],
  sqs: ['kind', 'folder', 'durability', 'queue', 'region', 'endpoint', 'visibilitySeconds', 'maxReceives'],
}

/** Throws an `Error` that names the option, its value and what is allowed. */
export function checkOptions(options: CrosswindOptions): void {
  const { path, authorize, secret, storage = 'memory', workers = 1 } = options
  const { holdMs = longestHoldMs, drainMs = usualDrainMs, reservedNames = [] } = options
  refuseOthers('createCrosswind', options, optionNames)
  if (storage !== 'memory') checkStorage(storage)
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new Error(`createCrosswind: path is "${path}"; it must be like /realtime.`)
  if (authorize !== 'everyone' && typeof authorize !== 'function')
    throw new Error(`createCrosswind: authorize is missing; write authorize: 'everyone' for open access.`)
  if (workers !== 'auto' && !(Number.isInteger(workers) && workers >= 1 && workers <= maxWorkers))
    throw new Error(
      `createCrosswind: workers is ${JSON.stringify(workers)}; it must be a whole number from 1 to ${maxWorkers}, or "auto".`,
    )
  if (!(holdMs >= 0 && holdMs <= longestHoldMs))
    throw new Error(`createCrosswind: holdMs is ${holdMs}; it must be from 0 to ${longestHoldMs}.`)
  if (!(drainMs >= 0 && drainMs <= longestDrainMs))
    throw new Error(`createCrosswind: drainMs is ${drainMs}; it must be from 0 to ${longestDrainMs}.`)
  for (const name of reservedNames)
    if (!/^[A-Za-z0-9_.]{1,48}$/.test(name))
      throw new Error(
        `createCrosswind: reservedNames has ${JSON.stringify(name)}; each must be 1 to 48 letters, digits, "_" or ".".`,
      )
  if (options.documents?.schema && !options.documents.tasks)
    throw new Error(
      'createCrosswind: documents.schema needs documents.tasks, a module that calls performTasks with it: large updates are read there.',
    )
  if (secret !== undefined && secret.length < minSecret)
    throw new Error(`createCrosswind: secret has ${secret.length} characters; it needs ${minSecret}.`)
}

function checkStorage(storage: Exclude<Storage, 'memory'>): void {
  const names = storageNames[storage?.kind]
  if (!names)
    throw new Error(
      `createCrosswind: storage is ${JSON.stringify(storage)}; it must be "memory", have the kind "sqlite", "nats" or "sqs", or be made by a package such as @crosswind/postgres.`,
    )
  refuseOthers(`createCrosswind: storage, of the kind ${storage.kind},`, storage, names)
  if (storage.kind === 'nats' || storage.kind === 'shared') return
  if (storage.kind === 'sqs' && storage.folder === undefined) return
  if (typeof storage.folder !== 'string')
    throw new Error(`createCrosswind: storage.folder is ${storage.folder}; it must be a path.`)
}

const isFile = (storage: Storage): storage is Filed =>
  storage instanceof Object && 'folder' in storage && storage.folder !== undefined

type Filed = Extract<Storage, { readonly folder?: string }> & { readonly folder: string }

/** Null if the settings say where the log is. */
export const sharedOf = ({ storage = 'memory' }: Pick<CrosswindOptions, 'storage'>) =>
  storage instanceof Object && storage.kind === 'shared' ? storage : null

/** The folder of the log's file; empty if it has none. */
export const folderOf = ({ storage = 'memory' }: Pick<CrosswindOptions, 'storage'>) =>
  isFile(storage) ? storage.folder : ''

/** Throws a `ConfigError` that names the option, its value and what is allowed. */
export function settingsOf(options: CrosswindOptions): EngineSettings {
  const { limits = {}, heartbeatMs, allowedOrigins, allowedHosts, storage = 'memory' } = options
  const given = {
    limits,
    heartbeatMs,
    allowedOrigins: allowedOrigins && [...allowedOrigins],
    allowedHosts: allowedHosts && [...allowedHosts],
    storage: isFile(storage) ? 'sqlite' : 'memory',
  }
  if (!(storage instanceof Object) || storage.kind === 'shared') return checkEngine(given, 'createCrosswind')
  if (storage.kind === 'nats') {
    const { kind: broker, ...nats } = storage
    return checkEngine({ ...given, broker, nats }, 'createCrosswind')
  }
  const { kind, folder: _, durability, ...sqs } = storage
  const queue = kind === 'sqs' && { broker: kind, sqs }
  return checkEngine({ ...given, durability, ...queue }, 'createCrosswind')
}
