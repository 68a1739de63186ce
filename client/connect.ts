// The library's door: channels of one server, over one stream.

import { type Bodies, type Kind, nameUnder } from '../server/wire/messages.ts'
import { type HttpVersion, type Mode, needsTls } from '../server/wire/modes.ts'
import { nothingPlanned } from '../server/wire/time.ts'
import { browserTimers, now, watchWakeUps } from './browser-services.ts'
import { Retry } from './fallback.ts'
import { isRefusal, Link, type LinkOutbox, type LinkState } from './link.ts'
import { listen, type Off, tell } from './listeners.ts'
import { fingerprintOf, newKey } from './names.ts'
import { Outbox, type OutboxListener, type OutboxOptions } from './outbox.ts'
import { Feed, type Follower, type Following, type Page, type Room } from './room.ts'
import { asClosing, Http, usualTimeoutMs } from './transports/http.ts'
import { transportsByName } from './transports/slots.ts'
import {
  type ChosenTransport,
  type Platform,
  RefusedError,
  type Transports,
  transportsOver,
} from './transports/transport.ts'

export type { Follower, Following, Presence, Room, RoomMessage } from './room.ts'
export { longPolling, polling } from './transports/polling.ts'
export { programs } from './transports/programs.ts'
export { sse } from './transports/sse.ts'
export { streaming } from './transports/streaming.ts'
export { RefusedError } from './transports/transport.ts'
export { websocket } from './transports/websocket.ts'

export interface ConnectOptions {
  /**
   * The first is used while it can be; the next when the one before fails, until it works again.
   * Default: `sse/2`, `sse/1.1`, `long-polling/1.1`, `polling/1.1`; over plain `http` only the
   * modes of HTTP/1.1.
   */
  readonly modes?: readonly string[]
  /** Where an HTTP version has an address of its own; otherwise the browser chooses the version. */
  readonly origins?: Readonly<Partial<Record<HttpVersion, string>>>
  /** Asked for a token whenever a ticket is needed; without it the server sees the application's cookies. */
  readonly token?: () => string | Promise<string>
  /** Default: the browser's; in Node `programs`, which service workers need, too. */
  readonly platform?: Platform
  /** `sharedConnection` of `@crosswind/client/share`. */
  readonly share?: Sharing
  /** `keptDrafts` of `@crosswind/client/drafts`. */
  readonly drafts?: Keeping
}

/** One connection for several windows, which prove their names by one key. */
export interface Sharing {
  readonly key: string
  /** The transports over the shared connection. */
  readonly over: (transports: Transports) => Transports
}

/** Messages that are sent again by a later page, which proves their sender's name by the key. */
export interface Keeping {
  readonly key: string
  /** `base`: the server's address. */
  readonly outbox: (options: OutboxOptions, listener: OutboxListener, base: string) => LinkOutbox
}

export interface ConnectionState {
  readonly mode: string
  readonly status: LinkState['state']
  /** Messages that are not stored yet. */
  readonly pending: number
  /** Why it is not open; null if it is. */
  readonly reason: string | null
}

const usualModes = ['sse/2', 'sse/1.1', 'long-polling/1.1', 'polling/1.1']

type Chain = readonly [Mode, ...Mode[]]

/** Each falls back to the next. Throws if a mode is unknown, or none is left. */
function chainOf({ modes: names, transports }: OverOptions, base: string): Chain {
  const known = transports.flatMap((transport) => transport.modes)
  const chosen = names?.map((name) => modeNamed(name, known)) ?? known
  const isSecure = base.startsWith('https:')
  const possible = chosen.filter(({ http }) => isSecure || !needsTls[http])
  if (possible.length === 0) throw new Error(`Only over https: ${namesOf(chosen)}.`)
  return possible.map((mode, place) => ({
    ...mode,
    fallback: possible[place + 1]?.name ?? null,
  })) as unknown as Chain
}

function modeNamed(name: string, known: readonly Mode[]): Mode {
  const mode = known.find((one) => one.name === name)
  if (mode) return mode
  throw new Error(`There is no mode "${name}"; there are ${namesOf(known)}.`)
}

const namesOf = (modes: readonly Mode[]) => modes.map(({ name }) => name).join(', ')

const bounds = { messages: 2000, bytes: 4_194_304 }

/** Connects to a server below `url`, when the first channel is read. Throws if a mode is unknown. */
export function connect(url: string | URL, options: ConnectOptions = {}): Crosswind {
  return connectOver(url, { modes: usualModes, ...options, transports: Object.values(transportsByName) })
}

