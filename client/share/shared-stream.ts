// One stream for many members: delivers messages from each member's cursor and sends all drafts.

import {
  type AwarenessFrame,
  type AwarenessReport,
  type AwarenessState,
  type Cursor,
  type DownFrame,
  type Draft,
  formatCursor,
  type Message,
  type PollAnswer,
  type Presence,
  parseCursor,
  type Welcome,
} from '../../server/wire/messages.ts'
import type { Cancel, Timers } from '../../server/wire/time.ts'
import { type Connection, openConnection } from '../connection.ts'
import { createSender } from '../outbox.ts'
import { asClosing } from '../transports/http.ts'
import { type Closing, lost, type Opening, RefusedError, type WebTransport } from '../transports/transport.ts'
import { createTail, type Tail } from './tail.ts'

/** An `Opening` as plain data. */
export interface Asked extends Pick<Opening, 'origin' | 'mode' | 'polling'> {
  readonly query: Readonly<Record<string, string>>
}

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

/** Changes of the number of windows within this time are reported together. */
const togetherMs = 20

const logTruncated: Closing = {
  code: 'overflow',
  sentence: 'The log does not reach back to where the shared connection was; this window resumes by itself.',
  retryAfterMs: 0,
}

const sendFailed: Closing = { ...lost, sentence: 'A message could not be sent; connecting anew.' }

export type SharedStream = ReturnType<typeof createSharedStream>

/**
 * `name` is the window name at the server: each opening replaces the previous one. `ask` responds at once
 * and rejects as axios does.
 */
