// Revocations: which users' earlier permits no longer count, as every server of a log knows them.

import { type Cursor, isKind, type Message, type Revoked } from '../../protocol/messages.ts'
import type { ChannelType } from '../channels/channel-type.ts'
import type { Log } from '../log/log.ts'
import { longestLifeMs } from './permits.ts'

/** No client can name it: a channel's name has no asterisk. */
export const revocationsChannel = '*revocations'

const channels: ReadonlySet<string> = new Set([revocationsChannel])

/** Longer than any permit lasts, even if a clock is set meanwhile. */
const keptMs = 2 * longestLifeMs

/** By user, those that were revoked first at the beginning. */
type Users = Map<string, Required<Revoked>>

/** The newest of a user counts. Forgets those that are older than any permit. */
function note(users: Users, { seq, acceptedAt, body }: Message<'revocation'>): void {
  for (const one of body.revoked) {
    const next = { seq, at: acceptedAt, ...one }
    if ((users.get(one.user)?.seq ?? 0) >= next.seq) continue
    users.delete(one.user)
    users.set(one.user, next)
  }
  for (const [user, { at }] of users) {
    if (at >= acceptedAt - keptMs) return
    users.delete(user)
  }
}

/** Joins those of a log. */
export function foldRevocations(messages: readonly Message<'revocation'>[]): Message<'revocation'>['body'] {
  const users: Users = new Map()
  for (const message of messages) note(users, message)
  return { revoked: [...users.values()] }
}

/** Type of the server's own channel. */
export const revocationsType: ChannelType = {
  name: 'revocations',
  kinds: { revocation: { fold: foldRevocations } },
}

/**
 * A permit has a position: where the log ended, as its server knew, before it asked the application. Later
 * revocations concern it. Positions are compared, not times, since the servers' clocks differ.
 */
export class Revocations {
  readonly #log: Pick<Log, 'read'>
  readonly #onRevoked: (user: string) => void
  readonly #users: Users = new Map()
  #position: Cursor
  /** Up to where this log has the messages of its earlier epochs, as far as anyone asked. */
  readonly #continued = new Map<string, number>()

  /** Knows those that the log has, and hears of later ones, whichever server revokes. */
  static async follow(
    log: Pick<Log, 'follow' | 'snapshot' | 'read'>,
    onRevoked: (user: string) => void,
  ): Promise<Revocations> {
    const early: Message[] = []
    let take = (message: Message): void => void early.push(message)
    log.follow((message) => take(message))
    const { messages, head } = await log.snapshot(channels)
    const revocations = new Revocations(head, log, onRevoked)
    take = (message) => revocations.take(message)
    for (const message of [...messages, ...early]) take(message)
    return revocations
  }

  constructor(head: Cursor, log: Pick<Log, 'read'>, onRevoked: (user: string) => void = () => undefined) {
    this.#position = head
    this.#log = log
    this.#onRevoked = onRevoked
  }

  /** Takes every message of the log. */
  take(message: Message): void {
    const { epoch, seq } = this.#position
    this.#position = { epoch, seq: Math.max(seq, message.seq) }
    if (!isKind(message, 'revocation')) return
    note(this.#users, message)
    for (const { user } of message.body.revoked) this.#onRevoked(user)
  }

  get position(): Cursor {
    return this.#position
  }

  /** Whether all revocations since this position are known here: not if it is of another log. */
  async reachBack({ epoch, seq }: Cursor): Promise<boolean> {
    if (epoch === this.#position.epoch || seq <= (this.#continued.get(epoch) ?? -1)) return true
    const { recovered } = await this.#log.read({ epoch, seq }, channels)
    if (recovered) this.#continued.set(epoch, seq)
    return recovered
  }

  /** Whether the user's permits of this position no longer count. */
  isRevoked(user: string | null, { seq }: Pick<Cursor, 'seq'>): boolean {
    return user !== null && (this.#users.get(user)?.seq ?? 0) > seq
  }
}
