// The library's door for followers: channels of one server, over one stream.

import {
  type AwarenessFrame,
  type Bodies,
  type Draft,
  type Kind,
  type Message,
  nameUnder,
  type Polling,
  type UpdateBody,
} from '../protocol/messages.ts'
import { type LinkMode, needsTls, type TransportMode, type WindowHttp } from '../protocol/modes.ts'
import { nothingPlanned } from '../protocol/time.ts'
import { browserTimers, newName, pause, watchWakeUps } from './browser-services.ts'
import { isRefusal, Link, type LinkState } from './link.ts'
import type { LinkClock } from './link-clock.ts'
import { Listeners, type Off, report } from './listeners.ts'
import { fingerprintOf, newKey } from './names.ts'
import { Outbox, type OutboxListener, type OutboxOptions, type OutboxState, plainPolicy } from './outbox.ts'
import { Retry } from './retry.ts'
import { asClosing, Http, sendLast, usualTimeoutMs } from './transports/http.ts'
import { transportsByName } from './transports/slots.ts'
import {
  type ChosenTransport,
  type Closing,
  type Platform,
  RefusedError,
  type Transports,
  transportsOver,
} from './transports/transport.ts'

export type { FallbackReason } from './fallback.ts'
export { longPolling, polling } from './transports/polling.ts'
export { programs, programsOver } from './transports/programs.ts'
export { sse } from './transports/sse.ts'
export { streaming } from './transports/streaming.ts'
export { type RefusedCode, RefusedError } from './transports/transport.ts'
export { websocket } from './transports/websocket.ts'

/** Receives a channel's messages. */
export interface Follower {
  /** Cursor of the newest message that it has. If the stream begins there, the channel is not requested first. */
  readonly from?: string | undefined
  /** `receivedAt`, `dueAt`: see `LinkListener#onMessage`. */
  take(message: Message, cursor: string, receivedAt: number, dueAt: number): void
  /** A message that is not stored, from another client. */
  volatile?(message: Draft): void
  /** When the channel may no longer be read, the connection waits until it may, and its other channels too. */
  readonly isRequired?: boolean | undefined
  /** The follower reads the channel from `from` on; the stream has the messages after `to`. */
  joined?(from: string, to: string): Promise<void>
  /** Messages between these cursors were missed. */
  missed?(from: string, to: string): Promise<void>
  /** The log was replaced. */
  newLog?(): void
  /** The connection was closed, or the channel cannot be read. */
  end(): void
  /** Why it cannot be read. */
  refusal?: RefusedError
  /** Updates that wait for the link: a page that ends before sends them. They may be published again. */
  unsent?(): readonly UpdateBody[]
  readonly presence: {
    heard(frame: AwarenessFrame, own: string): void
    /** This client's state is too large. */
    refused(error: RefusedError): void
  }
}

/** One page of a channel's messages. */
export interface Page {
  readonly messages: readonly Message[]
  /** After the messages. */
  readonly cursor: string
  /** False if messages before these are gone. */
  readonly recovered: boolean
  /** How many channels a stream may have. */
  readonly channelsPerStream: number
}

/** Where to read backwards: before a number, by default from the end; how many, by default 50, at most 500. */
export interface Earlier {
  readonly before?: number | undefined
  readonly limit?: number | undefined
}

/** The newest of a channel's messages before a number. */
export interface EarlierPage {
  readonly messages: readonly Message[]
  /** The log's end. */
  readonly cursor: string
  readonly hasEarlier: boolean
}

/** A channel as a follower uses it. */
export interface ChannelHandle {
  /** The connection's, with the outbox of all its channels. */
  readonly link: Promise<Link>
  /**
   * Reads what is stored after a cursor, `start` or `newest`; later messages come by the stream. Waits for
   * the server, and before that for `pauseMs`.
   */
  page(after: string, pauseMs?: number): Promise<Page>
  /** Reads backwards: see `Room#readBack`. */
  pageBefore(kind: string, place: Earlier): Promise<EarlierPage>
  /** See `Room#publish`. */
  publish<K extends Kind>(kind: K, body: Bodies[K]): Promise<{ readonly seq: number }>
  show(state: unknown): void
  /** As if the channel could not be read. */
  fail(error: unknown): void
  leave(): void
}

