// Tickets: what the application allowed a client, signed, for requests that cannot carry a header.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http2'
import { Refusal } from '../wire/refusal.ts'
import { type Asking, fingerprintFor, type Gate, type Grant, hasEnded, ticketEnded } from './grants.ts'

/** What the application allows. Channels by name, or by a prefix and `*`. */
export interface Permit {
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Ms since the epoch; then the application is asked again. Default: in an hour. */
  readonly expiresAt?: number
  /**
   * Who it is: others see it with each message. The clients of one user hold at most half of all
   * windows.
   */
  readonly user?: string
}

const usualLifeMs = 3_600_000

type LimitedPermit = Permit & { readonly expiresAt: number }

/** What a ticket says, signed. */
interface Claims extends Required<Omit<Permit, 'user'>> {
  readonly user: string | null
  /** Of the key that must come with it; see PROTOCOL.md, "Names". */
  readonly fingerprint: string | null
}

/** Each has every channel whose name it is, or begins with. */
class Patterns extends Set<string> {
  override has(channel: string): boolean {
    return this.values().some((pattern) => matches(pattern, channel))
  }
}

/** Whether a name, or a prefix and `*`, names the channel. */
export function matches(pattern: string, channel: string): boolean {
  return pattern.endsWith('*') ? channel.startsWith(pattern.slice(0, -1)) : pattern === channel
}

/** Any server with the same secret accepts them: no server keeps them. */
export class Tickets {
  readonly #secret: string
  readonly #now: () => number

  constructor(secret: string, now: () => number) {
    this.#secret = secret
    this.#now = now
  }

  /** For whoever has the key of this fingerprint. */
  issue(permit: LimitedPermit, fingerprint: string | null) {
    const { read, write, user = null, expiresAt } = permit
    const claims: Claims = { read, write, user, expiresAt, fingerprint }
    const text = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return { ticket: `${text}.${this.#sign(text).toString('base64url')}`, expiresAt }
  }

  /** Throws a `Refusal`, 401 `no-session` or `session-expired`. */
  read(ticket: string, fingerprint: string | null): Grant {
    const [text = '', signature = ''] = ticket.split('.')
    const signed = Buffer.from(signature, 'base64url')
    const expected = this.#sign(text)
    if (signed.length !== expected.length || !timingSafeEqual(signed, expected)) throw invalid()
    const claims = JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims
    if (claims.fingerprint !== fingerprint) throw invalid()
    const grant = grantOfPermit(claims)
    if (hasEnded(grant, this.#now())) throw new Refusal('session-expired', ticketEnded)
    return grant
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text).digest()
  }
}

/** Asks an application who may do what. */
export type Authorize = (asking: {
  readonly headers: IncomingHttpHeaders
  /** Posted to `session`, or a bearer token (RFC 6750); null without one. */
  readonly token: string | null
}) => Permit | null | Promise<Permit | null>

interface TicketGateParts {
  readonly authorize: Authorize
  readonly secret: string
  readonly now: () => number
}

/** Posts to this path need no ticket: they ask for one. */
export const sessionPath = '/api/session'

/** Lets in whoever has a ticket, or whom the application allows. */
export class TicketGate implements Gate {
  readonly #authorize: Authorize
  readonly #now: () => number
  readonly #tickets: Tickets

  constructor({ authorize, secret, now }: TicketGateParts) {
    this.#authorize = authorize
    this.#now = now
    this.#tickets = new Tickets(secret, now)
  }

  /** Asks the application if there is no ticket, as for programs that send a bearer token. */
  async grantFor({ method, url = '', headers }: Asking): Promise<Grant> {
    const [path, text] = url.split('?', 2)
    if (path === sessionPath && method === 'POST') return stranger
    const query = new URLSearchParams(text)
    const ticket = query.get('ticket')
    if (ticket !== null) return this.#tickets.read(ticket, fingerprintFor(query))
    const [, token = null] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
    return grantOfPermit(await this.#permitFor(headers, token))
  }

  /** Rejects with a `Refusal`: 401 `no-session` if the application says no. */
  async ticketFor(headers: IncomingHttpHeaders, token: string | null, fingerprint: string | null) {
    return this.#tickets.issue(await this.#permitFor(headers, token), fingerprint)
  }

  async #permitFor(headers: IncomingHttpHeaders, token: string | null): Promise<LimitedPermit> {
    const permit = await this.#authorize({ headers, token })
    if (permit === null)
      throw new Refusal('no-session', 'The application does not allow this; sign in to it.')
    return { ...permit, expiresAt: permit.expiresAt ?? this.#now() + usualLifeMs }
  }
}

const stranger: Grant = { channels: new Set(), may: 'read', expiresAt: null, invitation: null }

function grantOfPermit(permit: LimitedPermit | Claims): Grant {
  const { read, write, user, expiresAt } = permit
  return {
    channels: new Patterns(read),
    writable: new Patterns(write),
    may: write.length > 0 ? 'write' : 'read',
    isOfApplication: true,
    expiresAt,
    invitation: user ?? null,
  }
}

function invalid(): Refusal {
  const sentence =
    'This ticket is not of this server, or not for this key; post the token to session, with the key of the window.'
  return new Refusal('no-session', sentence)
}
