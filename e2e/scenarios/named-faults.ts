// The named faults: what each does to its servers, and which lines may name lost messages.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StreamAPI } from '@nats-io/jetstream'
import type { Random } from '../../client/wire.ts'
import type { TestNats } from '../../scripts/nats-server.ts'
import { mountSmallDisk } from '../../scripts/small-disk.ts'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, runBackup } from '../lab/server-process.ts'
import type { CuttingProxy } from '../network/cutting-proxy.ts'
import { RestartingServer, type ServerUnderTest, startCluster } from './resilience-server.ts'

/** Faults by name, each for one kind of log. */
export const faultNames = {
  sqlite: ['copy-restored', 'wal-missing', 'wal-damaged', 'database-damaged', 'disk-full'],
  nats: [
    'stream-deleted',
    'stream-purged',
    'stream-full',
    'stream-recreated',
    'node-cut',
    'node-frozen',
    'broker-frozen',
    'all-started-at-once',
    'rolling-restart',
  ],
} as const

export type LogName = keyof typeof faultNames
export type FaultName = (typeof faultNames)[LogName][number]

/** One with its log in SQLite, or three over one NATS stream, each behind a relay. */
export interface FaultedServers {
  readonly server: ServerUnderTest
  readonly servers: readonly RestartingServer[]
  readonly relays: readonly CuttingProxy[]
  readonly nats: TestNats | null
  readonly dataFolder: string
}

interface Parts extends FaultedServers {
  readonly random: Random
  readonly pause: (ms: number) => Promise<void>
  /** How long the fault should last. */
  readonly lastsMs: number
}

interface NamedFault {
  /** Codes of the lines that name lost messages; null if none may be missing, told or not. */
  readonly losses: readonly string[] | null
  /**
   * Messages in flight may be stored again, after later messages of their sender (docs/cluster.md).
   */
  readonly mayReorder?: true
  /** Default when this fault is run alone. */
  readonly windows?: number
  /** Resolves to a function that ends the fault; to anything else if it is already over. */
  readonly begin: (parts: Parts) => Promise<unknown>
}

const stream = 'crosswind'
const diskBytes = 48 * 1024 ** 2

export class Untried extends Error {}

/** Throws `Untried` if this machine does not allow it. */
export async function openServers(
  log: LogName,
  faults: readonly FaultName[],
  opened: AsyncDisposableStack,
): Promise<FaultedServers> {
  const folder = await makeServerFolder('faults')
  opened.defer(folder.remove)
  const more = { 'log-format': 'json' }
  if (log === 'nats') {
    const cluster = await startCluster(folder, { servers: 3, isRelayed: true, more }, opened)
    return { ...cluster, dataFolder: folder.data }
  }
  if (faults.includes('disk-full')) {
    const disk = mountSmallDisk(folder.data, diskBytes)
    if (!disk) throw new Untried('this user may not mount a small disk')
    opened.use(disk)
  }
  const server = await RestartingServer.start(folder, programs.server, more)
  opened.defer(() => server.close())
  return { server, servers: [server], relays: [], nats: null, dataFolder: folder.data }
}

const logFile = ({ dataFolder }: Parts) => join(dataFolder, 'log.db')

/** Resolves to a function that restores the copy. */
async function copyOf(parts: Parts) {
  const folder = `${parts.dataFolder}-copy-${Math.floor(parts.random() * 1e9)}`
  await runBackup('backup', '--to', folder, '--data-folder', parts.dataFolder)
  return () => runBackup('restore', '--from', folder, '--data-folder', parts.dataFolder)
}

/** Changes seven bytes at a random place. */
function damage(file: string, random: Random): void {
  const bytes = readFileSync(file)
  const place = Math.floor(random() * bytes.length)
  for (let at = place; at < Math.min(place + 7, bytes.length); at += 1) bytes[at] = (bytes[at] ?? 0) ^ 0x55
  writeFileSync(file, bytes)
}

async function changeStream(
  { nats }: Parts,
  change: (streams: StreamAPI) => Promise<unknown>,
): Promise<void> {
  if (!nats) throw new Error('There is no NATS here.')
  const { jetstreamManager } = await import('@nats-io/jetstream')
  const admin = await nats.connect()
  try {
    await change((await jetstreamManager(admin)).streams)
  } finally {
    await admin.close()
  }
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('There is nothing to choose from.')
  return item
}