export interface ConnectOptions {
  /**
   * In order of preference: the first that works is used, and an earlier one again once it works.
   * Default: `sse/2`, `sse/1.1`, `long-polling/1.1`, `polling/1.1`; over plain `http` only the
   * modes of HTTP/1.1. Those of HTTP/3, such as `sse/3`, are used where they are named.
   */
  readonly modes?: readonly string[]
  /** The mode that each falls back to, instead of the next of `modes`; null, or no entry, for none. */
  readonly fallbacks?: Readonly<Record<string, string | null>>
  /** Timing of long polling and polling; see PROTOCOL.md. Default: the server's. */
  readonly polling?: Polling
  /** `LinkClock` of `@crosswind/client/clock`: compares this clock with the server's, for `clock` and `behindMs`. */
  readonly clock?: typeof LinkClock
  /** Where an HTTP version has an address of its own; otherwise the browser chooses the version. */
  readonly origins?: Readonly<Partial<Record<WindowHttp, string>>>
  /** Asked for a token whenever a ticket is needed; without it the server sees the application's cookies. */
  readonly token?: () => string | Promise<string>
  /**
   * Called instead of `token` when the server no longer knows this client's session, such as to renew a
   * cookie. If it rejects with an error whose `status` is 401, the application refuses the client.
   */
  readonly renewSession?: () => Promise<unknown>
  /** Default: the browser's; in Node `programs`, which service workers need, too. */
  readonly platform?: Platform
  /** `sharedConnection` of `@crosswind/client/share`. */
  readonly share?: Sharing
  /** `keptDrafts` of `@crosswind/client/drafts`. */
  readonly drafts?: Keeping
  /** `debug('link,outbox')` of `@crosswind/client/debug`: tells what happens. In Node: CROSSWIND_DEBUG. */
  readonly debug?: typeof Link | undefined
}

/** One connection shared by several windows, which prove their names by one key. */
export interface Sharing {
  /** `base`: the server's address. */
  readonly key: (base: string) => Promise<string>
  /** The transports over the shared connection, which this window leaves once `ending` is aborted. */
  readonly over: (transports: Transports, ending: AbortSignal) => Transports
}

/** Messages that are sent again by a later page, which proves their sender's name by the key. */
export interface Keeping {
  /** `base`: the server's address. */
  readonly over: (base: string) => {
    readonly key: Promise<string>
    /** The sender's name, which begins with the key's fingerprint. Default: a random one. */
    readonly name?: string
    readonly outbox: (options: OutboxOptions, listener: OutboxListener) => Outbox
  }
}

/** With the fields of an attempt to connect: see `LinkState`. */
export interface ConnectionState extends Partial<LinkState> {
  readonly mode: string
  readonly status: LinkState['status']
  readonly clock: LinkState['clock']
  readonly behindMs: LinkState['behindMs']
  /** Messages that are not stored yet. */
  readonly pending: number
  /** More of these messages, once there was one. */
  readonly outbox?: OutboxState
  /** Why it is not open; null if it is. */
  readonly reason: string | null
  /** How many windows are on these channels, if the server counts them. */
  readonly windows?: number
  /** How many windows of this browser have a stream over HTTP/1.1, of which browsers open only six. */
  readonly browserHttp1Streams?: number
}

type ConnectionEvents = {
  readonly state: (state: ConnectionState) => void
  /**
   * The application refused this client when a ticket ended or was revoked. Messages that are not stored are
   * rejected. The application is asked again after 30 to 60 s, or by `retry`.
   */
  readonly error: (error: RefusedError) => void
}

/** Messages of a page that is read backwards. */
const usualLimit = 50

const usualModes = ['sse/2', 'sse/1.1', 'long-polling/1.1', 'polling/1.1']

type Chain = readonly [LinkMode, ...LinkMode[]]

