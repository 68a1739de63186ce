// A window's link to the log: opens, resumes, retries and falls back; delivers once, in order.

import type { ClockReading } from '../protocol/clock-estimate.ts'
import {
  type AwarenessFrame,
  type AwarenessReport,
  type Bodies,
  type Cursor,
  type DownFrame,
  type Draft,
  formatCursor,
  type Heartbeat,
  type Kind,
  type Message,
  type Polling,
  type Presence,
  parseCursor,
  type Stored,
  type Welcome,
} from '../protocol/messages.ts'
import type { LinkMode, WindowHttp } from '../protocol/modes.ts'
import { nothingPlanned, type Random, type Timers } from '../protocol/time.ts'
import type { Sleeper, WakeUp } from './browser-services.ts'
import { Connection } from './connection.ts'
import { Fallback, type FallbackReason } from './fallback.ts'
import type { LinkClock } from './link-clock.ts'
import { bytesOf, isInFlight, type Outbox, type OutboxListener, otherUser } from './outbox.ts'
import { Retry } from './retry.ts'
import { ShownWindows } from './shown-windows.ts'
import { asClosing, sendLast } from './transports/http.ts'
import {
  type Closing,
  type OpenTransport,
  type Platform,
  RefusedError,
  type Transports,
} from './transports/transport.ts'

export interface LinkState {
  readonly status: 'opening' | 'open' | 'waiting'
  /** Such as `sse/2`. */
  readonly mode: string
  readonly preferred: string
  /** Why `mode` differs from `preferred`; null if equal or not open. */
  readonly fallbackReason: FallbackReason | null
  /** HTTP version of the requests, as the server or its front sees it; null until open. */
  readonly spokenHttp: WindowHttp | null
  /** Null when open. */
  readonly reason: string | null
  /** Ms since the epoch; null when none is planned. */
  readonly retryAt: number | null
  readonly repairs: number
  /** How far this window is behind its server, in whole seconds, ms; null while `clock` does not tell. See `Lag#ms`. */
  readonly behindMs: number | null
  readonly clock: ClockReading | null
  /**
   * The client's user, as the application's `authorize` names it; null if it names none, undefined until the
   * connection is open for the first time.
   */
  readonly user: string | null | undefined
  /**
   * Those of its channels to which this client may not write, as of the newest opening; undefined until the connection
   * is open for the first time. Empty with servers that do not tell: they only refuse what is written.
   */
  readonly readOnly: readonly string[] | undefined
}

export interface LinkOptions {
  readonly window: string
  readonly timers: Timers
  readonly random: Random
  readonly outbox: (listener: OutboxListener) => Outbox
  readonly mode: LinkMode
  /** Modes to fall back to. */
  readonly modes: readonly LinkMode[]
  readonly transports: Transports
  /** See `Opening`. */
  readonly baseFor: (http: WindowHttp) => string
  readonly polling?: Polling | undefined
  /** Parameters of each connection: the name's `key`, perhaps a `ticket`. See `renewSession`. */
  readonly proof: Iterable<[name: string, value: string]>
  /** The token of a client that has no ticket yet, for the last request of a page that ends. */
  readonly token?: (() => string | null) | undefined
  /** The page's own channel first. */
  readonly channels: readonly string[]
  /** Compares this window's clock with the server's; without it, `clock` and `behindMs` are null. */
  readonly clock?: typeof LinkClock | undefined
  /** Sends the last messages of a page that ends, and clock requests. Default: the browser's. */
  readonly platform?: Pick<Platform, 'fetch' | 'send'> | undefined
  /**
   * After a refusal, and when one may be hidden in a loss. Rejects with an `HttpError` when the server
   * refuses, with any other when it is unreachable.
   */
  readonly renewSession: (closing: Closing) => Promise<unknown>
}

