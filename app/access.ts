// Access to the server: invitations, the sessions that they open, and what a client may do.

import { createSecretKey, hash, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, open, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errors, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import { isChannelName } from '../protocol/messages.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { Clock } from '../protocol/time.ts'
import { isLoopback } from '../scripts/addresses.ts'
import type { Permit } from '../server/index.ts'
import type { Config } from './config/config.ts'
import { invitationCookie } from './shared/page-paths.ts'

/** Browsers drop cookies of over 4,096 bytes (RFC 6265, 6.1). */
export const maxChannels = 32

const channelName = z.string().refine(isChannelName)

const permissionSchema = z.object({
  channels: z.union([z.literal('all'), z.array(channelName).min(1).max(maxChannels).readonly()]),
  may: z.enum(['read', 'write']),
})

/** Permission that an invitation grants. */
export type Permission = Readonly<z.output<typeof permissionSchema>>

export function isOpenTo({ access, host }: Pick<Config, 'access' | 'host'>): boolean {
  return { auto: isLoopback(host), open: true, invited: false }[access]
}

export const joinPath = '/join'

/**
 * `expiresAt`: ms since the epoch, rounded down to a second. Rejects for an invalid channel name,
 * no channel, or more than 32.
 */
export function makeInvitation(
  { expiresAt, ...permission }: Permission & { readonly expiresAt: number },
  key: KeyObject,
): Promise<string> {
  return sign('invitation', permission, expiresAt, key)
}

export function invitationLink(origin: string, token: string): string {
  return origin + invitationPath(token)
}

export const invitationPath = (token: string) => `${joinPath}?invitation=${token}`

/**
 * `__Host-`: TLS and this host only (RFC 6265bis). Cookies ignore ports, so both listeners receive
 * it.
 */
const cookieName = '__Host-crosswind'
/** Length of a hash that names an invitation. */
const accountLength = 22
const cookiePattern = new RegExp(`(?:^|;\\s*)${cookieName}=([^;]*)`)

/** Encoded in its token: the server stores none. */
export interface Session extends Permission {
  /** On the server's clock, ms since the epoch; null for never. */
  readonly expiresAt: number | null
  /** End of the invitation, ms since the epoch, by the clock of tokens. */
  readonly until: number
  /** The same for everyone with the same link; null on an open server. */
  readonly account: string | null
}

export interface Entry {
  readonly session: Session
  /** The session's, then the page's; none on an open server, which has no sessions. */
  readonly setCookies: readonly string[]
}

const openSession: Session = {
  channels: 'all',
  may: 'write',
  expiresAt: null,
  until: Number.POSITIVE_INFINITY,
  account: null,
}

interface AccessParts {
  readonly isOpen: boolean
  readonly key: KeyObject
  /** Returns the rights on the channels that a permission grants: a session's, or an invitation's as a token. */
  readonly rightsOf: (
    permission: Permission,
    isSession: boolean,
  ) => Pick<Permit, 'read' | 'write' | 'maxMessageBytes'>
  /** The session's duration, unless the invitation ends earlier. */
  readonly sessionMs: number
  /** Clock of the server, by which sessions end: no setting of the machine's clock moves it. */
  readonly now: Clock
  /** `Date.now`, since other processes, such as `npm run invite`, also make tokens. */
  readonly clock: Clock
  /** Maximum number of cached verified sessions; a few hundred bytes each. */
  readonly cachedSessions?: number
}

interface Credentials {
  readonly cookie?: string | undefined
  /** An invitation as a bearer token (RFC 6750), which takes precedence over the session. */
  readonly token?: string | null
}

export interface InvitationAsked {
  readonly channel: string
  readonly may: Permission['may']
  readonly hours: number
}

export class Access {
  readonly #parts: AccessParts
  /** Only tokens signed here enter, so that uninvited clients cannot evict entries. */
  readonly #verified = new Map<string, Session>()

  constructor(parts: AccessParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#parts.isOpen
  }

  /**
   * Returns the permit of a session, or of a program's invitation. Throws a `Refusal`: 401 `no-session`,
   * `session-expired`, `invitation-invalid` or `invitation-expired`.
   */
  async permitFor(credentials: Credentials): Promise<Permit> {
    const session = await this.sessionFor(credentials)
    const { now, clock, rightsOf } = this.#parts
    const { expiresAt, account } = session
    return {
      ...rightsOf(session, (credentials.token ?? null) === null),
      ...(expiresAt !== null && { expiresAt: clock() + (expiresAt - now()) }),
      ...(account !== null && { account }),
    }
  }

  /** Throws as `permitFor` does. Sessions are cached after the first check. */
  async sessionFor({ cookie = '', token = null }: Credentials): Promise<Session> {
    if (this.#parts.isOpen) return openSession
    if (token === null) return this.#sessionIn(cookie)
    const { claims, endsAt } = await verify('invitation', token, this.#parts)
    return this.#sessionFrom(claims, endsAt)
  }

  /** Throws a `Refusal`: 401 `invitation-invalid` or `invitation-expired`. */
  async redeem(invitation: string): Promise<Entry> {
    const { claims, endsAt } = await verify('invitation', invitation, this.#parts)
    return this.#openSession(claims, endsAt)
  }

  /** A session that has not ended; null without one. */
  heldIn(cookie: string | undefined): Promise<Session | null> {
    return this.#sessionIn(cookie).catch((error) => {
      if (error instanceof Refusal) return null
      throw error
    })
  }

  /** Extends a valid session. Throws as `permitFor` does. */
  async renew(cookie: string | undefined): Promise<Entry> {
    if (this.#parts.isOpen) return { session: openSession, setCookies: [] }
    const session = await this.#sessionIn(cookie)
    return this.#openSession(session, session.until)
  }

  /**
   * Creates an invitation to one channel, from those who may write there; it ends no later than their own. Throws as `permitFor` does, 403 `not-invited-there` or `read-only-invitation`, and 409
   * `open-access` on an open server.
   */
  async invite(credentials: Credentials, { channel, may, hours }: InvitationAsked) {
    const { isOpen, clock, key } = this.#parts
    if (isOpen) throw refusalOf('open-access')
    const own = await this.sessionFor(credentials)
    if (own.channels !== 'all' && !own.channels.includes(channel)) throw refusalOf('not-invited-there')
    if (own.may !== 'write') throw refusalOf('read-only-invitation')
    const expiresAt = Math.min(Math.floor((clock() + hours * 3_600_000) / 1000) * 1000, own.until)
    return { token: await makeInvitation({ channels: [channel], may, expiresAt }, key), expiresAt }
  }

  /** `endsAt` and `until` are by the clock of tokens. */
  #sessionFrom({ channels, may }: Permission, endsAt: number, until = endsAt): Session {
    const { now, clock } = this.#parts
    const expiresAt = Math.round(now() + (endsAt - clock()))
    const account = hash('sha256', `${may} ${until} ${channels}`, 'base64url').slice(0, accountLength)
    return { channels, may, expiresAt, until, account }
  }

  async #openSession({ channels, may }: Permission, until: number): Promise<Entry> {
    const now = this.#parts.clock()
    // In whole seconds, as in the token, so that both ends agree.
    const expiresAt = Math.min(Math.floor((now + this.#parts.sessionMs) / 1000) * 1000, until)
    const token = await sign('session', { channels, may, until }, expiresAt, this.#parts.key)
    const seconds = Math.max(0, Math.floor((expiresAt - now) / 1000))
    const session = this.#sessionFrom({ channels, may }, expiresAt, until)
    // RFC 6265bis. Strict would drop the cookie on the redirect after a link from a mail.
    const own = `${cookieName}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`
    const page = `${invitationCookie}=${session.account}; Path=/; Max-Age=${seconds}; Secure; SameSite=Strict`
    return { session, setCookies: [own, page] }
  }

  async #sessionIn(cookie = ''): Promise<Session> {
    const token = cookiePattern.exec(cookie)?.[1]
    if (!token) throw refusalOf('no-session')
    const session = this.#verified.get(token) ?? (await this.#verifyAndKeep(token))
    if (session.expiresAt === null || session.expiresAt > this.#parts.now()) return session
    this.#verified.delete(token)
    throw refusalOf('session-expired')
  }

  async #verifyAndKeep(token: string): Promise<Session> {
    const { claims, endsAt } = await verify('session', token, this.#parts)
    const session = this.#sessionFrom(claims, endsAt, claims.until)
    const [oldest] = this.#verified.keys()
    const isFull = this.#verified.size >= (this.#parts.cachedSessions ?? 2048)
    if (isFull && oldest !== undefined) this.#verified.delete(oldest)
    this.#verified.set(token, session)
    return session
  }
}

/** Tokens end in whole seconds; the clocks of two sessions differ by less. */
const secondMs = 1000

/** Whether `one` allows everything that `other` does, for as long. */
export function includes(one: Session, other: Session): boolean {
  const has = (channel: string) => one.channels === 'all' || one.channels.includes(channel)
  return (
    (other.channels === 'all' ? one.channels === 'all' : other.channels.every(has)) &&
    (one.may === 'write' || other.may === 'read') &&
    (one.expiresAt === null || (other.expiresAt !== null && one.expiresAt + secondMs > other.expiresAt))
  )
}

// For guests: the start of the server tells its owner how to invite.
const sentences = {
  'no-session': 'This server is by invitation; open the link that you were given, or ask for a new one.',
  'session-expired': 'Your session has ended; open your link again, or ask for a new one.',
  'invitation-invalid':
    'This is not an invitation to this server, or part of the link is missing; ask for a new link.',
  'invitation-expired': 'This invitation has ended; ask for a new link.',
  'not-invited-there': 'Your invitation does not cover this document; ask for one that does.',
  'read-only-invitation':
    'Your invitation lets you only read this document; ask for one that lets you write.',
  'open-access':
    'Everyone who reaches this server may read and write without an invitation; share the address, or start the server with access: invited.',
}
const refusalOf = (code: keyof typeof sentences) => new Refusal(code, sentences[code])

/** Kinds of JWTs (RFC 7519), which are not interchangeable. */
const shapes = {
  invitation: permissionSchema,
  session: permissionSchema.extend({ until: z.int() }),
}
type Kind = keyof typeof shapes
type Claims<Of extends Kind> = z.output<(typeof shapes)[Of]>

const algorithm = 'HS256'
const typeOf = (kind: Kind) => `crosswind-${kind}+jwt`
const audienceOf = (kind: Kind) => `crosswind:${kind}`

/** Rejects invalid claims. `endsAt` is in ms since the epoch, rounded down to a second. */
async function sign<Of extends Kind>(kind: Of, claims: Claims<Of>, endsAt: number, key: KeyObject) {
  return new SignJWT({ ...shapes[kind].parse(claims) })
    .setProtectedHeader({ alg: algorithm, typ: typeOf(kind) })
    .setAudience(audienceOf(kind))
    .setExpirationTime(Math.floor(endsAt / 1000))
    .sign(key)
}

/** `endsAt` and `clock` are in ms since the epoch. Throws a `Refusal`, 401. */
async function verify<Of extends Kind>(
  kind: Of,
  token: string,
  { key, clock }: Pick<AccessParts, 'key' | 'clock'>,
) {
  const invalid = kind === 'session' ? 'no-session' : 'invitation-invalid'
  try {
    const { payload } = await jwtVerify(token, key, {
      // Fixed here, never taken from the token (RFC 8725, 3.1; type: 3.11).
      algorithms: [algorithm],
      typ: typeOf(kind),
      audience: audienceOf(kind),
      requiredClaims: ['exp'],
      currentDate: new Date(clock()),
    })
    const { success, data } = shapes[kind].safeParse(payload)
    if (!success) throw refusalOf(invalid)
    return { claims: data as Claims<Of>, endsAt: (payload.exp ?? 0) * 1000 }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    // jose checks expiry last: an expired token is otherwise valid.
    throw refusalOf(error instanceof errors.JWTExpired ? (`${kind}-expired` as const) : invalid)
  }
}

/** HS256 requires a secret at least as long as its hash (RFC 7518, 3.2). */
const minKeyBytes = 32

const keyAdvice = '`openssl rand -base64 32` makes a good one'

/**
 * Loads the secret that signs invitations and sessions, as a KeyObject, which logs do not reveal.
 * Its file contains base64 or base64url; without `accessKeyFile`, `access.key` in the data folder
 * is generated. Paths are relative to `root`. Rejects with one sentence if it is unreadable, too
 * short or readable by others.
 */
export async function loadKey(
  { accessKeyFile, dataFolder }: Pick<Config, 'accessKeyFile' | 'dataFolder'>,
  root: string,
): Promise<KeyObject> {
  const file = resolve(root, accessKeyFile ?? join(dataFolder, 'access.key'))
  // A configured file is never generated: a typo would silently invalidate all links.
  if (accessKeyFile === null && (await isMissing(file))) await makeKey(file)
  const { text, mode } = await readKey(file).catch((cause: unknown) => {
    const sentence =
      codeOf(cause) === 'ENOENT'
        ? `is missing; ${keyAdvice}, or leave accessKeyFile out to have one created in the data folder.`
        : `cannot be read (${codeOf(cause)}); give the server's user access, or name another in accessKeyFile.`
    throw new Error(`The key file ${file} ${sentence}`, { cause })
  })
  // Does not repair the mode: others may have read the secret. Windows has no such modes.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new Error(
      `The key file ${file} can be read by others, who could create invitations; run \`chmod 600\` on it, or delete it if they may have read it.`,
    )
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text))
    throw new Error(`The key file ${file} contains something other than one line of base64; ${keyAdvice}.`)
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length >= minKeyBytes) return createSecretKey(bytes)
  throw new Error(
    `The key file ${file} holds ${bytes.length} bytes and needs at least ${minKeyBytes}; ${keyAdvice}.`,
  )
}

const isMissing = (file: string) =>
  stat(file).then(
    () => false,
    (cause) => codeOf(cause) === 'ENOENT',
  )

/** The mode comes from the opened file, not from its path: no race. */
async function readKey(file: string) {
  await using handle = await open(file)
  return { text: (await handle.readFile('utf8')).trim(), mode: (await handle.stat()).mode }
}

/** Atomic; keeps the key of a concurrent process. */
async function makeKey(file: string): Promise<void> {
  // The extension matches .gitignore.
  const draft = join(dirname(file), `.${randomUUID()}.access.key`)
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const text = `${randomBytes(minKeyBytes).toString('base64url')}\n`
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    // Not a rename, which would replace another process's key.
    await link(draft, file)
  } catch (cause) {
    const sentence = `The key file ${file} cannot be created (${codeOf(cause)}); give a writable dataFolder, or name a key in accessKeyFile.`
    if (codeOf(cause) !== 'EEXIST') throw new Error(sentence, { cause })
  } finally {
    await rm(draft, { force: true })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
