// One stream for many members: delivers messages from each member's cursor and sends all drafts.

import {
  type AwarenessFrame,
  type AwarenessReport,
  type Cursor,
  type DownFrame,
  type Draft,
  formatCursor,
  type Message,
  type PollAnswer,
  type Presence,
  parseCursor,
  type Welcome,
} from '../../protocol/messages.ts'
import { type Cancel, nothingPlanned, type Timers } from '../../protocol/time.ts'
import { Connection } from '../connection.ts'
import { Outbox, pendingDraft, plainPolicy } from '../outbox.ts'
import { keepShownMs, ShownWindows } from '../shown-windows.ts'
import { asClosing, type HttpError } from '../transports/http.ts'
import { type Closing, lost, type Opening, RefusedError, type WebTransport } from '../transports/transport.ts'
import { Tail } from './tail.ts'

/** An `Opening` as plain data. */
export interface MemberOpening extends Pick<Opening, 'base' | 'mode' | 'polling'> {
  readonly query: Readonly<Record<string, string>>
}

/** Responds at once; rejects as `Http` does. */
type AskServer = (base: string, query: URLSearchParams, signal: AbortSignal) => Promise<PollAnswer>

interface MemberListener {
  readonly onFrame: (frame: DownFrame) => void
  /** Called once, unless the member left. */
  readonly onClose: (closing: Closing) => void
}

/** A real connection; `cursor` is where it was opened. */
interface Upstream {
  readonly connection: Connection
  readonly channels: ReadonlySet<string>
  readonly cursor: Cursor | null
}

/** The server's default (`limits.channelsPerWindow`); lowered when the server accepts fewer. */
const usualChannels = 64

/** Changes in the number of windows within this time are reported together. */
const togetherMs = 20

const begunAnew: Closing = {
  code: 'overflow',
  sentence: 'The shared connection has begun anew; this window resumes by itself.',
  retryAfterMs: 0,
}

const sendFailed: Closing = { ...lost, sentence: 'A message could not be sent.' }

/** One name at the server: each opening replaces the previous one. */
export class SharedStream {
  readonly #transport: WebTransport
  readonly #name: string
  readonly #timers: Timers
  readonly #ask: AskServer
  readonly #members = new Set<Member>()
  #current: Upstream | null = null
  /** Replaces `#current` on its welcome. */
  #next: Upstream | null = null
  #openings = 0
  #tail: Tail | null = null
  #welcome: Welcome | null = null
  /** By this browser's clock, ms since the epoch. */
  #welcomedAt = 0
  #presence: Presence | null = null
  /** The windows shown, by channel and name. */
  readonly #shown = new Map<string, Map<string, AwarenessFrame['windows'][number]>>()
  readonly #windows: ShownWindows
  /** States of members that have left; a member that returns may show its own again. */
  readonly #lingering = new Map<string, Cancel>()
  #maxChannels = usualChannels
  #plannedReport: Cancel | null = null

  constructor(transport: WebTransport, name: string, timers: Timers, ask: AskServer) {
    this.#transport = transport
    this.#name = name
    this.#timers = timers
    this.#ask = ask
    this.#windows = new ShownWindows(timers, (frame) => this.#handleAwareness(frame))
  }

  hasRoomFor(asked: MemberOpening): boolean {
    return this.#members.size === 0 || this.#channelsWanted(channelsIn(asked)).size <= this.#maxChannels
  }