export interface LinkListener extends OutboxListener {
  onState(state: LinkState): void
  /**
   * Delivers each message of the log once, in order. `dueAt` estimates its arrival without an interruption;
   * it differs from `receivedAt` only during catch-up. This window's clock, ms since the epoch.
   */
  onMessage(message: Message, receivedAt: number, dueAt: number): void
  /** The server does not let this window in: it asks again after a long pause, or at `wake`. */
  onDenied?(error: unknown): void
  /** The log was replaced: sequence numbers restart. */
  onNewLog(): void
  /** A volatile message of another window. */
  onVolatile?(message: Draft): void
  /** Messages between these cursors were missed; the newest of each channel and kind follow. */
  onMissed?(from: string, to: string): void
  onPresence?(presence: Presence): void
  /** Changes of the windows shown; an empty `whole` a while after the connection is lost. */
  onAwareness(frame: AwarenessFrame): void
  /** A state is larger than the server accepts; what was shown before stays. */
  onStateRefused?(channel: string | undefined, error: RefusedError): void
}

/** Whether an early retry is useless. */
export const isRefusal = ({ code }: Closing) => ['refused', 'uninvited', 'expired'].includes(code)

/** EventSource and WebSocket report refusals as losses, so the session is checked. */
const lossesBeforeSessionCheck = 2

/** Time limit for a welcome or an answer over UDP, ms; after it, TCP is tried in parallel. */
const lateMs = 700

/**
 * The link is opening from `open` until the welcome, then open. When the connection ends, a candidate takes
 * over or the link waits: for a pause, a renewed session or `wake`; then it opens again.
 */
export class Link implements Sleeper {
  readonly outbox: Outbox
  readonly #options: LinkOptions
  readonly #listener: LinkListener
  #fallback: Fallback
  readonly #retry: Retry
  readonly #clock: LinkClock | undefined
  readonly #awareness: AwarenessSender
  readonly #shown: ShownWindows
  #channels: readonly string[]
  #position: Cursor | null = null
  /** Sequence number of the log's end when the stream opened: messages up to it are catch-up. */
  #endSeq = 0
  #openings = 0
  #current: Connection | null = null
  /**
   * A connection in another mode, which replaces the current one on its welcome: in a better mode, or
   * beside one over UDP that is late.
   */
  #candidate: Connection | null = null
  #cancelRetry = nothingPlanned
  #cancelCandidate = nothingPlanned
  #isOffline = false
  #isClosed = false
  /** Since the last welcome. */
  #losses = 0
  /** The session was renewed, and nothing was welcomed since with these channels: a refusal is final. */
  #isRenewed = false
  #repairs = 0
  #readOnly: readonly string[] | undefined
  #state: Omit<LinkState, 'clock' | 'behindMs'> | null = null

  /** Call `open` to begin. */
  constructor(options: LinkOptions, listener: LinkListener) {
    const { timers, random, platform } = options
    this.#options = options
    this.#listener = listener
    this.#channels = options.channels
    this.outbox = options.outbox(listener)
    this.#fallback = new Fallback(options.mode, options)
    this.#retry = new Retry(random)
    this.#awareness = new AwarenessSender(timers, listener)
    this.#shown = new ShownWindows(timers, (frame) => listener.onAwareness(frame))
    this.#clock = options.clock && new options.clock(timers, random, () => this.#notify(), platform)
  }

