// Tells which clients join and leave which channels; one that comes back at once has not left.

import type { Cancel, Timers } from '../../protocol/time.ts'
import { hiddenAfterMs } from './awareness.ts'
import { type Client, type ClientMoves, type ConnectedClient, connectedClient } from './registry.ts'

/** Whether a client of this server began to read a channel, or ceased to. */
export type Movement = 'joined' | 'left'

export type OnMoved = (movement: Movement, channel: string, client: ConnectedClient) => void

interface Departure {
  readonly channel: string
  readonly client: Client
  readonly cancel: Cancel
}

export class Movements implements ClientMoves {
  readonly #timers: Timers
  readonly #onMoved: OnMoved
  /** Departures that are not told yet, by client and channel. */
  readonly #departures = new Map<string, Departure>()

  constructor(timers: Timers, onMoved: OnMoved) {
    this.#timers = timers
    this.#onMoved = onMoved
  }

  joined(channel: string, client: Client): void {
    const departure = this.#take(channel, client.identity.id)
    if (departure && departure.client.identity.user === client.identity.user) return
    if (departure) this.#tell('left', departure)
    this.#tell('joined', { channel, client })
  }

  /** Told `hiddenAfterMs` later. A client with a free name, which cannot be recognized, leaves at once. */
  left(channel: string, client: Client): void {
    const { id, owner } = client.identity
    if (owner === null) return void this.#tell('left', { channel, client })
    const depart = () => {
      this.#take(channel, id)
      this.#tell('left', { channel, client })
    }
    const cancel = this.#timers.later(depart, hiddenAfterMs)
    this.#departures.set(placeOf(channel, id), { channel, client, cancel })
  }

  /** Another server has the client, which reads these channels there. */
  movedAway(id: string, opening: number, channels: readonly string[]): void {
    for (const channel of channels) {
      const departure = this.#departures.get(placeOf(channel, id))
      if (departure && departure.client.identity.opening <= opening) this.#take(channel, id)
    }
  }

  /** Tells at once who has left. */
  close(): void {
    for (const departure of this.#departures.values()) {
      departure.cancel()
      this.#tell('left', departure)
    }
    this.#departures.clear()
  }

  #take(channel: string, id: string): Departure | undefined {
    const place = placeOf(channel, id)
    const departure = this.#departures.get(place)
    departure?.cancel()
    this.#departures.delete(place)
    return departure
  }

  #tell(movement: Movement, { channel, client }: Omit<Departure, 'cancel'>): void {
    this.#onMoved(movement, channel, connectedClient(client))
  }
}

/** Names of clients and channels contain no space. */
const placeOf = (channel: string, id: string) => `${channel} ${id}`
