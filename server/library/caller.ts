// Sender of a request to an application: its rights to read and write, and its connection's costs.

import type { Draft, Stored } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import { admitOwnDraft } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { RateLimit } from '../hub/rate-limit.ts'
import {
  type AnyRequest,
  fingerprintFor,
  type Grant,
  refuseReading,
  refuseWriting,
} from '../security/grants.ts'
import type { ReadingRate } from '../transports/answers.ts'
import { type BodyReader, connectionOf } from '../transports/body-reader.ts'
import { mayPublish, parseJson } from '../transports/intake.ts'
import type { Admission } from '../transports/transport.ts'
import { mustBeOfType, refuseHaste } from '../transports/uplink.ts'
import type { Channels } from './channels.ts'

interface CallerParts {
  readonly request: AnyRequest
  readonly grant: Grant
  readonly hub: Pick<Hub, 'waitMs' | 'publish'>
  readonly channels: Admission & Pick<Channels, 'typeOf'>
  readonly bodies: BodyReader
  readonly readingRate: ReadingRate
  readonly now: Clock
}

/** The sender of one request. Throws a `Refusal` for anything that the sender may not do. */
export class Caller {
  readonly #parts: CallerParts
  /** Channels that it may read, by name, or by a prefix and `*`, as `authorize` says. */
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Null if `authorize` names none. */
  readonly user: string | null
  /** Ms since the epoch, by the server's clock; null for never. */
  readonly expiresAt: number | null
  /** Its HTTP/2 session or socket: the same for all requests of one connection. */
  readonly connection: object

  /** @internal */
  constructor(parts: CallerParts) {
    const { grant, request } = parts
    this.#parts = parts
    this.read = grant.read
    this.write = grant.write
    this.user = grant.user
    this.expiresAt = grant.expiresAt
    this.connection = connectionOf(request)
  }

  mayRead(channel: string): boolean {
    return this.#parts.grant.mayRead(channel)
  }

  mayWrite(channel: string): boolean {
    return this.#parts.grant.mayWrite(channel)
  }

  /** Throws a `Refusal` (403 `not-invited-there`). */
  mustRead(channel: string): void {
    this.#parts.grant.mustLast(this.#parts.now())
    const refusal = refuseReading(this.#parts.grant, [channel])
    if (refusal) throw refusal
  }

  /** Throws a `Refusal` (403 `not-invited-there` or `read-only-invitation`). */
  mustWrite(channel: string): void {
    this.#parts.grant.mustLast(this.#parts.now())
    const refusal = refuseWriting(this.#parts.grant, channel)
    if (refusal) throw refusal
  }

  /**
   * Reads the request's body, of at most `maxBytes`: by default as much as a message of this caller may
   * have. Rejects with a `Refusal`: 413 `too-large`, 408 `too-slow` (`limits.bodySeconds`), 503
   * `too-much-begun` (`limits.connectionBytes`), 401 `session-expired` if it outlasts the permit.
   */
  readBody({ maxBytes }: { readonly maxBytes?: number } = {}): Promise<Buffer> {
    const { bodies, request, grant } = this.#parts
    return bodies.bytes(request, grant, maxBytes)
  }

  /**
   * The same for JSON. `what` names the bodies, and begins a refusal's sentence. Also rejects with 415 `wrong-type`,
   * 400 `not-json`, and 400 `bad-shape` if it is nested more than 100 levels deep.
   */
  async readJson({
    maxBytes,
    what = 'Bodies',
  }: {
    readonly maxBytes?: number
    readonly what?: string
  } = {}): Promise<unknown> {
    mustBeOfType(this.#parts.request, what, 'application/json')
    return parseJson((await this.readBody(maxBytes === undefined ? {} : { maxBytes })).toString('utf8'))
  }

  /**
   * Checks a message that the caller asks to have published, as if it had posted it: its shape,
   * whether the request's key proves the name in `from`, whether the caller may write there, and the pace
   * of that sender (`limits.messagesPerSecond`). Throws a `Refusal`.
   */
  draft(given: {
    readonly id: string | undefined
    readonly from: string | undefined
    readonly channel: string
    readonly kind: string
    readonly at: number
    readonly body: object
  }): Draft {
    const { channels, request, grant, hub } = this.#parts
    const draft = channels.draft(given)
    mayPublish(draft, fingerprintFor(new URLSearchParams(request.url?.split('?', 2)[1])), grant)
    refuseHaste(hub.waitMs(this.connection, draft.from), draft.id)
    if (!draft.volatile) return draft
    throw new Refusal('bad-shape', 'A caller’s draft is stored; leave out volatile.', draft.id)
  }

  /**
   * Stores a draft of the caller's, perhaps with another kind and body of the application's making.
   * A new channel counts towards the quotas of its connection and account. Resolves once it is stored
   * and sent; rejects with a `Refusal`.
   */
  async publish(draft: Draft): Promise<Stored> {
    const { channels, grant, hub, now } = this.#parts
    // A document's gate reads updates.
    if (draft.kind !== 'update') admitOwnDraft(draft, channels.typeOf)
    const completed = (await channels.complete?.(draft, grant, this.connection)) ?? draft
    grant.mustLast(now())
    return hub.publish(completed, { connection: this.connection, account: grant.account })
  }

  /**
   * Call before a large answer is made. Throws a `Refusal` (429 `too-fast`) if the connection has been
   * answered with over 16 MB a second, beyond a burst of as much. `what` names the answers, and begins
   * the refusal's sentence.
   */
  mustPace(what: string): void {
    this.#parts.readingRate.mustWait(this.connection, what)
  }
}

/** Throws a `Refusal` (429 `too-fast`) beyond its rate. */
export type Limiter = (caller: Pick<Caller, 'connection'>) => void

/** `sentence` names the limit, without its full stop. */
export function rateLimit(perSecond: number, sentence: string, now: Clock): Limiter {
  const rate = new RateLimit(perSecond, now)
  return ({ connection }) => {
    const waitMs = Math.ceil(rate.take(connection))
    if (waitMs > 0) throw new Refusal('too-fast', `${sentence}; try again in a moment.`, null, waitMs)
  }
}
