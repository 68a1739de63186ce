// What an application says to create its server: checked before anything is opened.

import { availableParallelism } from 'node:os'
import { refuseOthers } from '../../scripts/suggestion.ts'
import { checkEngine, type EngineSettings } from '../config/engine-settings.ts'
import type { Durability } from '../log/sqlite-log.ts'
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
      readonly folder: string
      readonly durability?: Durability
      /** Created if missing, as is one with the suffix `-dead`; default `crosswind`. */
      readonly queue?: string
      readonly region?: string
      /** Another server with SQS's API. */
      readonly endpoint?: string
    }

export interface CrosswindOptions {
  /** Where its endpoints are, such as `/realtime`. */
  readonly path: string
  readonly channels: Readonly<Record<string, ChannelRule>>
  /**
   * Returns what a client may read and write, or null to refuse it. A client with a ticket is asked
   * about when it begins and when its permit ends, one without at each request, of which a stream is
   * one. Required: nothing is open by omission.
   */
  readonly authorize: 'everyone' | Authorize
  /**
   * Signs tickets, at least 32 characters. Servers behind one address need the same; by default each
   * makes its own, which its workers share.
   */
  readonly secret?: string
  /** Where messages are stored. Default: in memory. */
  readonly storage?: Storage
  /**
   * How many processes serve clients on the ports of `listen`; `auto` is one for each core. With
   * several, one more has the log: it runs the program first and, in `listen`, forks the others, which
   * run it again. `isWorker` tells them apart. Default: 1.
   */
  readonly workers?: number | 'auto'
  /** As in docs/settings.md, such as `{ messagesPerSecond: 100 }`. */
  readonly limits?: Partial<EngineSettings['limits']>
  /** Interval of heartbeats, ms; a client that misses two has left. */
  readonly heartbeatMs?: number
  /** Origins of pages on other hosts that may use it, such as `https://wind.example.org`. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Names by which clients may reach it, such as `wind.example.org`; `*` for any. Addresses,
   * `localhost`, the name of the machine and the hosts of `allowedOrigins` are always allowed. Default:
   * no others on a loopback address, elsewhere any.
   */
  readonly allowedHosts?: readonly string[]
  /** Receives errors of the log and of streams, of `validate` and `authorize`, and answers of theirs that cannot be used. */
  readonly onFailure?: (error: unknown) => void
}

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
  'workers',
  'limits',
  'heartbeatMs',
  'allowedOrigins',
  'allowedHosts',
  'onFailure',
]

const storageNames: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['kind', 'folder', 'durability'],
  nats: ['kind', 'servers', 'stream', 'replicas', 'credentialsFile'],
  sqs: ['kind', 'folder', 'durability', 'queue', 'region', 'endpoint'],
}

/** Throws an `Error` that names the option, its value and what is allowed. */
export function checkOptions(options: CrosswindOptions): void {
  const { path, authorize, secret, storage = 'memory', workers = 1 } = options
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
  if (secret !== undefined && secret.length < minSecret)
    throw new Error(`createCrosswind: secret has ${secret.length} characters; it needs ${minSecret}.`)
}

function checkStorage(storage: Exclude<Storage, 'memory'>): void {
  const names = storageNames[storage?.kind]
  if (!names)
    throw new Error(
      `createCrosswind: storage is ${JSON.stringify(storage)}; it must be "memory", or have the kind "sqlite", "nats" or "sqs".`,
    )
  refuseOthers(`createCrosswind: storage, of the kind ${storage.kind},`, storage, names)
  if (storage.kind !== 'nats' && typeof storage.folder !== 'string')
    throw new Error(`createCrosswind: storage.folder is ${storage.folder}; it must be a path.`)
}

const isFile = (storage: Storage): storage is Extract<Storage, { readonly folder: string }> =>
  storage instanceof Object && storage.kind !== 'nats'

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
  if (!(storage instanceof Object)) return checkEngine(given, 'createCrosswind')
  if (storage.kind === 'nats') {
    const { kind: broker, ...nats } = storage
    return checkEngine({ ...given, broker, nats }, 'createCrosswind')
  }
  const { kind, folder: _, durability, ...sqs } = storage
  const queue = kind === 'sqs' && { broker: kind, sqs }
  return checkEngine({ ...given, durability, ...queue }, 'createCrosswind')
}
