// Tickets: what the application allowed a client, signed, for requests that cannot carry a header.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http2'
import { formatCursor, parseCursor } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import { type AnyRequest, type Authorizer, fingerprintFor, Grant, sessionEnded } from './grants.ts'
import { type Authorize, type CheckedPermit, checkPermit, longestLifeMs } from './permits.ts'
import type { Revocations } from './revocations.ts'

/** Permit of an application, and when it was given. */
export interface DatedPermit extends CheckedPermit {
  /** Ms since the epoch, by the clock of `expiresAt`. */
  readonly issuedAt: number
  /** A cursor; see `Revocations`. */
  readonly position: string
}

/** Signed content of a ticket. */
interface Claims extends DatedPermit {
  /** Channels that may be read and written, which `read` and `write` do not repeat. */
  readonly both?: readonly string[]
  /** Fingerprint of the key that must come with it; see PROTOCOL.md, "Names". */
  readonly fingerprint: string | null
}

/**
 * Proxies accept a request line of 8 kB (nginx, `large_client_header_buffers`), in which the
 * channels of a stream must fit, too.
 */
const maxTicketLength = 4096

/** By how much the clocks of the servers that share a secret may differ. */
const clocksDifferMs = 5000

/** Any server with the same secret accepts them: no server keeps them. */
export class Tickets {
  readonly #secret: string
  readonly #clock: Clock

  /** `clock` is the application's, `Date.now`. */
  constructor(secret: string, clock: Clock) {
    this.#secret = secret
    this.#clock = clock
  }

  /** Signs a ticket for the key of this fingerprint. Throws an `Error` for the operator if it is too long. */
  issue(permit: DatedPermit, fingerprint: string | null): string {
    const { read, write } = permit
    const both = read.filter((channel) => write.includes(channel))
    const claims: Claims = {
      both,
      read: read.filter((channel) => !both.includes(channel)),
      write: write.filter((channel) => !both.includes(channel)),
      maxMessageBytes: permit.maxMessageBytes,
      user: permit.user,
      account: permit.account,
      issuedAt: permit.issuedAt,
      expiresAt: permit.expiresAt,
      position: permit.position,
      fingerprint,
    }
    const text = Buffer.from(JSON.stringify(claims)).toString('base64url')
    const ticket = `${text}.${this.#sign(text).toString('base64url')}`
    if (ticket.length <= maxTicketLength) return ticket
    throw new Error(
      `authorize allows ${read.length} channels to be read and ${write.length} to be written, which make a ticket of ${ticket.length} characters; the limit is ${maxTicketLength}. Name them by a prefix and *, such as 'room.*'.`,
    )
  }

  /** Throws a `Refusal`, 401 `no-session` or `session-expired`. */
  read(ticket: string, fingerprint: string | null): DatedPermit {
    const [text = '', signature = ''] = ticket.split('.')
    const signed = Buffer.from(signature, 'base64url')
    const expected = this.#sign(text)
    if (signed.length !== expected.length || !timingSafeEqual(signed, expected)) throw invalid()
    const { both = [], ...claims } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims
    if (claims.fingerprint !== fingerprint) throw invalid()
    const now = this.#clock()
    // A clock that was set back would make it last longer.
    if (claims.expiresAt > now && claims.issuedAt <= now + clocksDifferMs)
      return { ...claims, read: [...both, ...claims.read], write: [...both, ...claims.write] }
    throw new Refusal('session-expired', sessionEnded)
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text).digest()
  }
}

interface TicketAuthorizerParts {
  readonly authorize: Authorize
  readonly secret: string
  /** The server's monotonic clock, by which grants end: setting the machine's clock does not change it. */
  readonly now: Clock
  /** Clock of the application, `Date.now`. */
  readonly clock: Clock
  readonly revocations: Pick<Revocations, 'position' | 'reachBack' | 'isRevoked'>
  /** Receives the errors of `authorize`, and why an answer is unusable. */
  readonly onFailure: (error: unknown) => void
}

