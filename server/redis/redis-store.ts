// The store of a log in Redis: a stream and what belongs to it, over two connections.

import { createClient } from '@redis/client'
import {
  type KeptText,
  type LogStore,
  newEpoch,
  StorageUnfit,
  StoreConnection,
  type StoreDraft,
  type StoreEvents,
  type StorePage,
  type StoreState,
} from '../storage.ts'
import { append, create, endEpoch, keep, keysOf, purge, read, version } from './scripts.ts'

interface RedisStoreParts extends StoreEvents {
  readonly addresses: readonly string[]
  readonly prefix: string
  readonly place: string
}

const connectWithinMs = 2000
const answerWithinMs = 5000
const pingEachMs = 1000

type Client = ReturnType<typeof open>

/** Begins with one of these if waiting does not help (Redis' documentation, "Error replies"). */
const denied = /^(?:NOAUTH|WRONGPASS|NOPERM|ERR AUTH)/
/** This server has become a copy of another. */
const readOnly = /^READONLY/

export class RedisStore implements LogStore {
  readonly #parts: RedisStoreParts
  readonly #keys: ReturnType<typeof keysOf>
  readonly #topics: { readonly appended: string; readonly notes: string }
  readonly #asking: StoreConnection<Client>
  readonly #listening: StoreConnection<Client>

