// The package's door: a log in Redis, for `createCrosswind({ storage })`.

import { refuseOthers } from '../../scripts/suggestion.ts'
import type { SharedStorage } from '../storage.ts'
import { RedisStore } from './redis-store.ts'

export interface RedisOptions {
  /**
   * Such as `redis://user:password@redis1.example:6379/0`, or `rediss:` over TLS. Several are servers
   * that copy each other: the one that accepts writes is used.
   */
  readonly url: string | readonly string[]
  /** Of the keys: servers with the same one share their log. Default: `crosswind`. */
  readonly prefix?: string
}

/** Throws an `Error` that names the option, its value and what is allowed. */
export function redis(options: RedisOptions): SharedStorage {
  refuseOthers('redis', options, ['url', 'prefix'])
  const { url, prefix = 'crosswind' } = options
  const addresses = [url].flat()
  for (const address of addresses.length > 0 ? addresses : [undefined])
    if (!/^rediss?:\/\/./.test(String(address)) || !URL.canParse(String(address)))
      throw new Error(
        `redis: url is ${withoutPassword(address)}; it must be like redis://redis1.example:6379.`,
      )
  if (!/^[\w-]{1,64}$/.test(prefix))
    throw new Error(
      `redis: prefix is ${JSON.stringify(prefix)}; it must be up to 64 letters, digits, "-" and "_".`,
    )
  const name = 'Redis'
  const place = `${name} at ${addresses.map((address) => new URL(address).host).join(', ')}`
  return {
    kind: 'shared',
    name,
    place,
    connect: (events) => new RedisStore({ addresses, prefix, place, ...events }),
  }
}

/** An address may be printed, its password may not. */
const withoutPassword = (address: unknown) =>
  typeof address === 'string' ? JSON.stringify(address.replace(/:[^:/@]*@/, ':…@')) : String(address)
