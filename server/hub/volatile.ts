// Volatile messages: not in the log; sent to open streams, and kept for seconds for clients that poll.

import type { Draft } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { trace } from '../../protocol/trace.ts'
import { upsert } from '../../protocol/upsert.ts'
import { Delivery } from './delivery.ts'
import type { Client } from './registry.ts'
import type { Subscriber } from './subscriber.ts'

/** For the next poll of each client, by channel. */
const keptMs = 10_000
const maxKept = 100
const maxKeptBytes = 262_144

interface Kept {
  readonly number: number
  readonly from: string
  readonly at: number
  readonly bytes: number
  readonly delivery: Delivery
}

interface VolatileParts {
  readonly timers: Pick<Timers, 'now'>
  readonly streamsOn: (channel: string) => ReadonlySet<Subscriber>
  /** Number of clients that read a channel. */
  readonly readersOn: (channel: string) => number
  /** Wakes the held polls of a channel. */
  readonly wake: (channel: string) => void
}

export class VolatileMessages {
  readonly #parts: VolatileParts
  readonly #kept = new Map<string, Kept[]>()
  /** Of the newest message. */
  #number = 0

  constructor(parts: VolatileParts) {
    this.#parts = parts
  }

  /** Returns the number of streams to which it was sent. The sender does not get it back. */
  send({ volatile: _, ...message }: Draft): number {
    const { channel, from, id } = message
    const { streamsOn, readersOn, wake } = this.#parts
    const delivery = new Delivery({ type: 'volatile', message })
    const streams = streamsOn(channel)
    trace.hub?.(`${id} is volatile, and goes to ${channel}: streams ${streams.size}`)
    for (const stream of streams) if (stream.identity.id !== from) stream.send(delivery)
    if (readersOn(channel) > streams.size) this.#keep(delivery, message)
    wake(channel)
    return streams.size
  }

  hasNewsFor(client: Client): boolean {
    return client.identity.channels.values().some((channel) => this.#newsOn(channel, client).length > 0)
  }

  /** What a polling client has not received yet, in order; counts it as received. */
  newsFor(client: Client): Delivery[] {
    const news = Array.from(client.identity.channels, (channel) => this.#newsOn(channel, client)).flat()
    client.volatileSeen = this.#number
    return news.sort((one, other) => one.number - other.number).map(({ delivery }) => delivery)
  }

  /** Forgets what is too old. */
  forgetOld(): void {
    const latest = this.#parts.timers.now() - keptMs
    for (const [channel, kept] of this.#kept) {
      while (kept[0] && kept[0].at < latest) kept.shift()
      if (kept.length === 0) this.#kept.delete(channel)
    }
  }

  #newsOn(channel: string, client: Client): readonly Kept[] {
    const seen = client.volatileSeen ?? this.#number
    const kept = this.#kept.get(channel) ?? []
    return kept.filter(({ number, from }) => number > seen && from !== client.identity.id)
  }

  #keep(delivery: Delivery, { channel, from, body }: Omit<Draft, 'volatile'>): void {
    const kept = upsert(this.#kept, channel, () => [])
    this.#number += 1
    const bytes = JSON.stringify(body).length
    kept.push({ number: this.#number, from, at: this.#parts.timers.now(), bytes, delivery })
    let sum = kept.reduce((total, one) => total + one.bytes, 0)
    while (kept.length > 1 && (kept.length > maxKept || sum > maxKeptBytes)) sum -= kept.shift()?.bytes ?? 0
  }
}