/** Each falls back to the next. Throws if a mode is unknown, or none is left. */
function chainOf({ modes: names, fallbacks, transports }: OverOptions, base: string): Chain {
  const known = transports.flatMap((transport) => transport.modes)
  const chosen = names?.map((name) => modeNamed(name, known)) ?? known.filter(({ isOverUdp }) => !isOverUdp)
  const isSecure = base.startsWith('https:')
  const possible = chosen.filter(({ http }) => isSecure || !needsTls[http])
  if (possible.length === 0) throw new Error(`Only over https: ${namesOf(chosen)}.`)
  return possible.map((mode, place) => ({
    ...mode,
    fallback: (fallbacks ? fallbacks[mode.name] : possible[place + 1]?.name) ?? null,
  })) as unknown as Chain
}

function modeNamed<Mode extends TransportMode>(name: string, known: readonly Mode[]): Mode {
  const mode = known.find((one) => one.name === name)
  if (mode) return mode
  throw new Error(`There is no mode "${name}"; there are ${namesOf(known)}.`)
}

const namesOf = (modes: readonly TransportMode[]) => modes.map(({ name }) => name).join(', ')

/** Over every transport, in the usual modes. */
export const overAll = (options: ConnectOptions): OverOptions => ({
  modes: usualModes,
  ...options,
  transports: Object.values(transportsByName),
})

/** Connects to a server below `url`, when the first channel is read. Throws if a mode is unknown. */
export function connect(url: string | URL, options: ConnectOptions = {}): Channels {
  return connectOver(url, overAll(options))
}

export interface OverOptions extends ConnectOptions {
  /** Such as `[sse, longPolling]`; `modes` are theirs by default. */
  readonly transports: readonly ChosenTransport[]
}

/** As `connect`, over these transports only: a bundle contains no others. */
export function connectOver(url: string | URL, options: OverOptions): Channels {
  return new Channels(url, options)
}

type Answer = PromiseWithResolvers<{ readonly seq: number }>

function asRefused(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error
  const { code = 'refused', message = '' }: { readonly code?: string; readonly message?: string } =
    Object(error)
  return new RefusedError(code, message)
}

const tooManyChannels = (most: number) =>
  new RefusedError(
    'too-many-channels',
    `This connection has ${most} channels, as many as the server allows (limits.channelsPerWindow): leave one, or open another connection.`,
  )

export class Channels {
  readonly #options: OverOptions
  readonly #modes: Chain
  readonly #http: Http
  readonly #retry = new Retry(Math.random)
  /** Parameters of every request: the key and, if tokens are used, the ticket. */
  readonly #proof = new URLSearchParams()
  readonly #ending = new AbortController()
  readonly #followers = new Map<string, Follower>()
  /** Channels that the server lets this client read. */
  readonly #read = new Set<string>()
  #channelsPerStream = Number.POSITIVE_INFINITY
  readonly #answers = new Map<string, Answer>()
  readonly #listeners = new Listeners<ConnectionEvents>()
  #state: ConnectionState
  /** Why the application does not let this client in; null if it does, or was not asked yet. */
  #denial: RefusedError | null = null
  /** Accepts messages from the start, before the link exists. */
  readonly #link: Promise<Link>
  /** The same, once it is there: a page that is ending cannot wait. */
  #made: Link | null = null
  /** The request for a ticket; null before the first and after a failure. */
  #session: Promise<void> | null = null
  /** The newest, until there is a ticket for it. */
  #token: string | null = null

  constructor(url: string | URL, options: OverOptions) {
    const base = String(url).replace(/\/$/, '')
    this.#options = options
    this.#modes = chainOf(options, base)
    // Cookies need no request first.
    if (!options.token || options.renewSession) this.#session = Promise.resolve()
    this.#http = new Http(base, this.#ending.signal, usualTimeoutMs, options.platform)
    this.#state = {
      mode: this.#modes[0].name,
      status: 'opening',
      clock: null,
      behindMs: null,
      pending: 0,
      reason: null,
    }
    if (typeof document !== 'undefined')
      window.addEventListener('pagehide', () => this.#leaveEarly(base), { signal: this.#ending.signal })
    this.#link = this.#make(base)
    // Reported where it is used.
    this.#link.catch(nothingPlanned)
  }