export function createSharedStream(
  transport: WebTransport,
  name: string,
  timers: Timers,
  ask: (origin: string, query: URLSearchParams, signal: AbortSignal) => Promise<PollAnswer>,
) {
  const members = new Set<Member>()
  let current: Upstream | null = null
  /** Replaces `current` on its welcome. */
  let next: Upstream | null = null
  let openings = 0
  let tail: Tail | null = null
  let welcome: Welcome | null = null
  let presence: Presence | null = null
  /** By channel and window, of the stream in use. */
  let shown = new Map<string, Map<string, AwarenessState>>()
  let mostChannels = usualChannels
  let plannedReport: Cancel | null = null

  /** From the tail's end, or from the first member's cursor. */
  function reopen(): void {
    const [first] = members
    if (next || !first) return
    openings += 1
    const channels = channelsWanted()
    const cursor = tail ? tail.cursor() : first.cursor
    const opening: Opening = {
      ...first.asked,
      query: ownQuery(first.asked, cursor, { channels: [...channels].join() }),
      onFrame: (frame) => takeFrom(opened, frame),
      onClose: (closing) => ended(opened, closing),
    }
    const connection = openConnection(transport, opening, timers, countWindows)
    const opened: Upstream = { connection, channels, cursor }
    next = opened
  }

  /** Under the stream's name, so that the server counts no window twice. */
  function ownQuery({ query: { cursor: _, ...query } }: Asked, cursor: Cursor | null, change: object) {
    const from = cursor && { cursor: formatCursor(cursor) }
    return new URLSearchParams({ ...query, window: name, opening: String(openings), ...from, ...change })
  }

  function channelsWanted(more: Iterable<string> = []): ReadonlySet<string> {
    return new Set([...[...members].flatMap(({ channels }) => [...channels]), ...more])
  }

  function takeFrom(upstream: Upstream, frame: DownFrame): void {
    if (upstream === next && frame.type === 'welcome') {
      current?.connection.leave()
      current = upstream
      next = null
    }
    if (upstream !== current) return
    if (frame.type === 'welcome') welcomed(upstream, frame)
    else take(frame)
  }

  /** Also when a poll had to begin anew. */
  function welcomed({ connection, channels, cursor }: Upstream, given: Welcome): void {
    const head = parseCursor(given.cursor) ?? { epoch: '', seq: 0 }
    if (given.recovered && tail?.epoch === head.epoch) tail.carry(channels)
    else {
      if (tail) closeWhere(({ phase }) => phase !== 'waiting', logTruncated)
      if (members.size === 0) return
      // After a snapshot welcome, each member fetches what it lacks.
      const reached = tail?.cursor() ?? cursor
      const start = given.recovered && reached ? { ...reached, epoch: head.epoch } : head
      tail = createTail(start, channels)
    }
    welcome = given
    for (const member of members) sendOver(member, connection)
    reportWindows()
    showAnew(connection)
    settle()
  }

  function sendOver(member: Member, { send }: Connection): void {
    // The member bounds what a socket has under way.
    const mostUnderWay = member.asked.mode.uplink === 'xhr' ? 1 : Number.POSITIVE_INFINITY
    member.sender.connected(send, () => drop(member, sendFailed), mostUnderWay)
  }

  /** To the server, which knows nothing of a new stream; the server's answer follows. */
  function showAnew({ sendAwareness }: Connection): void {
    shown = new Map()
    for (const member of members) {
      if (member.phase === 'live') deliverShown(member)
      if (member.state) sendAwareness(member.report())
    }
  }

  function deliverShown({ page, listener }: Member): void {
    const windows = Array.from(shown.get(page) ?? [], ([window, state]) => ({ window, state }))
    listener.onFrame({ type: 'awareness', channel: page, windows, whole: true })
  }

  function takeAwareness(frame: AwarenessFrame): void {
    const { channel, windows, whole = false } = frame
    const known = whole ? new Map<string, AwarenessState>() : (shown.get(channel) ?? new Map())
    shown.set(channel, known)
    for (const { window, state } of windows) {
      if (state === null) known.delete(window)
      else known.set(window, state)
    }
    for (const { channels, listener } of inPhase('live')) if (channels.has(channel)) listener.onFrame(frame)
  }

  function take(frame: DownFrame): void {
    if (frame.type === 'message') {
      if (tail?.add(frame.message)) for (const member of inPhase('live')) member.deliver(frame.message)
    } else if (frame.type === 'heartbeat') {
      for (const { channels, listener } of inPhase('live'))
        listener.onFrame({ type: 'heartbeat', newest: tail?.newestOn(channels) ?? 0 })
      // Streams keep order: a message missing before the heartbeat is lost.
      if (tail?.isBefore(frame.newest)) reopen()
    } else if (frame.type === 'awareness') takeAwareness(frame)
    else if (frame.type === 'presence') {
      presence = frame
      for (const member of inPhase('live')) deliverPresence(member, frame)
    }
  }

  const inPhase = (phase: Member['phase']) => [...members].filter((member) => member.phase === phase)

  function deliverPresence({ page, listener }: Member, { channels, browserHttp1Streams }: Presence): void {
    const windows = channels && Object.hasOwn(channels, page) ? channels[page] : undefined
    if (windows !== undefined) listener.onFrame({ type: 'presence', windows, browserHttp1Streams })
    // The server has no count for this page.
    else windowsChanged()
  }

  function ended(upstream: Upstream, closing: Closing): void {
    if (upstream === current) current = null
    else if (upstream === next) next = null
    else return
    if (current) {
      // The server is unreachable or rejects so many channels: only the waiting members fail.
      if (upstream.channels.size > current.channels.size) mostChannels = current.channels.size
      closeWhere(({ phase }) => phase === 'waiting', closing)
    } else if (next) {
      // Drafts wait for the successor.
      for (const { sender } of members) sender.disconnected()
    } else closeWhere(() => true, closing)
  }

  /** Lets members begin if the connection in use has their channels and was heard within a heartbeat. */
  function settle(): void {
    if (current && !(current.connection.mode.isPush && current.connection.isStale())) {
      const { channels } = current
      for (const member of inPhase('waiting'))
        if ([...member.channels].every((channel) => channels.has(channel))) begin(member)
    }
    if (inPhase('waiting').length > 0) reopen()
  }

  function begin(member: Member): void {
    if (!tail || !welcome) return
    if (tail.covers(member.cursor, member.channels)) {
      member.welcome(welcome, { cursor: tail.logEnd(welcome), recovered: true })
      follow(member, tail)
    } else {
      member.phase = 'behind'
      catchUp(member).catch((error) => drop(member, asClosing(error)))
    }
  }

  function follow(member: Member, from: Tail): void {
    member.goLive(from)
    if (presence) deliverPresence(member, presence)
    if (shown.get(member.page)?.size) deliverShown(member)
  }

  /** Polls until the member reaches the tail, which grows meanwhile. */
  async function catchUp(member: Member): Promise<void> {
    const { asked, gone } = member
    for (let isFirst = true; !tail?.covers(member.cursor, member.channels); isFirst = false) {
      const question = ownQuery(asked, member.cursor, isFirst ? { first: '' } : {})
      const answer = await ask(asked.origin, question, gone.signal)
      if (!members.has(member) || !welcome) return
      if (!member.takeAnswer(answer, welcome, isFirst)) return drop(member, lost)
      // The server reports presence once: what it reports here it does not repeat on a polling stream.
      for (const frame of answer.frames) {
        if (frame.type === 'presence' || frame.type === 'awareness') take(frame)
      }
    }
    follow(member, tail)
  }

  function windowsChanged(): void {
    plannedReport ??= timers.later(reportWindows, togetherMs)
  }

  function reportWindows(): void {
    plannedReport?.()
    plannedReport = null
    current?.connection.beat(countWindows())
  }

  /** Repeated with each heartbeat, since POSTs may be lost or reordered. */
  function countWindows(): Readonly<Record<string, number>> {
    const windows = Map.groupBy(members, ({ page }) => page)
    return Object.fromEntries(Array.from(windows, ([page, { length }]) => [page, length]))
  }

  function closeWhere(isMeant: (member: Member) => boolean, closing: Closing): void {
    for (const member of [...members].filter(isMeant)) drop(member, closing)
  }

  function drop(member: Member, closing: Closing): void {
    if (remove(member)) member.listener.onClose(closing)
  }

  function show(member: Member, state: AwarenessState | null): void {
    if (state === null && member.state === null) return
    member.state = state
    current?.connection.sendAwareness(member.report())
  }

  function remove(member: Member): boolean {
    if (!members.delete(member)) return false
    member.stop()
    show(member, null)
    if (members.size > 0) windowsChanged()
    else rest()
    return true
  }

  /** No members are left. The name stays, so that the next opening replaces any leftover at the server. */
  function rest(): void {
    for (const upstream of [current, next]) upstream?.connection.leave()
    current = null
    next = null
    tail = null
    welcome = null
    presence = null
    shown = new Map()
    mostChannels = usualChannels
    plannedReport?.()
    plannedReport = null
  }

  return {
    hasRoomFor: (asked: Asked) =>
      channelsWanted(channelsIn(asked)).size <= mostChannels || members.size === 0,
    join(asked: Asked, listener: MemberListener) {
      const member = new Member(asked, listener, timers)
      members.add(member)
      if (current) sendOver(member, current.connection)
      windowsChanged()
      settle()
      return {
        send: (draft: Draft) => member.send(draft),
        show: (state: AwarenessState | null) => show(member, state),
        leave: () => void remove(member),
      }
    },
    /** Does not notify the members. */
    close() {
      for (const member of [...members]) remove(member)
    },
  }
}