  join(asked: MemberOpening, listener: MemberListener): Member {
    const member = new Member(asked, listener, this.#timers)
    this.#members.add(member)
    if (this.#current) this.#sendOver(member, this.#current.connection)
    this.#windowsChanged()
    this.#settle()
    return member
  }

  send(member: Member, draft: Draft): void {
    if (draft.volatile) void this.#sendVolatile(member, draft)
    else member.send(draft)
  }

  /** Answers the member in any case: what is lost is not sent again. */
  async #sendVolatile({ listener }: Member, draft: Draft): Promise<void> {
    const { id } = draft
    try {
      const { uplink } = this.#current?.connection ?? {}
      if (uplink) listener.onFrame(await uplink.send(draft))
      else throw new Error('The shared connection is not open.')
    } catch (error) {
      const { code = 'lost', message }: { readonly code?: string; readonly message: string } = error as Error
      const isFinal = error instanceof RefusedError
      listener.onFrame({ type: 'refused', id, code, message, ...(!isFinal && { retryAfterMs: 0 }) })
    }
  }

  /** Sets the state that a member shows for its window; null shows nothing. */
  show(member: Member, report: AwarenessReport): void {
    const shown = member.show(report)
    if (shown) this.#report(shown)
  }

  #report(report: AwarenessReport): void {
    this.#stopLingering(report)
    this.#current?.connection.uplink.sendAwareness(report)
  }

  /** Does not notify the member. False if it had left. `isForGood`: see `OpenTransport`. */
  leave(member: Member, isForGood = false): boolean {
    if (!this.#members.delete(member)) return false
    member.stop()
    if (this.#members.size === 0) this.#rest(isForGood)
    else {
      this.#windowsChanged()
      for (const report of member.shown.values()) this.#withdraw({ ...report, state: null }, isForGood)
    }
    return true
  }

  #withdraw(report: AwarenessReport, isForGood: boolean): void {
    this.#stopLingering(report)
    if (isForGood) this.#report(report)
    else
      this.#lingering.set(
        placeOf(report),
        this.#timers.later(() => this.#report(report), keepShownMs),
      )
  }