export interface OverOptions extends ConnectOptions {
  /** Such as `[sse, longPolling]`; `modes` are theirs by default. */
  readonly transports: readonly ChosenTransport[]
}

/** The same over these transports only: a bundle contains no others. */
export function connectOver(url: string | URL, options: OverOptions): Crosswind {
  return new Crosswind(String(url).replace(/\/$/, ''), options)
}

export class Crosswind {
  readonly #token: ConnectOptions['token']
  readonly #modes: Chain
  readonly #http: Http
  readonly #retry = new Retry(now, Math.random)
  readonly #key: string
  /** What every request carries: the key and, if tokens are used, the ticket. */
  readonly #proof: URLSearchParams
  readonly #ending = new AbortController()
  readonly #rooms = new Map<string, Follower>()
  /** Those that the server lets this client read. */
  readonly #read = new Set<string>()
  readonly #answers = new Map<string, PromiseWithResolvers<{ readonly seq: number }>>()
  readonly #onState = new Set<(state: ConnectionState) => void>()
  #state: ConnectionState
  /** Takes messages from the beginning on. */
  readonly #link: Promise<Link>
  /** The same, once the server was reached. */
  #opened: Promise<Link> | null = null

  constructor(base: string, options: OverOptions) {
    this.#token = options.token
    this.#key = (options.drafts ?? options.share)?.key ?? newKey()
    this.#proof = new URLSearchParams({ key: this.#key })
    this.#modes = chainOf(options, base)
    this.#http = new Http(base, this.#ending.signal, usualTimeoutMs, options.platform)
    this.#state = { mode: this.#modes[0].name, status: 'opening', pending: 0, reason: null }
    this.#link = this.#make(base, options)
    // Reported where it is used.
    this.#link.catch(nothingPlanned)
  }

  get state(): ConnectionState {
    return this.#state
  }

  /**
   * `from`: messages from now on, all that the server keeps (`start`), or those after a message's
   * cursor. The first call for a name decides.
   */
  channel<Data>(name: string, { from = 'newest' }: { readonly from?: string } = {}): Room<Data> {
    const known = this.#rooms.get(name)
    if (known instanceof Feed) return known
    return new Feed<Data>(name, from, (feed) => this.follow(name, feed))
  }