function channelsIn({ query }: Asked): ReadonlySet<string> {
  return new Set(query.channels?.split(','))
}

/** One transport opening of one window. */
class Member {
  readonly asked: Asked
  readonly listener: MemberListener
  readonly channels: ReadonlySet<string>
  /** The channel on which the window is counted. */
  readonly page: string
  readonly sender: ReturnType<typeof createSender>
  readonly gone = new AbortController()
  /** Waits for the stream, then catches up (`behind`), then follows it (`live`). */
  phase: 'waiting' | 'behind' | 'live' = 'waiting'
  cursor: Cursor | null
  /** What the window shows of itself. */
  state: AwarenessState | null = null
  readonly #window: string
  readonly #unanswered = new Map<string, Draft>()

  constructor(asked: Asked, listener: MemberListener, timers: Timers) {
    const { window = '', cursor = null } = asked.query
    this.asked = asked
    this.listener = listener
    this.channels = channelsIn(asked)
    this.page = [...this.channels][0] ?? ''
    this.sender = createSender(this.#unanswered, timers, ({ id }, answer) => {
      if (!this.#unanswered.delete(id)) return
      if (!(answer instanceof RefusedError)) listener.onFrame(answer)
      else listener.onFrame({ type: 'refused', id, code: answer.code, message: answer.message })
    })
    this.cursor = parseCursor(cursor)
    this.#window = window
  }

  report(): AwarenessReport {
    return { window: this.#window, channel: this.page, state: this.state }
  }

  send(draft: Draft): void {
    this.#unanswered.set(draft.id, draft)
    this.sender.sendMore()
  }

  stop(): void {
    this.sender.disconnected()
    this.#unanswered.clear()
    this.gone.abort()
  }

  welcome(welcome: Welcome, change: Pick<Welcome, 'cursor' | 'recovered'>): void {
    this.listener.onFrame({ ...welcome, window: this.#window, ...change })
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
  takeAnswer(answer: PollAnswer, welcome: Welcome, isFirst: boolean): boolean {
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
