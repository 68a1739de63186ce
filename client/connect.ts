// The library's door: channels of one server over one stream, each with a room and subscriptions.

import type { AnyName, DataOf, DeclaredName, OwnStateOf, SentOf, StateOf } from '../protocol/declared.ts'
import { parseCursor } from '../protocol/messages.ts'
import { Channels, type ConnectOptions, type OverOptions, overAll } from './follow.ts'
import type { Off } from './listeners.ts'
import { Channel, ChannelRoom, type OpenChannel, type Place, type Room, type Subscriber } from './room.ts'

export type { VolatileMessage } from '../protocol/messages.ts'
export * from './follow.ts'
export type {
  OpenChannel,
  Past,
  Place,
  Presence,
  Room,
  RoomChange,
  RoomMessage,
  Subscriber,
} from './room.ts'

/** Connects to a server below `url`, when the first channel is read. Throws if a mode is unknown. */
export function connect<Declared = unknown>(
  url: string | URL,
  options: ConnectOptions = {},
): Crosswind<Declared> {
  return connectOver(url, overAll(options))
}

/** As `connect`, over these transports only: a bundle contains no others. */
export function connectOver<Declared = unknown>(
  url: string | URL,
  options: OverOptions,
): Crosswind<Declared> {
  return new Crosswind(url, options)
}

/** `Declared` is the type of the server's declaration: it gives the channels their types. */
export class Crosswind<Declared = unknown> extends Channels {
  /**
   * The room of a channel, one for each name. Throws if it is open from another place: leave it before, or
   * subscribe.
   */
  channel<Name extends DeclaredName<Declared>>(
    name: Name,
    place?: Place,
  ): Room<DataOf<Declared, Name>, SentOf<Declared, Name>, StateOf<Declared, Name>, OwnStateOf<Declared, Name>>
  channel<Data>(name: AnyName<Declared, Data>, place?: Place): Room<Data>
  channel(name: string, place: Place = {}): Room<unknown> {
    const channel = this.#channel(name, place)
    channel.room ??= new ChannelRoom(channel, place)
    for (const key of ['from', 'kind'] as const)
      if (place[key] !== undefined && place[key] !== channel.room.place[key])
        throw new Error(
          `Channel "${name}" is open with another \`${key}\` than "${place[key]}": leave the room before, or use \`subscribe\`.`,
        )
    return channel.room
  }

  /** A place of its own in a channel, beside its room and other subscriptions. Returns what ends it. */
  subscribe<Name extends DeclaredName<Declared>>(
    name: Name,
    subscriber: Subscriber<DataOf<Declared, Name>>,
  ): Off
  subscribe<Data>(name: AnyName<Declared, Data>, subscriber: Subscriber<Data>): Off
  subscribe(name: string, subscriber: Subscriber<unknown>): Off {
    return this.#channel(name, subscriber).subscribe(subscriber)
  }

  /** For the package's other doors: a channel without a place in it. `from`: the cursor of its first reader. */
  open(name: string, from?: string): OpenChannel {
    return this.#channel(name, { from })
  }

  #channel(name: string, { from }: Place): Channel {
    if (from && !['newest', 'start'].includes(from) && !parseCursor(from))
      throw new Error(`from is "${from}"; it must be a message’s cursor, "start" or "newest".`)
    const known = this.followerOf(name)
    if (known instanceof Channel) return known
    return new Channel(name, from, (follower) => this.follow(name, follower))
  }
}
