// Limits the cost of window states: bytes sent to readers, shared by client, user and channel.

import type { Clock } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import { RateLimit } from './rate-limit.ts'

/** Largest shares of the budget. */
const shares = { client: 1 / 8, user: 1 / 4, channel: 1 / 2 }

interface Account {
  readonly user: unknown
  clients: number
  /** Grows by the user's own spending, and by others' while it was idle. */
  spent: number
}

export interface Spender {
  readonly account: Account
}

/** The remaining bytes of a rate per second; a channel may have at most half. */
class Sending {
  readonly #perChannel: RateLimit
  readonly #total: RateLimit
  readonly #all = {}

  constructor(bytesPerSecond: number, now: Clock) {
    this.#perChannel = new RateLimit(bytesPerSecond * shares.channel, now)
    this.#total = new RateLimit(bytesPerSecond, now)
  }

  waitMs(channel: object): number {
    return Math.max(this.#perChannel.debtMs(channel), this.#total.debtMs(this.#all))
  }

  charge(channel: object, bytes: number): void {
    this.#perChannel.charge(channel, bytes)
    this.#total.charge(this.#all, bytes)
  }
}

/**
 * Users share it by start-time fair queueing (P. Goyal, H. M. Vin, H. Cheng, SIGCOMM 1996), with the
 * end of the next state as the key: a small state does not wait for large ones.
 */
export class PresenceBudget {
  readonly #perClient: RateLimit
  readonly #ofUser: RateLimit
  readonly #changes: Sending
  /** Full states, for newcomers and for those that missed changes: they must not delay changes. */
  readonly wholes: Sending
  readonly #accounts = new Map<unknown, Account>()
  /** `spent` of the user served last, at which an idle user begins. */
  #reached = 0

  constructor(bytesPerSecond: number, now: Clock) {
    this.#perClient = new RateLimit(bytesPerSecond * shares.client, now)
    this.#ofUser = new RateLimit(bytesPerSecond * shares.user, now)
    this.#changes = new Sending(bytesPerSecond, now)
    this.wholes = new Sending(bytesPerSecond, now)
  }

  /** Adds a client of that user. */
  join(user: unknown): Spender {
    const account = upsert(this.#accounts, user, () => ({ user, clients: 0, spent: this.#reached }))
    account.clients += 1
    return { account }
  }

  leave({ account }: Spender): void {
    account.clients -= 1
    if (account.clients === 0) this.#accounts.delete(account.user)
  }

  /** Serves first the client whose user will have spent the least after its next state. */
  inOrder<One extends Spender>(clients: Iterable<One>, nextBytes: (client: One) => number): readonly One[] {
    return Array.from(clients, (client) => ({
      client,
      spent: Math.max(this.#reached, client.account.spent) + nextBytes(client),
    }))
      .sort((one, other) => one.spent - other.spent)
      .map(({ client }) => client)
  }

  /** 0 if the client may show a state on the channel now. */
  waitMs(client: Spender, channel: object): number {
    return Math.max(
      this.#perClient.debtMs(client),
      this.#ofUser.debtMs(client.account),
      this.#changes.waitMs(channel),
    )
  }

  spend(client: Spender, channel: object, bytes: number): void {
    const { account } = client
    const before = Math.max(this.#reached, account.spent)
    this.#reached = before
    account.spent = before + bytes
    this.#perClient.charge(client, bytes)
    this.#ofUser.charge(account, bytes)
    this.#changes.charge(channel, bytes)
  }
}