  #stopLingering(report: AwarenessReport): void {
    this.#lingering.get(placeOf(report))?.()
    this.#lingering.delete(placeOf(report))
  }

  /** Does not notify the members. */
  close(): void {
    for (const member of [...this.#members]) this.leave(member)
  }

  // The connection

  /** From the tail's end, or from the first member's cursor. */
  #reopen(): void {
    const [first] = this.#members
    if (this.#next || !first) return
    this.#openings += 1
    const channels = this.#channelsWanted()
    const { cursor } = this.#tail ?? first
    const opening = {
      ...first.asked,
      query: this.#ownQuery(first.asked, cursor, { channels: [...channels].join() }),
      onFrame: (frame: DownFrame) => this.#handleUpstream(opened, frame),
      onClose: (closing: Closing) => this.#ended(opened, closing),
      windows: () => this.#countWindows(),
    }
    const connection = new Connection(this.#transport, opening, this.#timers)
    const opened: Upstream = { connection, channels, cursor }
    this.#next = opened
  }

  /** Uses the stream's name, so that the server counts no window twice. */
  #ownQuery({ query: { cursor: _, ...query } }: MemberOpening, cursor: Cursor | null, change: object) {
    const from = cursor && { cursor: formatCursor(cursor) }
    const own = { window: this.#name, opening: String(this.#openings) }
    return new URLSearchParams({ ...query, ...own, ...from, ...change })
  }

  #channelsWanted(more: Iterable<string> = []): ReadonlySet<string> {
    return new Set([...[...this.#members].flatMap(({ channels }) => [...channels]), ...more])
  }

  #handleUpstream(upstream: Upstream, frame: DownFrame): void {
    if (upstream === this.#next && frame.type === 'welcome') {
      this.#current?.connection.leave()
      this.#current = upstream
      this.#next = null
      this.#windows.lost(this.#shown.keys())
    }
    if (upstream !== this.#current) return
    if (frame.type === 'welcome') this.#welcomed(upstream, frame)
    else this.#handle(frame)
  }

  /** Also called when a poll lost its place. */
  #welcomed({ connection, channels, cursor }: Upstream, welcome: Welcome): void {
    const head = parseCursor(welcome.cursor) ?? { epoch: '', seq: 0 }
    // What the members have sent was written by the user whom they know.
    const isSameUser = this.#welcome?.user === welcome.user
    if (isSameUser && welcome.recovered && this.#tail?.epoch === head.epoch) {
      this.#dropWhere((member) => member.hasOtherRights(welcome), begunAnew)
      if (this.#members.size === 0) return
      this.#tail.carry(channels)
    } else {
      if (this.#tail) this.#dropWhere(({ phase }) => phase !== 'waiting', begunAnew)
      if (this.#members.size === 0) return
      // After a snapshot welcome, each member fetches what it lacks.
      const reached = this.#tail?.cursor ?? cursor
      const start = welcome.recovered && reached ? { ...reached, epoch: head.epoch } : head
      this.#tail = new Tail(start, channels)
    }
    this.#welcome = welcome
    this.#welcomedAt = this.#timers.now()
    for (const member of this.#members) this.#sendOver(member, connection)
    this.#showAnew(connection)
    this.#settle()
  }

  #sendOver(member: Member, { mode, uplink }: Connection): void {
    member.queue.connect(uplink.send, mode.maxInFlight, (error) => {
      // Otherwise the stream is of a session that is no more.
      const isOwn = (error as Partial<HttpError>).status !== 401
      this.#dropWhere((one) => !isOwn || one === member, sendFailed)
    })
  }

  #ended(upstream: Upstream, closing: Closing): void {
    if (upstream === this.#current) this.#current = null
    else if (upstream === this.#next) this.#next = null
    else return
    if (this.#current) {
      // The server is unreachable or rejects so many channels: only the waiting members fail.
      const { channels } = this.#current
      if (upstream.channels.size > channels.size) this.#maxChannels = channels.size
      this.#dropWhere(({ phase }) => phase === 'waiting', closing)
    } else if (this.#next) {
      // Drafts wait for the successor.
      for (const { queue } of this.#members) queue.disconnect()
    } else this.#dropWhere(() => true, closing)
  }

  /** No members are left. The name stays, so that the next opening replaces any leftover at the server. */
  #rest(isForGood: boolean): void {
    for (const upstream of [this.#current, this.#next]) upstream?.connection.leave(isForGood)
    for (const stop of this.#lingering.values()) stop()
    this.#lingering.clear()
    this.#windows.clear()
    this.#current = null
    this.#next = null
    this.#tail = null
    this.#welcome = null
    this.#presence = null
    this.#shown.clear()
    this.#maxChannels = usualChannels
    this.#plannedReport?.()
    this.#plannedReport = null
  }

  // Frames

  #handle(frame: DownFrame): void {
    const tail = this.#tail
    if (frame.type === 'message') {
      if (tail?.add(frame.message)) for (const member of this.#inPhase('live')) member.deliver(frame.message)
    } else if (frame.type === 'heartbeat') {
      for (const { channels, listener } of this.#inPhase('live'))
        listener.onFrame({ ...frame, newest: tail?.newestOn(channels) ?? 0 })
      // Streams keep order: a message missing before the heartbeat is lost.
      if (tail?.isBefore(frame.newest)) this.#reopen()
    } else if (frame.type === 'volatile') {
      for (const { channels, listener } of this.#inPhase('live'))
        if (channels.has(frame.message.channel)) listener.onFrame(frame)
    } else if (frame.type === 'awareness') this.#windows.take(frame)
    else if (frame.type === 'presence') {
      this.#presence = frame
      for (const member of this.#inPhase('live')) this.#deliverPresence(member, frame)
    }
  }

  #inPhase(phase: Member['phase']): Member[] {
    return [...this.#members].filter((member) => member.phase === phase)
  }

  /** Resends awareness: a new stream starts without any. The server's answer follows. */
  #showAnew(connection: Connection): void {
    for (const member of this.#members)
      for (const report of member.shown.values()) connection.uplink.sendAwareness(report)
  }

  #deliverShown({ channels, listener }: Member): void {
    for (const channel of channels) {
      const windows = [...(this.#shown.get(channel)?.values() ?? [])]
      if (windows.length > 0) listener.onFrame({ type: 'awareness', channel, windows, whole: true })
    }
  }

  #handleAwareness(frame: AwarenessFrame): void {
    const { channel, windows, whole = false } = frame
    const known = this.#shown.get(channel) ?? new Map()
    this.#shown.set(channel, known)
    if (whole) known.clear()
    for (const shown of windows) {
      if (shown.state === null) known.delete(shown.window)
      else known.set(shown.window, shown)
    }
    for (const { channels, listener } of this.#inPhase('live'))
      if (channels.has(channel)) listener.onFrame(frame)
  }

  #deliverPresence({ page, listener }: Member, { channels, browserHttp1Streams }: Presence): void {
    const windows = channels && Object.hasOwn(channels, page) ? channels[page] : undefined
    if (windows !== undefined) listener.onFrame({ type: 'presence', windows, browserHttp1Streams })
    // The server has no count for this page.
    else this.#windowsChanged()
  }

  // Members

  /** Lets members begin if the connection in use has their channels and was heard within a heartbeat. */
  #settle(): void {
    const { connection, channels } = this.#current ?? {}
    if (connection && channels && !(connection.mode.isPush && connection.isStale())) {
      for (const member of this.#inPhase('waiting'))
        if ([...member.channels].every((channel) => channels.has(channel))) this.#begin(member)
    }
    if (this.#inPhase('waiting').length > 0) this.#reopen()
  }

  #begin(member: Member): void {
    const tail = this.#tail
    const welcome = this.#welcomeNow()
    if (!tail || !welcome) return
    if (tail.covers(member.cursor, member.channels)) {
      member.welcome(welcome, { cursor: tail.logEnd(welcome), recovered: true })
      this.#follow(member, tail)
    } else {
      member.phase = 'behind'
      this.#catchUp(member).catch((error) => this.#drop(member, asClosing(error)))
    }
  }

  /** As if it came now. */
  #welcomeNow(): Welcome | null {
    const { at = 0 } = this.#welcome ?? {}
    return this.#welcome && { ...this.#welcome, at: at + this.#timers.now() - this.#welcomedAt }
  }

  #follow(member: Member, from: Tail): void {
    member.goLive(from)
    if (this.#presence) this.#deliverPresence(member, this.#presence)
    this.#deliverShown(member)
  }

  /** Polls until the member reaches the tail, which grows meanwhile. */
  async #catchUp(member: Member): Promise<void> {
    const { asked, gone } = member
    for (let isFirst = true; !this.#tail?.covers(member.cursor, member.channels); isFirst = false) {
      const question = this.#ownQuery(asked, member.cursor, isFirst ? { first: '' } : {})
      const answer = await this.#ask(asked.base, question, gone.signal)
      const welcome = this.#welcomeNow()
      if (!this.#members.has(member) || !welcome) return
      if (!member.handleAnswer(answer, welcome, isFirst)) return this.#drop(member, lost)
      // The server reports presence once, so the polling stream will not get it again.
      for (const frame of answer.frames) {
        if (frame.type === 'presence' || frame.type === 'awareness') this.#handle(frame)
      }
    }
    this.#follow(member, this.#tail)
  }

  #dropWhere(isMeant: (member: Member) => boolean, closing: Closing): void {
    for (const member of [...this.#members].filter(isMeant)) this.#drop(member, closing)
  }

  #drop(member: Member, closing: Closing): void {
    if (this.leave(member)) member.listener.onClose(closing)
  }

  // Numbers of windows

  #windowsChanged(): void {
    this.#plannedReport ??= this.#timers.later(() => this.#reportWindows(), togetherMs)
  }

  #reportWindows(): void {
    this.#plannedReport = null
    this.#current?.connection.uplink.beat({ windows: this.#countWindows() })
  }

  /** Repeated with each heartbeat, where the transport has them. */
  #countWindows(): Readonly<Record<string, number>> {
    const windows = Map.groupBy(this.#members, ({ page }) => page)
    return Object.fromEntries(Array.from(windows, ([page, { length }]) => [page, length]))
  }
}

/** Names contain no space. */
const placeOf = ({ window, channel }: AwarenessReport) => `${window} ${channel}`

function channelsIn({ query }: MemberOpening): ReadonlySet<string> {
  return new Set(query.channels?.split(','))
}

/** One window's opening of the transport. */
export class Member {
  readonly asked: MemberOpening
  readonly listener: MemberListener
  readonly channels: ReadonlySet<string>
  /** The channel on which the window is counted. */
  readonly page: string
  readonly queue: Outbox
  readonly gone = new AbortController()
  /** Waits for the stream, then catches up (`behind`), then follows it (`live`). */
  phase: 'waiting' | 'behind' | 'live' = 'waiting'
  cursor: Cursor | null
  /** The window's own state, by channel. */
  readonly shown = new Map<string, AwarenessReport>()
  #readOnly: readonly string[] = []
  readonly #window: string

  constructor(asked: MemberOpening, listener: MemberListener, timers: Timers) {
    const { window = '', cursor = null } = asked.query
    this.asked = asked
    this.listener = listener
    this.channels = channelsIn(asked)
    this.page = [...this.channels][0] ?? ''
    this.queue = new Outbox({ window, timers }, plainPolicy(), {
      onOutbox: nothingPlanned,
      onStored: ({ id }, seq) => listener.onFrame({ type: 'stored', id, seq }),
      onRefused: ({ id }, message, code) => listener.onFrame({ type: 'refused', id, code, message }),
    })
    this.cursor = parseCursor(cursor)
    this.#window = window
  }

  /** Returns the report to send; null if nothing has changed. */
  show({ state, channel = this.page }: AwarenessReport): AwarenessReport | null {
    if (state === null && !this.shown.delete(channel)) return null
    const report = { window: this.#window, channel, state }
    if (state !== null) this.shown.set(channel, report)
    return report
  }

  send(draft: Draft): void {
    const { queue } = this
    if (!queue.has(draft.id)) queue.change({ pending: [...queue.drafts.pending, pendingDraft(draft)] })
  }

  stop(): void {
    this.queue.close()
    this.gone.abort()
  }

  welcome(welcome: Welcome, change: Pick<Welcome, 'cursor' | 'recovered'>): void {
    this.#readOnly = this.#readOnlyIn(welcome)
    this.listener.onFrame({ ...welcome, window: this.#window, readOnly: this.#readOnly, ...change })
  }

  /** Whether it was welcomed with other rights than these. */
  hasOtherRights(welcome: Welcome): boolean {
    return this.phase !== 'waiting' && this.#readOnlyIn(welcome).join() !== this.#readOnly.join()
  }

  #readOnlyIn({ readOnly = [] }: Welcome): readonly string[] {
    return [...this.channels].filter((channel) => readOnly.includes(channel))
  }

  deliver(message: Message): void {
    if (this.cursor === null || message.seq <= this.cursor.seq) return
    if (!this.channels.has(message.channel)) return
    this.cursor = { ...this.cursor, seq: message.seq }
    this.listener.onFrame({ type: 'message', message })
  }

  goLive(tail: Tail): void {
    this.phase = 'live'
    for (const message of tail.after(this.cursor?.seq ?? 0)) this.deliver(message)
  }

  /** False unless the answer advances the cursor. */
  handleAnswer(answer: PollAnswer, welcome: Welcome, isFirst: boolean): boolean {
    const reached = parseCursor(answer.cursor)
    const isProgress =
      isFirst || (reached?.epoch === this.cursor?.epoch && (reached?.seq ?? 0) > (this.cursor?.seq ?? 0))
    if (reached === null || !isProgress) return false
    for (const frame of answer.frames) {
      if (frame.type === 'message') this.listener.onFrame(frame)
      else if (frame.type === 'welcome') {
        if (!isFirst) return false
        this.welcome(welcome, { cursor: frame.cursor, recovered: frame.recovered })
      }
    }
    this.cursor = reached
    return true
  }
}
