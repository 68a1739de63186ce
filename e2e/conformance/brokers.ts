// The brokers on which several servers share a log: the suites of clusters and outages run on each.

import { after, before } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { createClient } from '@redis/client'
import { Client } from 'pg'
import { type ServerChange, testConfig } from '../../app/testing.ts'
import { startNatsServer } from '../../scripts/nats-server.ts'
import { startPostgresServer } from '../../scripts/postgres-server.ts'
import { startRedisServer } from '../../scripts/redis-server.ts'
import type { Storage } from '../../server/index.ts'
import { postgres } from '../../server/postgres/index.ts'
import { redis } from '../../server/redis/index.ts'

export interface Broker {
  readonly port: number
  /** A server's settings for the log of this name: letters and digits. A proxy has another port. */
  readonly serve: (log: string, port?: number) => ServerChange
  /** Without a clean shutdown. */
  readonly kill: () => Promise<void>
  readonly restart: () => Promise<void>
  /** Erases the messages of a log, as another program may. */
  readonly purge: (log: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** The storage of a server, with the log of this name. */
const storages = {
  NATS: (port, stream) => ({ kind: 'nats', servers: [`127.0.0.1:${port}`], stream }),
  PostgreSQL: (port, schema) =>
    postgres({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`, schema }),
  Redis: (port, prefix) => redis({ url: `redis://127.0.0.1:${port}`, prefix }),
} satisfies Record<string, (port: number, log: string) => Storage>

export type BrokerName = keyof typeof storages

export const storageOn = (name: BrokerName, port: number, log: string): Storage => storages[name](port, log)

async function startNats(): Promise<Broker> {
  const { address, kill, restart, stop, connect } = await startNatsServer()
  const port = Number(address().split(':')[1])
  return {
    port,
    serve: (stream, at = port) => ({
      broker: 'nats',
      nats: { ...testConfig.nats, servers: [`127.0.0.1:${at}`], stream },
    }),
    kill,
    restart,
    async purge(log) {
      const admin = await connect()
      await (await jetstreamManager(admin)).streams.purge(log)
      await admin.close()
    },
    stop,
  }
}

async function startPostgres(): Promise<Broker> {
  const { url, port, kill, restart, stop } = await startPostgresServer()
  return {
    port,
    serve: (log, at = port) => ({ sharedStorage: storages.PostgreSQL(at, log) }),
    kill,
    restart,
    async purge(log) {
      const admin = new Client({ connectionString: url })
      await admin.connect()
      await admin.query(`DELETE FROM ${log}.message`)
      await admin.end()
    },
    stop,
  }
}

async function startRedis(): Promise<Broker> {
  const { url, port, kill, restart, stop } = await startRedisServer()
  return {
    port,
    serve: (log, at = port) => ({ sharedStorage: storages.Redis(at, log) }),
    kill,
    restart,
    async purge(log) {
      const admin = createClient({ url })
      await admin.connect()
      await admin.del([`{${log}}:messages`, `{${log}}:keys`])
      admin.destroy()
    },
    stop,
  }
}

const starts: Readonly<Record<BrokerName, () => Promise<Broker>>> = {
  NATS: startNats,
  PostgreSQL: startPostgres,
  Redis: startRedis,
}

/** Calls `declare` for each broker, to declare tests, which may use the broker while they run. */
export function onEachBroker(declare: (name: BrokerName, broker: () => Broker) => void): void {
  for (const [name, start] of Object.entries(starts) as [BrokerName, () => Promise<Broker>][]) {
    let broker: Broker | null = null
    before(async () => {
      broker = await start()
    })
    after(() => broker?.stop())
    declare(name, () => {
      if (!broker) throw new Error(`${name} has not started.`)
      return broker
    })
  }
}