  /** `cursor`: of the state that the page has already. Does nothing once closed. */
  open(cursor?: string | null): void {
    if (this.#isClosed) return
    if (cursor) this.#position = parseCursor(cursor)
    this.#cancelRetry()
    if (this.#channels.length === 0) {
      this.#report('waiting', { reason: 'This connection has no channels.' })
      return
    }
    this.#current = this.#connect(this.#fallback.mode)
    this.#report('opening')
    this.#cancelCandidate = this.#openBesideIfLate(this.#current)
  }

  /** Position in the log; null before the first connection. */
  get cursor(): string | null {
    return this.#position && formatCursor(this.#position)
  }

  /** Sends a message, now or once connected. Null if the outbox has no room for it. */
  publish<K extends Kind>(channel: string, kind: K, body: Bodies[K]): Draft<K> | null {
    return this.outbox.publish(channel, kind, body)
  }

  /** As `read` set them. */
  get channels(): readonly string[] {
    return this.#channels
  }

  /** This window's name. */
  get window(): string {
    return this.#options.window
  }

  /** Sends a volatile draft, past the outbox; null while the link is not open. */
  send(draft: Draft): Promise<Stored> | null {
    return this.#open?.uplink.send(draft) ?? null
  }

  /**
   * Replaces the channels; a new one delivers messages from now on only. With none, the link waits until there
   * is one. `isAnew`: all are new.
   */
  read(channels: readonly string[], isAnew = false): void {
    if (!isAnew && channels.join() === this.#channels.join()) return
    this.#channels = channels
    this.#isRenewed = false
    // Otherwise once it is welcomed, so that channels joined meanwhile share the reopening.
    if (this.#open) this.#reopen()
  }

  /**
   * Sets this window's presence state, by default on its first channel: sent on change, at most
   * ten times a second, and after each reconnect.
   */
  setAwareness(report: AwarenessReport): void {
    this.#awareness.set(report)
  }

  switchMode(next: LinkMode): void {
    this.#fallback = new Fallback(next, this.#options)
    this.#retry.startOver()
    if (this.#state) this.#reopen()
  }

  /** Stops clock comparison until `wake('visible')`. */
  rest(): void {
    this.#clock?.rest()
  }

  wake(by: WakeUp): void {
    if (this.#state) {
      if (by === 'online') this.#isOffline = false
      if (this.#current === null) this.open()
      else if (by === 'restored' || this.#current.isStale()) this.#reopen()
    }
    this.#clock?.wake(by === 'visible')
    // The server forgets polling windows that the browser has slowed down.
    this.#awareness.repeat()
  }

  offline(): void {
    this.#isOffline = true
    if (this.#isWaiting()) this.#waitOffline()
  }

  /**
   * Closing, or entering the back-forward cache: a cached page may keep its stream open but frozen, and
   * the server would count the window as present until the silence limit.
   */
  hide(): void {
    this.#sendLast(() => this.outbox.leave())
    this.#leave(true)
  }

  /** The listener is not told whether what waits arrives. */
  close(): void {
    this.#isClosed = true
    this.#sendLast(() => this.outbox.close())
    this.#cancelRetry()
    this.rest()
    this.#leave(true)
    this.#shown.clear()
    this.#state = null
  }

  /** Sends the drafts that the outbox has when it ends. */
  #sendLast(end: () => readonly Draft[]): void {
    const { baseFor, proof, platform, token } = this.#options
    const arrives = this.#open?.uplink.outlivesPage && this.outbox.drafts.pending.every(isInFlight)
    const left = end()
    // All together, so that none overtakes another.
    if (!arrives)
      sendLast(
        baseFor(this.#fallback.mode.http),
        [...proof, ['user', this.outbox.user ?? '']],
        left,
        platform,
        token?.(),
      )
  }

  // The life of a connection

  /** Null before the welcome, and once it has ended. */
  get #open(): Connection | null {
    return this.#state?.status === 'open' ? this.#current : null
  }

  #connect(mode: LinkMode): Connection {
    const { transports, baseFor, polling, window, proof, timers } = this.#options
    this.#openings += 1
    const query = new URLSearchParams([
      ['window', window],
      ...proof,
      ['channels', this.#channels.join()],
      ['opening', String(this.#openings)],
      ['answers', ''],
    ])
    if (this.cursor !== null) query.set('cursor', this.cursor)
    const connection: Connection = new Connection(
      transports[mode.transport],
      {
        base: baseFor(mode.http),
        mode,
        query,
        polling,
        onFrame: (frame, receivedAt) => this.#handle(connection, frame, receivedAt),
        onClose: (closing) =>
          connection === this.#candidate ? this.#candidateFailed() : this.#ended(closing),
      },
      timers,
    )
    return connection
  }

  #handle(connection: Connection, frame: DownFrame, receivedAt: number): void {
    // A candidate resumes from the cursor, so no message is lost or repeated.
    if (frame.type === 'welcome' && connection === this.#candidate) {
      this.#current?.leave()
      this.#current = this.#takeCandidate()
    }
    if (connection !== this.#current) return
    this.#isOffline = false
    if (frame.type === 'welcome') this.#welcomed(connection, frame, receivedAt)
    else if (frame.type === 'presence') this.#listener.onPresence?.(frame)
    else if (frame.type === 'awareness') this.#shown.take(frame)
    else if (frame.type === 'clock') this.#clock?.take(frame, receivedAt)
    else if (frame.type === 'message') this.#deliver(frame.message, receivedAt)
    else if (frame.type === 'volatile') {
      // Shared connections return it.
      if (frame.message.from !== this.window) this.#listener.onVolatile?.(frame.message)
    } else if (frame.type === 'heartbeat') this.#beaten(frame, receivedAt)
  }

  #beaten({ newest, at }: Heartbeat, receivedAt: number): void {
    // Streams keep order: a message missing before the heartbeat is lost.
    if (newest > (this.#position?.seq ?? 0)) {
      this.#repairs += 1
      this.#reopen()
    } else this.#clock?.lag.heartbeat(at, receivedAt)
  }

  #welcomed(connection: Connection, welcome: Welcome, receivedAt: number): void {
    if (connection.opening.query.get('channels') !== this.#channels.join()) {
      this.#reopen()
      return
    }
    const { user = null } = welcome
    // It would go on as somebody whom its page does not show.
    if (this.outbox.user && user !== this.outbox.user) {
      this.#leave()
      this.#denied(otherUser)
      return
    }
    this.#readOnly = welcome.readOnly ?? []
    this.#losses = 0
    this.#isRenewed = false
    this.#fallback.opened(connection.mode, welcome.http)
    const { uplink } = connection
    const before = this.cursor
    this.#enterLog(welcome)
    if (before !== null && !welcome.recovered) this.#listener.onMissed?.(before, welcome.cursor)
    const send: OpenTransport['send'] = (draft) =>
      uplink.send(draft).finally(this.#openBesideIfLate(connection))
    this.outbox.connect(
      send,
      connection.mode.maxInFlight,
      // All unacknowledged drafts must be resent in order.
      () => connection.abandon('lost', 'A message could not be sent.'),
      user,
    )
    this.#clock?.askOver(connection, welcome.at, receivedAt)
    this.#awareness.sendOver((report) => uplink.sendAwareness(report), welcome.stateBytes)
    this.#report('open', { spokenHttp: welcome.http })
    this.planProbe()
  }

  #enterLog({ cursor, recovered }: Pick<Welcome, 'cursor' | 'recovered'>): void {
    const { epoch, seq } = parseCursor(cursor) ?? { epoch: '', seq: 0 }
    this.#endSeq = seq
    const known = this.#position
    if (epoch === known?.epoch) return
    const isContinued = recovered && known !== null
    this.#position = { epoch, seq: isContinued ? known.seq : 0 }
    if (known && !isContinued) this.#listener.onNewLog()
  }

  #deliver(message: Message, receivedAt: number): void {
    const { seq } = message
    if (!this.#position || seq <= this.#position.seq) return
    this.#position = { ...this.#position, seq }
    const isLate = seq <= this.#endSeq
    const dueAt = isLate ? (this.#clock?.whenDue(message, receivedAt) ?? receivedAt) : receivedAt
    this.#listener.onMessage(message, receivedAt, dueAt)
    this.#clock?.lag.message(message.acceptedAt, receivedAt)
  }

  #ended(closing: Closing): void {
    const livedMs = this.#disconnect()
    this.#current = this.#takeCandidate()
    // The server may have replaced this stream with the candidate's.
    if (this.#current) {
      this.#fallback.adopt(this.#current.mode)
      this.#report('opening')
      return
    }
    this.#dropCandidate()
    if (!isRefusal(closing)) {
      this.#retryAfter(closing, livedMs)
      return
    }
    this.#fallback.closed(closing.code)
    this.#report('waiting', { reason: closing.sentence })
    this.#checkSession(closing, livedMs !== null)
  }

  #reopen(): void {
    this.#leave()
    this.open()
  }

  /** `isForGood`: the others no longer see this window, even if it comes back later. */
  #leave(isForGood = false): void {
    this.#dropCandidate()
    this.#current?.leave(isForGood)
    this.#disconnect()
  }

  /** Returns how long the connection was open, ms; null if it never was. */
  #disconnect(): number | null {
    const livedMs = this.#current?.livedMs ?? null
    if (livedMs !== null) this.#retry.lived(livedMs)
    this.#current = null
    this.outbox.disconnect()
    this.#awareness.sendOver(null)
    this.#shown.lost(this.#channels)
    this.#clock?.askOver(null)
    return livedMs
  }

  // Between connections

  #isWaiting(): boolean {
    return this.#current === null && this.#state !== null
  }

  #retryAfter(closing: Closing, livedMs: number | null = null): void {
    if (this.#isOffline) {
      this.#fallback.closed('offline')
      this.#waitOffline()
      return
    }
    const isAtOnce = this.#fallback.closed(closing.code, livedMs)
    if (isAtOnce) this.#retry.startOver()
    this.#retryIn(isAtOnce ? 0 : this.#retry.pauseMs(closing, livedMs !== null), closing.sentence)
    this.#losses += 1
    if (this.#losses < lossesBeforeSessionCheck || this.#isRenewed) return
    this.#checkSession(closing)
  }

  #waitOffline(): void {
    this.#retryIn(this.#retry.longPauseMs(), 'This browser is offline.')
  }

  #retryIn(delayMs: number, reason: string): void {
    const { timers } = this.#options
    this.#cancelRetry()
    this.#cancelRetry = timers.later(() => this.open(), delayMs)
    this.#report('waiting', { reason, retryAt: timers.now() + delayMs })
  }

  /** Waits long if the server refuses the session. Does nothing if a connection was opened meanwhile. */
  #checkSession(closing: Closing, wasOpen = false): void {
    const { code, sentence, retryAfterMs } = closing
    this.#options.renewSession(closing).then(
      () => {
        if (!this.#isWaiting()) return
        const isFinal = code !== 'expired'
        if (isFinal && this.#isRenewed) return this.#denied(new RefusedError(code, sentence), retryAfterMs)
        this.#isRenewed = isFinal
        // The pause grows from the second time on, to prevent a loop.
        this.#retryIn(this.#retry.pauseMs({ code, retryAfterMs: 0 }, wasOpen), sentence)
      },
      (error) => {
        const refusal = asClosing(error)
        if (!this.#isWaiting()) return
        if (isRefusal(refusal)) this.#denied(error, refusal.retryAfterMs)
        // After a loss, the server is known to be unreachable, and the next try is planned.
        else if (isRefusal(closing)) this.#retryAfter({ ...closing, code: 'lost' })
      },
    )
  }

  #denied(error: Error, retryAfterMs: number | null = null): void {
    this.#fallback.closed('refused')
    this.#retryIn(Math.max(this.#retry.longPauseMs(), retryAfterMs ?? 0), error.message)
    this.#listener.onDenied?.(error)
  }

  // Networks that do not let UDP through

  /**
   * Unless stopped before, opens the next mode beside one over UDP that is late: whichever answers first
   * is used, since it may only be slow.
   */
  #openBesideIfLate(late: Connection): () => void {
    const next = late.mode.isOverUdp && this.#fallback.below(late.mode)
    if (!next) return nothingPlanned
    let beside: Connection | null = null
    const stop = this.#options.timers.later(() => {
      if (late === this.#current && !this.#candidate) this.#candidate = beside = this.#connect(next)
    }, lateMs)
    return () => {
      stop()
      if (beside === this.#candidate) this.#takeCandidate()?.leave()
    }
  }