function freeze(pid: number) {
  process.kill(pid, 'SIGSTOP')
  return () => process.kill(pid, 'SIGCONT')
}

/**
 * Room in a stream that is about to be full: more than what is in flight, less than a second's
 * messages.
 */
const roomBytes = 4000

/** NATS 2.9 continues erasing a deleted stream, and loses messages of one created immediately. */
const erasedWithinMs = 1000

/** The order is that of the report. */
export const catalogue: Readonly<Record<FaultName, NamedFault>> = {
  'copy-restored': {
    losses: ['log-lost-messages'],
    async begin(parts) {
      const putBack = await copyOf(parts)
      await parts.pause(parts.lastsMs)
      await parts.server.restart(putBack)
    },
  },
  'wal-missing': {
    losses: ['log-lost-messages'],
    begin: (parts) => parts.server.kill(() => rmSync(`${logFile(parts)}-wal`)),
  },
  'wal-damaged': {
    losses: ['log-lost-messages'],
    begin: (parts) => parts.server.kill(() => damage(`${logFile(parts)}-wal`, parts.random)),
  },
  'database-damaged': {
    losses: ['log-lost-messages'],
    async begin(parts) {
      const putBack = await copyOf(parts)
      await parts.pause(parts.lastsMs / 2)
      // A server that refuses the file says so; then its advice is followed.
      await parts.server
        .restart(() => damage(logFile(parts), parts.random))
        .catch((error) => {
          if (!String(error).includes('not-started')) throw error
          return parts.server.restart(putBack)
        })
    },
  },
  'disk-full': {
    losses: null,
    async begin({ dataFolder }) {
      const filler = join(dataFolder, 'filler')
      try {
        writeFileSync(filler, Buffer.alloc(diskBytes))
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
      return () => rmSync(filler)
    },
  },
  'stream-deleted': {
    losses: ['log-replaced'],
    begin: (parts) => changeStream(parts, (streams) => streams.delete(stream)),
  },
  'stream-purged': {
    losses: ['log-replaced'],
    mayReorder: true,
    async begin(parts) {
      await changeStream(parts, (streams) => streams.purge(stream))
      await pick(parts.servers, parts.random).kill(0)
    },
  },
  'stream-full': {
    losses: null,
    async begin(parts) {
      await changeStream(parts, async (streams) => {
        const { state } = await streams.info(stream)
        // NATS erases what is beyond a new limit, whatever it discards later.
        const max_bytes = state.bytes + roomBytes
        await streams.update(stream, { max_bytes, discard: 'new' } as never)
      })
      return () => changeStream(parts, (streams) => streams.update(stream, { max_bytes: -1 } as never))
    },
  },
  'stream-recreated': {
    losses: ['log-replaced'],
    async begin(parts) {
      for (const { refuse, cut } of parts.relays) {
        refuse(true)
        cut()
      }
      await changeStream(parts, async (streams) => {
        const { config } = await streams.info(stream)
        await streams.delete(stream)
        await parts.pause(erasedWithinMs)
        await streams.add(config as never)
      })
      for (const { refuse } of parts.relays) refuse(false)
    },
  },
  'node-cut': {
    losses: null,
    async begin({ relays, random }) {
      const { hold, release } = pick(relays, random)
      hold()
      return release
    },
  },
  'node-frozen': {
    losses: null,
    begin: async ({ servers, random }) => freeze(pick(servers, random).pid),
  },
  'broker-frozen': {
    losses: null,
    begin: async ({ nats }) => freeze(nats?.pid() ?? 0),
  },
  'all-started-at-once': {
    losses: null,
    async begin({ servers, nats }) {
      const allDown = Promise.withResolvers<void>()
      const up = servers.map((server) => server.kill(() => allDown.promise))
      await nats?.kill()
      allDown.resolve()
      await Promise.all([nats?.restart(), ...up])
    },
  },
  'rolling-restart': {
    losses: null,
    windows: 60,
    async begin({ servers }) {
      for (const server of servers) await server.restart(0)
    },
  },
}