  get state(): ConnectionState {
    return this.#state
  }

  /**
   * For the package's other doors, too: a channel of any kind. Throws if it is in use, or the
   * connection was closed.
   */
  follow(name: string, follower: Follower): ChannelHandle {
    this.#ending.signal.throwIfAborted()
    if (this.#followers.has(name)) throw new Error(`Channel "${name}" is in use.`)
    this.#followers.set(name, follower)
    const reading = this.#join(name, follower)
    reading
      .then((place) => place && follower.joined?.(...place))
      .catch((error) => this.#refuse(name, error, follower))
    return {
      link: this.#link,
      page: async (after, pauseMs) => {
        await reading
        if (pauseMs) await pause(pauseMs, this.#ending.signal)
        return this.#page(name, after)
      },
      pageBefore: (kind, { before = 'newest', limit = usualLimit }) =>
        this.#request(() =>
          this.#ask<EarlierPage>(name, { before: String(before), limit: String(limit), kind }),
        ),
      publish: (kind, body) => this.#publish(name, follower, kind, body),
      show: (state) =>
        reading.then(
          () => this.#followers.get(name) === follower && this.#made?.setAwareness({ state, channel: name }),
          nothingPlanned,
        ),
      fail: (error) => this.#refuse(name, error, follower),
      leave: () => this.#forget(name, follower),
    }
  }

  /** Of a channel that is followed. */
  protected followerOf(name: string): Follower | undefined {
    return this.#followers.get(name)
  }

  on<Event extends keyof ConnectionEvents>(event: Event, listener: ConnectionEvents[Event]): Off {
    return this.#listeners.on(event, listener)
  }

  /**
   * Asks at once whether the application lets this client in, with another token, and opens the
   * connection again. Rejects with an error that has a code if the application still says no, and with
   * another one if the server cannot be reached.
   */
  async retry(): Promise<void> {
    this.#ending.signal.throwIfAborted()
    try {
      await this.#review()
    } catch (error) {
      if (isRefusal(asClosing(error))) this.#deny(error)
      throw error
    }
    this.#denial = null
    this.#then((link) => link.wake('resumed'))
  }

  /** Switches to another of its modes. Throws if it has no such mode. */
  switch(name: string): void {
    const mode = modeNamed(name, this.#modes)
    this.#then((link) => link.switchMode(mode))
  }

  /**
   * Rejects messages that are not stored yet, but sends them once more, up to 64 KiB; ends the loops over its
   * channels.
   */
  close(): void {
    this.#ending.abort(new Error('The connection was closed.'))
    this.#then((link) => link.close())
    for (const { reject } of this.#answers.values()) reject(this.#ending.signal.reason)
    for (const follower of this.#followers.values()) follower.end()
  }

  #then(use: (link: Link) => void): void {
    this.#link.then(use, nothingPlanned)
  }

  async #publish<K extends Kind>(
    channel: string,
    follower: Follower,
    kind: K,
    body: Bodies[K],
  ): Promise<{ readonly seq: number }> {
    const link = this.#made ?? (await this.#link)
    this.#ending.signal.throwIfAborted()
    if (follower.refusal) throw follower.refusal
    // Messages published before the server is reached wait in the outbox, too.
    const draft = link.publish(channel, kind, body)
    if (!draft) throw new RefusedError('outbox-full', 'Too many messages are waiting to be sent.')
    const answer: Answer = Promise.withResolvers()
    this.#answers.set(draft.id, answer)
    if (this.#denial) link.outbox.refuse(this.#denial)
    return answer.promise
  }

  #deny(error: unknown): void {
    const isNews = this.#denial === null
    const denial = asRefused(error)
    this.#denial = denial
    this.#then((link) => link.outbox.refuse(denial))
    if (!isNews) return
    if (this.#listeners.has('error')) this.#listeners.tell('error', denial)
    else report(denial)
  }

  #refuse(name: string, error: unknown, follower = this.#followers.get(name)): void {
    if (this.#ending.signal.aborted || !this.#forget(name, follower)) return
    const refusal = asRefused(error)
    this.#then((link) => link.outbox.refuse(refusal, name))
    if (!follower) return
    follower.refusal = refusal
    follower.end()
  }

  /** Returns false if it was left before. */
  #forget(name: string, follower: Follower | undefined): boolean {
    if (this.#followers.get(name) !== follower) return false
    this.#followers.delete(name)
    if (this.#read.delete(name))
      this.#then((link) => {
        link.setAwareness({ state: null, channel: name })
        // A stream has at least one channel.
        if (this.#read.size > 0) link.read([...this.#read])
      })
    return true
  }

  /**
   * Resolves to the channel's newest cursor, and to the cursor from which the stream has the channel; to null if
   * it was left meanwhile.
   */
  async #join(name: string, follower: Follower): Promise<readonly [newest: string, from: string] | null> {
    const link = await this.#link
    // Without a ticket, the stream would be refused first.
    const start = this.#session && follower.from
    // A refusal in the stream would end it for all channels.
    const cursor = start ?? (await this.#page(name)).cursor
    if (this.#followers.get(name) !== follower) return null
    this.#ending.signal.throwIfAborted()
    if (this.#read.size >= this.#channelsPerStream) throw tooManyChannels(this.#channelsPerStream)
    // The stream may still have the channel that was left last; its new follower lacks the presence there.
    const isAnew = this.#read.size === 0
    this.#read.add(name)
    // Channels joined in one turn share the opening.
    queueMicrotask(() => {
      // It may have been left in the same turn.
      if (this.#read.size === 0) return
      link.read([...this.#read], isAnew)
      if (link.cursor !== null) link.wake('resumed')
      else link.open(cursor)
    })
    return [cursor, link.cursor ?? cursor]
  }

  /**
   * Repeats the request while the server cannot be reached, and with another ticket when the one before
   * has ended.
   */
  async #request<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        await (this.#session ?? this.#renew())
        return await ask()
      } catch (error) {
        const closing = asClosing(error)
        if (isRefusal(closing)) {
          this.#session = null
          if (closing.code !== 'expired') throw error
        }
        this.#ending.signal.throwIfAborted()
        // The stream may be open meanwhile.
        if (this.#state.status !== 'open') this.#changed({ status: 'waiting', reason: closing.sentence })
        await pause(this.#retry.pauseMs(closing), this.#ending.signal)
      }
    }
  }

  #page(channel: string, after?: string): Promise<Page> {
    return this.#request(() => this.#askPage(channel, after))
  }

  async #askPage(channel: string, after = 'newest'): Promise<Page> {
    const page = await this.#ask<Page>(channel, { after })
    this.#channelsPerStream = page.channelsPerStream
    return page
  }

  async #ask<Answer>(channel: string, place: Readonly<Record<string, string>>): Promise<Answer> {
    const query = new URLSearchParams([...Object.entries(place), ...this.#proof])
    return (await this.#http.get<Answer>(`/channels/${encodeURIComponent(channel)}?${query}`)).answer
  }

  /** Gets another ticket. Rejects with an `HttpError`, 401 if the application refuses. */
  #renew(): Promise<void> {
    const renewed = this.#askForTicket()
    this.#session = renewed
    renewed.catch(() => (this.#session = null))
    return renewed
  }

  async #askForTicket(): Promise<void> {
    const { token: tokenNow, renewSession } = this.#options
    if (renewSession) {
      await renewSession()
      return
    }
    if (!tokenNow) return
    const given = { token: await tokenNow() }
    this.#token = given.token
    const answer = await this.#http.post<{ readonly ticket: string | null }>(`/session?${this.#proof}`, given)
    if (!answer?.ticket) return
    this.#proof.set('ticket', answer.ticket)
    this.#token = null
  }

  /** For the last request of a page that ends before it has a ticket; null if it needs none, or is late. */
  #lastToken(): string | null {
    const { token: tokenNow, renewSession } = this.#options
    if (renewSession || !tokenNow || this.#proof.has('ticket')) return null
    const token = this.#token ?? tokenNow()
    return typeof token === 'string' ? token : null
  }

  /** The page ends before the link is there: sends the updates that wait for it, under a name without a key. */
  #leaveEarly(base: string): void {
    if (this.#made) return
    const from = newName('')
    const at = browserTimers.now()
    const drafts: Draft[] = []
    for (const [channel, follower] of this.#followers)
      for (const body of follower.unsent?.() ?? [])
        drafts.push({ id: `${from}-${drafts.length + 1}`, channel, kind: 'update', from, at, body })
    sendLast(this.#baseFor(base, this.#modes[0].http), [], drafts, this.#options.platform, this.#lastToken())
  }

  #baseFor(base: string, http: WindowHttp): string {
    const origin = this.#options.origins?.[http]
    return origin ? new URL(new URL(base).pathname, origin).href : base
  }

  /** Also drops the channels that the server does not let this client read any more. */
  async #review(code?: Closing['code']): Promise<void> {
    await this.#renew()
    if (code === 'expired') return
    const link = await this.#link
    // Among them may be the one that was left last.
    for (const name of link.channels)
      try {
        await this.#askPage(name)
      } catch (error) {
        if (this.#followers.get(name)?.isRequired || asClosing(error).code !== 'refused') throw error
        this.#refuse(name, error)
        link.read(link.channels.filter((one) => one !== name))
      }
    // Those that were not asked for before the stream.
    for (const name of [...this.#read].slice(this.#channelsPerStream))
      this.#refuse(name, tooManyChannels(this.#channelsPerStream))
  }

  async #make(base: string): Promise<Link> {
    const { platform, transports, share, drafts, polling, clock, debug: LinkClass = Link } = this.#options
    const own = transportsOver(platform, transports)
    const keeping = drafts?.over(base)
    const key = (await (keeping?.key ?? share?.key(base))) ?? newKey()
    this.#proof.set('key', key)
    const name = keeping?.name ?? nameUnder(await fingerprintOf(key), newKey().slice(0, 8))
    const kept = { window: name, timers: browserTimers }
    const link: Link = new LinkClass(
      {
        ...kept,
        platform,
        mode: this.#modes[0],
        modes: this.#modes,
        proof: this.#proof,
        random: Math.random,
        channels: [],
        polling,
        clock,
        transports: share?.over(own, this.#ending.signal) ?? own,
        baseFor: (http) => this.#baseFor(base, http),
        token: () => this.#lastToken(),
        outbox: (listener) => keeping?.outbox(kept, listener) ?? new Outbox(kept, plainPolicy(), listener),
        renewSession: ({ code }) => this.#review(code),
      },
      {
        onState: (state) => this.#changed(state),
        onPresence: ({ type: _, ...counts }) => this.#changed(counts),
        onMessage: (message, receivedAt, dueAt) =>
          this.#followers.get(message.channel)?.take(message, link.cursor ?? '', receivedAt, dueAt),
        onVolatile: (message) => this.#followers.get(message.channel)?.volatile?.(message),
        onDenied: (error) => this.#deny(error),
        onNewLog: () => this.#followers.forEach((follower) => void follower.newLog?.()),
        onMissed: (from, to) =>
          this.#followers.forEach((follower, name) => {
            follower.missed?.(from, to)?.catch((error) => this.#refuse(name, error, follower))
          }),
        onAwareness: (frame) => this.#followers.get(frame.channel)?.presence.heard(frame, name),
        onStateRefused: (channel = '', error) => this.#followers.get(channel)?.presence.refused(error),
        onOutbox: (outbox) => this.#changed({ pending: outbox.unstored, outbox }),
        onStored: ({ id }, seq) => this.#take(id)?.resolve({ seq }),
        onRefused: ({ id }, sentence, code) => this.#take(id)?.reject(new RefusedError(code, sentence)),
      },
    )
    if (typeof document !== 'undefined') watchWakeUps(document, window, link, this.#ending.signal)
    this.#made = link
    return link
  }

  #take(id: string) {
    const answer = this.#answers.get(id)
    this.#answers.delete(id)
    return answer
  }

  #changed(change: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...change }
    if (this.#state.status === 'open') this.#denial = null
    this.#listeners.tell('state', this.#state)
  }
}