  // Returning to a better mode

  /** Returns the pause until a better mode is tried, ms; null if there is none. */
  protected planProbe(): number | null {
    this.#dropCandidate()
    const pauseMs = this.#fallback.probePauseMs()
    if (pauseMs !== null)
      this.#cancelCandidate = this.#options.timers.later(
        () => this.#tryBetter(this.#fallback.preferred),
        pauseMs,
      )
    return pauseMs
  }

  #tryBetter(better: LinkMode | null): void {
    if (better) {
      this.#candidate = this.#connect(better)
      return
    }
    this.#fallback.probeFailed()
    this.planProbe()
  }

  #candidateFailed(): void {
    this.#tryBetter(this.#fallback.betterAfter(this.#takeCandidate()?.mode ?? this.#fallback.mode))
    const last = this.#state
    if (last?.status === 'open' && last.fallbackReason !== this.#fallback.fallbackReason)
      this.#report('open', { spokenHttp: last.spokenHttp })
  }

  #takeCandidate(): Connection | null {
    const taken = this.#candidate
    this.#candidate = null
    return taken
  }

  #dropCandidate(): void {
    this.#cancelCandidate()
    this.#takeCandidate()?.leave()
  }

  #report(status: LinkState['status'], change: Partial<LinkState> = {}): void {
    this.#state = {
      status,
      mode: this.#fallback.mode.name,
      preferred: this.#fallback.preferred.name,
      fallbackReason: status === 'open' ? this.#fallback.fallbackReason : null,
      spokenHttp: null,
      reason: null,
      retryAt: null,
      repairs: this.#repairs,
      user: this.outbox.user,
      readOnly: this.#readOnly,
      ...change,
    }
    this.#notify()
  }

  #notify(): void {
    if (!this.#state) return
    const { reading = null, behindMs = null } = this.#clock ?? {}
    this.#listener.onState({ ...this.#state, behindMs, clock: reading })
  }
}

