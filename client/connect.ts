// The library's door: channels of one server over one stream, each with a room and subscriptions.

import { parseCursor } from '../protocol/messages.ts'
import { Channels, type ConnectOptions, type OverOptions, overAll } from './follow.ts'
import type { Off } from './listeners.ts'
import { Channel, ChannelRoom, type Place, type Room, type Subscriber } from './room.ts'

export type { VolatileMessage } from '../protocol/messages.ts'
export * from './follow.ts'
export type { Place, Presence, Room, RoomChange, RoomMessage, Subscriber } from './room.ts'

/** Connects to a server below `url`, when the first channel is read. Throws if a mode is unknown. */
export function connect(url: string | URL, options: ConnectOptions = {}): Crosswind {
  return connectOver(url, overAll(options))
}

/** As `connect`, over these transports only: a bundle contains no others. */
export function connectOver(url: string | URL, options: OverOptions): Crosswind {
  return new Crosswind(url, options)
}

export class Crosswind extends Channels {
  /**
   * The room of a channel, one for each name. Throws if it is open from another place: leave it before, or
   * subscribe.
   */
  channel<Data>(name: string, place: Place = {}): Room<Data> {
    const channel = this.#channel(name, place)
    channel.room ??= new ChannelRoom(channel, place)
    for (const key of ['from', 'kind'] as const)
      if (place[key] !== undefined && place[key] !== channel.room.place[key])
        throw new Error(
          `Channel "${name}" is open with another \`${key}\` than "${place[key]}": leave the room before, or use \`subscribe\`.`,
        )
    return channel.room as Room<Data>
  }

  /** A place of its own in a channel, beside its room and other subscriptions. Returns what ends it. */
  subscribe<Data>(name: string, subscriber: Subscriber<Data>): Off {
    return this.#channel(name, subscriber).subscribe(subscriber as Subscriber<unknown>)
  }

  #channel(name: string, { from }: Place): Channel {
    if (from && !['newest', 'start'].includes(from) && !parseCursor(from))
      throw new Error(`from is "${from}"; it must be a message’s cursor, "start" or "newest".`)
    const known = this.followerOf(name)
    if (known instanceof Channel) return known
    return new Channel(name, from, (follower) => this.follow(name, follower))
  }
}
