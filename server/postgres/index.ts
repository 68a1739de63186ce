// The package's door: a log in PostgreSQL, for `createCrosswind({ storage })`.

import { refuseOthers } from '../../scripts/suggestion.ts'
import type { SharedStorage } from '../storage.ts'
import { PostgresStore } from './postgres-store.ts'

export interface PostgresOptions {
  /**
   * Such as `postgres://user:password@db1.example:5432/app`. Several are servers of one cluster: the
   * one that accepts writes is used. `LISTEN` needs a session: name the server, or a pooler that keeps
   * sessions.
   */
  readonly connectionString: string | readonly string[]
  /** Schema of the tables, created if missing: servers with the same one share their log. Default: `crosswind`. */
  readonly schema?: string
}

const optionNames = ['connectionString', 'schema']

/** Throws an `Error` that names the option, its value and what is allowed. */
export function postgres(options: PostgresOptions): SharedStorage {
  const { connectionString, schema = 'crosswind' } = options
  const addresses = [connectionString].flat()
  refuseOthers('postgres', options, optionNames)
  for (const address of addresses.length > 0 ? addresses : [undefined])
    if (!URL.canParse(String(address)) || !/^postgres(ql)?:/.test(String(address)))
      throw new Error(
        `postgres: connectionString is ${withoutPassword(address)}; it must be like postgres://user@db1.example:5432/app.`,
      )
  if (!/^[a-z_][a-z\d_]{0,39}$/.test(schema))
    throw new Error(
      `postgres: schema is ${JSON.stringify(schema)}; it must be up to 40 small letters, digits and "_".`,
    )
  const name = 'PostgreSQL'
  const place = `${name} at ${addresses.map((address) => new URL(address).host).join(', ')}`
  return {
    kind: 'shared',
    name,
    place,
    connect: (events) => new PostgresStore({ addresses, schema, place, ...events }),
  }
}

/** An address may be printed, its password may not. */
const withoutPassword = (address: unknown) =>
  typeof address === 'string' ? JSON.stringify(address.replace(/:[^:/@]*@/, ':…@')) : String(address)