/** A bearer token (RFC 6750); null without one. */
export function bearerIn({ authorization = '' }: IncomingHttpHeaders): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}

/** Posts to this path need no ticket: they ask for one. */
export const sessionPath = '/api/session'

/** Admits requests with a ticket, and those that the application allows. */
export class TicketAuthorizer implements Authorizer {
  readonly #parts: TicketAuthorizerParts
  readonly #tickets: Tickets

  constructor(parts: TicketAuthorizerParts) {
    this.#parts = parts
    this.#tickets = new Tickets(parts.secret, parts.clock)
  }

  /**
   * Asks the application if there is no ticket, as for programs that send a bearer token. Its answer
   * then counts for this request, however long it lasts; a ticket counts for many.
   */
  async grantFor(request: AnyRequest): Promise<Grant> {
    const { url = '', headers } = request
    const [, text] = url.split('?', 2)
    const query = new URLSearchParams(text)
    const ticket = query.get('ticket')
    if (ticket !== null) return this.#grantOf(this.#tickets.read(ticket, fingerprintFor(query)))
    return this.#grantOf(await this.#permitFor(request, bearerIn(headers)))
  }

  /** Rejects with a `Refusal`: 401 `no-session` if the application says no. */
  async ticketFor(request: AnyRequest, token: string | null, fingerprint: string | null) {
    const permit = await this.#permitFor(request, token)
    const expiresAt = Math.min(permit.expiresAt, permit.issuedAt + longestLifeMs)
    const ticket = this.#usable(() => this.#tickets.issue({ ...permit, expiresAt }, fingerprint))
    return { ticket, expiresAt }
  }

  async #permitFor(request: AnyRequest, token: string | null): Promise<DatedPermit> {
    const { authorize, clock, revocations, onFailure } = this.#parts
    // Read before asking: the answer may be older than a revocation that arrives meanwhile.
    const position = formatCursor(revocations.position)
    const issuedAt = clock()
    let answer: unknown
    try {
      answer = await authorize({ request, headers: request.headers, token })
    } catch (error) {
      if (error instanceof Refusal) throw error
      onFailure(error)
      const sentence = 'The application failed to say what this client may do (authorize); try again.'
      throw new Refusal('internal', sentence, null, authorizeAgainMs)
    }
    const permit = this.#usable(() => checkPermit(answer, issuedAt))
    if (permit !== null) return { ...permit, issuedAt, position }
    throw new Refusal('no-session', 'The application does not allow this; sign in to it.')
  }

  /** Refuses a client whose application gave an invalid answer, and reports it to the operator. */
  #usable<Made>(make: () => Made): Made {
    try {
      return make()
    } catch (error) {
      this.#parts.onFailure(error)
      const sentence = 'The application gave an unusable answer (authorize); its operator can see why.'
      throw new Refusal('no-session', sentence)
    }
  }

  /** Rejects with a `Refusal`, 401 `session-expired`, if it was revoked, or if that cannot be known. */
  async #grantOf(permit: DatedPermit): Promise<Grant> {
    const { now, clock, revocations } = this.#parts
    const since = parseCursor(permit.position)
    if (since === null || !(await revocations.reachBack(since)))
      throw new Refusal('session-expired', sessionEnded)
    const isRevoked = () => revocations.isRevoked(permit.user, since)
    if (isRevoked()) throw new Refusal('session-expired', sessionEnded)
    return new Grant({ ...permit, expiresAt: Math.round(now() + permit.expiresAt - clock()), isRevoked })
  }
}

/** Pause before a client asks again after `authorize` threw. */
const authorizeAgainMs = 1000

/** Grant of a request that posts a token to get a ticket: no rights. */
export const stranger = new Grant({
  read: [],
  write: [],
  maxMessageBytes: null,
  user: null,
  account: null,
  expiresAt: null,
})

function invalid(): Refusal {
  const sentence =
    'This ticket is not of this server, or not for this key; post the token to session, with the key of the window.'
  return new Refusal('no-session', sentence)
}