  constructor(parts: RedisStoreParts) {
    this.#parts = parts
    const { addresses, prefix, onAppended, onReturned } = parts
    this.#keys = keysOf(prefix)
    this.#topics = { appended: `{${prefix}}:appended`, notes: `{${prefix}}:notes` }
    const end = (client: Client) => {
      if (client.isOpen) client.destroy()
    }
    this.#asking = new StoreConnection({ addresses, end, open: connect })
    this.#listening = new StoreConnection({
      addresses,
      end,
      open: (address, onBroken) => this.#listen(address, onBroken),
      onReopened() {
        onReturned()
        onAppended()
      },
    })
  }

  async open(): Promise<void> {
    const { place, prefix } = this.#parts
    const { log, messages, keys, kept } = this.#keys
    try {
      await this.#mustKeepAll()
      const found = await this.#run(create, [log, messages, keys, kept], [version, newEpoch(Math.random)])
      if (Number(found) !== version)
        throw new StorageUnfit(
          `The log ${prefix} of ${place} has version ${found}; this server uses version ${version}. Use @crosswind/redis of the version that made it, or another prefix.`,
        )
      await this.#listening.use(async () => undefined)
    } catch (error) {
      if (error instanceof Error && denied.test(error.message))
        throw new StorageUnfit(`Crosswind cannot use ${place}: ${error.message}.`, { cause: error })
      throw error
    }
  }

  /** A Redis that makes room by itself would erase parts of the log. Rejects with a `StorageUnfit`. */
  async #mustKeepAll(): Promise<void> {
    const info = String(await this.#ask(['INFO', 'memory']))
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? ''
    const hasLimit = !/^maxmemory:0\r?$/m.test(info)
    if (hasLimit && policy.startsWith('allkeys'))
      throw new StorageUnfit(
        `${this.#parts.place} erases any keys when its memory is full (maxmemory-policy ${policy}): set noeviction, or use another server.`,
      )
  }

  async read(after: number): Promise<StorePage | null> {
    // Nothing else would open it again.
    await this.#listening.use(async () => undefined)
    const { log, messages } = this.#keys
    const found = (await this.#run(read, [log, messages], [after])) as readonly string[] | null
    if (!found) return null
    const [epoch = '', head, key = '', at, ...rest] = found
    return {
      epoch,
      head: Number(head),
      last: key === '' ? null : { key, acceptedAt: Number(at) },
      messages: Array.from({ length: rest.length / 2 }, (_, index) => ({
        seq: Number(rest[index * 2]),
        text: rest[index * 2 + 1] ?? '',
      })),
    }
  }

  async append(
    drafts: readonly StoreDraft[],
    { epoch, head }: StoreState,
  ): Promise<readonly number[] | null> {
    const { log, messages, keys, channel: prefix } = this.#keys
    const given = drafts.flatMap(({ key, channel, acceptedAt, text, erased }) => [
      key,
      channel,
      acceptedAt,
      text,
      erased ?? '',
    ])
    return (await this.#run(
      append,
      [log, messages, keys],
      [epoch, head, prefix, this.#topics.appended, ...given],
    )) as readonly number[] | null
  }

  async endEpoch(epoch: string, next: string): Promise<void> {
    await this.#run(endEpoch, [this.#keys.log], [epoch, next])
  }

  readonly purge = async (channel: string, before: number): Promise<void> => {
    const { messages, keys, channel: prefix } = this.#keys
    // In portions, because no other command runs meanwhile.
    while (!(await this.#run(purge, [messages, keys, `${prefix}${channel}`], [channel, before])));
  }

  async kept(): Promise<readonly KeptText[]> {
    const found = (await this.#ask(['HGETALL', this.#keys.kept])) as readonly string[]
    return Array.from({ length: found.length / 2 }, (_, index) => {
      const text = found[index * 2 + 1] ?? ''
      return { name: found[index * 2] ?? '', text: text.slice(text.indexOf(' ') + 1) }
    })
  }

  async keep({ name, seq, text }: KeptText & { readonly seq: number }): Promise<void> {
    await this.#run(keep, [this.#keys.kept], [name, seq, text])
  }

  readonly forget = async (name: string): Promise<void> => {
    await this.#ask(['HDEL', this.#keys.kept, name])
  }

  post(note: string): void {
    // Lost if it fails: the connection breaks, and the servers tell each other everything again.
    this.#ask(['PUBLISH', this.#topics.notes, note]).catch(() => undefined)
  }

  async figures() {
    const { prefix } = this.#parts
    const { log, messages } = this.#keys
    const head = await this.#ask(['HGET', log, 'head'])
    const bytes = await this.#ask(['MEMORY', 'USAGE', messages])
    return {
      bytes: { [prefix]: Number(bytes) },
      brokerHead: { [prefix]: Number(head) },
      reconnects: { redis: this.#asking.reconnects + this.#listening.reconnects },
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#asking.close(), this.#listening.close()])
  }

  #run(script: string, keys: readonly string[], given: readonly (string | number)[]): Promise<unknown> {
    return this.#ask(['EVAL', script, String(keys.length), ...keys, ...given.map(String)])
  }

  /** An error that is not the server's answer ends the connection: the answer may still come. */
  #ask(command: readonly string[]): Promise<unknown> {
    return this.#asking.use(async (client) => {
      try {
        return await inTime(client.sendCommand([...command]))
      } catch (error) {
        const isAnswer = error instanceof Error && /^[A-Z]+ /.test(error.message)
        if (!isAnswer || readOnly.test(error.message)) await this.#asking.drop(client)
        throw error
      }
    })
  }

  async #listen(address: string, onBroken: () => void): Promise<Client> {
    const { onAppended, onNote } = this.#parts
    const client = await connect(address, onBroken)
    try {
      await client.subscribe(this.#topics.appended, onAppended)
      await client.subscribe(this.#topics.notes, onNote)
      return client
    } catch (error) {
      if (client.isOpen) client.destroy()
      throw error
    }
  }
}

function open(url: string) {
  return createClient({
    url,
    RESP: 2,
    name: 'crosswind',
    pingInterval: pingEachMs,
    socket: { connectTimeout: connectWithinMs, reconnectStrategy: false },
  })
}

/** Rejects if the server is a copy of another one. */
async function connect(address: string, onBroken: () => void): Promise<Client> {
  const client = open(address)
  // Its commands reject, too.
  client.on('error', onBroken)
  client.on('end', onBroken)
  try {
    await inTime(client.connect())
    const [role] = (await inTime(client.sendCommand(['ROLE']))) as unknown as readonly string[]
    if (role !== 'master') throw new Error(`${new URL(address).host} is a replica, which accepts no writes`)
    return client
  } catch (error) {
    if (client.isOpen) client.destroy()
    throw error
  }
}

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('it does not answer')), answerWithinMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