const awarenessPauseMs = 100

class AwarenessSender {
  readonly #timers: Timers
  readonly #listener: Pick<LinkListener, 'onStateRefused'>
  /** By channel. */
  readonly #newest = new Map<string | undefined, AwarenessReport>()
  #unsent = new Map<string | undefined, AwarenessReport>()
  /** Channels whose newest state was refused: reported once, not at each move. */
  readonly #refused = new Set<string | undefined>()
  #send: ((report: AwarenessReport) => void) | null = null
  /** Known once connected. */
  #maxBytes = Infinity
  #freeAt = 0
  #stopTimer = nothingPlanned

  constructor(timers: Timers, listener: Pick<LinkListener, 'onStateRefused'>) {
    this.#timers = timers
    this.#listener = listener
  }

  /** Null while there is no connection. */
  sendOver(send: ((report: AwarenessReport) => void) | null, maxBytes = this.#maxBytes): void {
    this.#send = send
    this.#maxBytes = maxBytes
    // A new stream shows nothing.
    for (const [channel, report] of this.#newest)
      if (report.state === null || !this.#fits(report)) this.#newest.delete(channel)
    this.repeat()
  }

  repeat(): void {
    this.#unsent = new Map(this.#newest)
    this.#sendSoon()
  }

  set(report: AwarenessReport): void {
    if (!this.#fits(report)) return
    this.#newest.set(report.channel, report)
    this.#unsent.set(report.channel, report)
    this.#sendSoon()
  }

  #fits({ channel, state }: AwarenessReport): boolean {
    const bytes = bytesOf(state)
    const fits = bytes <= this.#maxBytes
    if (fits) this.#refused.delete(channel)
    if (fits || this.#refused.has(channel)) return fits
    this.#refused.add(channel)
    const sentence = `The state has ${bytes} bytes of JSON, and this server takes ${this.#maxBytes} (limits.stateBytes).`
    this.#listener.onStateRefused?.(channel, new RefusedError('too-large', sentence))
    return false
  }

  #sendSoon(): void {
    this.#stopTimer()
    if (!this.#send || this.#unsent.size === 0) return
    const waitMs = this.#freeAt - this.#timers.now()
    if (waitMs > 0) {
      this.#stopTimer = this.#timers.later(() => this.#sendSoon(), waitMs)
      return
    }
    this.#freeAt = this.#timers.now() + awarenessPauseMs
    for (const report of this.#unsent.values()) this.#send(report)
    this.#unsent.clear()
  }
}