  /** For the package's other doors, too: a channel of any kind. Throws if it is in use. */
  follow(name: string, follower: Follower): Following {
    if (this.#rooms.has(name)) throw new Error(`Channel "${name}" is in use.`)
    this.#rooms.set(name, follower)
    const reading = this.#open(name).then(async (link) => {
      // A refusal in the stream would end it for all channels.
      if (!this.#read.has(name)) await this.#page(name, 'newest')
      if (this.#rooms.has(name)) this.#read.add(name)
      link.read([...this.#read])
      return link.cursor ?? ''
    })
    const show = (state: unknown) => this.#then((link) => link.setAwareness(state, false, name))
    this.#watch(
      name,
      follower,
      reading.then((cursor) => follower.joined?.(cursor)),
    )
    return {
      mostUnderWay: () => this.#modes.find(({ name }) => name === this.#state.mode)?.mostUnderWay ?? 1,
      page: async (after) => {
        await reading
        return this.#page(name, after)
      },
      publish: (kind, body) => this.#publish(name, kind, body, reading),
      show,
      leave: () => {
        show(null)
        this.#forget(name, follower)
      },
    }
  }

  on(_event: 'state', listener: (state: ConnectionState) => void): Off {
    return listen(this.#onState, listener)
  }

  /** To another of its modes. Throws if it has no such mode. */
  switch(name: string): void {
    const mode = modeNamed(name, this.#modes)
    this.#then((link) => link.switchMode(mode))
  }

  close(): void {
    this.#ending.abort(new Error('The connection was closed.'))
    this.#link.then((link) => link.close(), nothingPlanned)
    for (const { reject } of this.#answers.values()) reject(this.#ending.signal.reason)
  }

  /** Once it is open; a failure is told to whoever opened it. */
  #then(use: (link: Link) => void): void {
    this.#opened?.then(use, nothingPlanned)
  }

  async #publish<K extends Kind>(
    channel: string,
    kind: K,
    body: Bodies[K],
    reading: Promise<unknown>,
  ): Promise<{ readonly seq: number }> {
    this.#ending.signal.throwIfAborted()
    // What is published before the server was reached waits in the outbox, too.
    const draft = (await this.#link).publish(channel, kind, body)
    if (!draft) throw new RefusedError('outbox-full', 'Too many messages are waiting to be sent.')
    const answer = Promise.withResolvers<{ readonly seq: number }>()
    this.#answers.set(draft.id, answer)
    reading.catch(answer.reject)
    return answer.promise
  }

  #watch(name: string, follower: Follower, work?: Promise<void>): void {
    work?.catch((error) => {
      if (this.#ending.signal.aborted) return
      this.#forget(name, follower)
      follower.fail(error)
    })
  }

  #forget(name: string, follower: Follower): void {
    if (this.#rooms.get(name) !== follower) return
    this.#rooms.delete(name)
    this.#read.delete(name)
    // A stream has at least one channel.
    if (this.#read.size > 0) this.#then((link) => link.read([...this.#read]))
  }

  /**
   * Repeats the request while the server cannot be reached, and with another ticket when the one before
   * has ended; `isFirst`: there is none yet.
   */
  async #page(channel: string, after: string, isFirst = false): Promise<Page> {
    for (let isExpired = isFirst; ; ) {
      try {
        if (isExpired) await this.#renew()
        isExpired = false
        const query = new URLSearchParams([['after', after], ...this.#proof])
        return (await this.#http.get<Page>(`/channels/${encodeURIComponent(channel)}?${query}`)).answer
      } catch (error) {
        const closing = asClosing(error)
        const hasEnded = closing.code === 'expired'
        if (this.#ending.signal.aborted || (isRefusal(closing) && !hasEnded)) throw error
        isExpired ||= hasEnded
        // The stream may be open meanwhile.
        if (this.#state.status !== 'open') this.#changed({ status: 'waiting', reason: closing.sentence })
        await new Promise((resolve) => setTimeout(resolve, this.#retry.pauseMs(closing)))
      }
    }
  }

  /** Rejects if the server refuses this channel; whoever waited for it tries its own. */
  async #open(name: string): Promise<Link> {
    while (this.#opened) {
      try {
        return await this.#opened
      } catch {
        // The channel that opened was refused; try this one.
      }
    }
    this.#opened = this.#begin(name)
    this.#opened.catch(() => (this.#opened = null))
    return this.#opened
  }

  /** Gets another ticket. Rejects with an `HttpError`, 401 if the application refuses. */
  async #renew(): Promise<void> {
    const tokenNow = this.#token
    if (!tokenNow) return
    const path = `/session?key=${this.#key}`
    const given = { token: await tokenNow() }
    const answer = await this.#http.post<{ readonly ticket: string | null }>(path, given)
    if (answer?.ticket) this.#proof.set('ticket', answer.ticket)
  }

  async #begin(first: string): Promise<Link> {
    const { cursor } = await this.#page(first, 'newest', true)
    const link = await this.#link
    this.#read.add(first)
    link.read([first])
    if (!this.#ending.signal.aborted) link.open(cursor)
    if (typeof document !== 'undefined') watchWakeUps(document, window, link)
    return link
  }

  async #make(base: string, { platform, transports, origins, share, drafts }: OverOptions): Promise<Link> {
    const own = transportsOver(platform, transports)
    const name = nameUnder(await fingerprintOf(this.#key), newKey().slice(0, 8))
    const kept = { window: name, bounds, timers: browserTimers }
    const link: Link = new Link(
      {
        ...{ mode: this.#modes[0], modes: this.#modes, proof: this.#proof, timers: browserTimers },
        random: Math.random,
        channels: [],
        transports: share?.over(own) ?? own,
        baseFor(http) {
          const origin = origins?.[http]
          return origin === undefined ? base : new URL(new URL(base).pathname, origin).href
        },
        window: name,
        outbox: (listener) => drafts?.outbox(kept, listener, base) ?? new Outbox(kept, listener),
        renewSession: () => this.#renew(),
      },
      {
        onState: ({ state, mode, reason }) => this.#changed({ status: state, mode, reason }),
        onMessage: (message) => this.#rooms.get(message.channel)?.take(message, link.cursor ?? ''),
        onNewLog: () => this.#rooms.forEach((room) => void room.newLog?.()),
        onMissed: (from, to) =>
          this.#rooms.forEach((room, name) => void this.#watch(name, room, room.missed?.(from, to))),
        onAwareness: (frame) => this.#rooms.get(frame.channel)?.presence.heard(frame, name),
        onOutbox: ({ unstored }) => this.#changed({ pending: unstored }),
        onStored: ({ id }, seq) => this.#take(id)?.resolve({ seq }),
        onRefused: ({ id }, sentence, code) => this.#take(id)?.reject(new RefusedError(code, sentence)),
      },
    )
    return link
  }

  #take(id: string) {
    const answer = this.#answers.get(id)
    this.#answers.delete(id)
    return answer
  }

  #changed(change: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...change }
    tell(this.#onState, this.#state)
  }
}
