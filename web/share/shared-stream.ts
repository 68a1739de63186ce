// One stream for many members: what the log says goes to each of them from its own cursor on, and what they say goes up.

import { parseCursor } from '../../server/wire/cursor.ts'
import type { DownFrame, PollAnswer, Presence, Welcome } from '../../server/wire/frames.ts'
import type { Timers } from '../../server/wire/time.ts'
import { asClosing } from '../transports/http.ts'
import { type Closing, lost, type WebTransport } from '../transports/transport.ts'
import { createCounts } from './counts.ts'
import type { Send } from './drafts.ts'
import {
  createMember,
  cursorOf,
  goLive,
  type Member,
  type Speaking,
  tell,
  tellAnswer,
  welcomeFor,
} from './member.ts'
import type { Asked } from './port.ts'
import { createStream, type Opened } from './stream.ts'
import { createTail, endOf, type Tail, type TailBounds } from './tail.ts'

/** What a member missed, asked of the server: answered at once. Rejects as axios does. */
export type AskServer = (origin: string, query: URLSearchParams, signal: AbortSignal) => Promise<PollAnswer>

export interface SharedStreamParts {
  readonly transport: WebTransport
  readonly timers: Timers
  /** The stream's name at the server. */
  readonly name: string
  readonly ask: AskServer
  readonly tail: TailBounds
  readonly mostChannels: number
}

export interface Membership {
  readonly send: (draft: Parameters<Send>[0], turn: number) => void
  readonly leave: () => void
}

export interface SharedStream {
  /** Whether it can carry these channels too. */
  readonly hasRoomFor: (channels: ReadonlySet<string>) => boolean
  readonly join: (asked: Asked, speaking: Speaking) => Membership
  readonly close: () => void
}

/** For a transport that sends one after the other by itself. */
const oneByOne = 1

const beginAnew: Closing = {
  code: 'overflow',
  sentence: 'The log does not reach back to where the shared connection was; this window resumes by itself.',
  retryAfterMs: 0,
}

export function createSharedStream(parts: SharedStreamParts): SharedStream {
  const members = new Set<Member>()
  let tail: Tail | null = null
  let welcome: Welcome | null = null
  let presence: Presence | null = null
  let send: Send | null = null
  let { mostChannels } = parts

  const counts = createCounts(parts.timers, windowsByPage, (windows) => stream.say(windows))
  const stream = createStream({
    ...parts,
    onWelcome,
    onFrame,
    onGap: () => goOver(null),
    onNotOpened,
    onEnd: closeAll,
    withHeartbeat: counts.withHeartbeat,
  })

  function windowsByPage(): Record<string, number> {
    const windows: Record<string, number> = {}
    for (const { page } of members) windows[page] = (windows[page] ?? 0) + 1
    return windows
  }

  function channelsWanted(more: Iterable<string> = []): ReadonlySet<string> {
    return new Set([...[...members].flatMap(({ channels }) => [...channels]), ...more])
  }

  function onWelcome(given: Welcome, { channels, cursor }: Opened, over: Send): void {
    const head = parseCursor(given.cursor) ?? { epoch: '', seq: 0 }
    const isSameLog = given.recovered && tail?.epoch === head.epoch
    if (tail && isSameLog) tail.carry(channels)
    else {
      if (tail) closeSome(beginAnew, ({ phase }) => phase !== 'waiting')
      if (members.size === 0) return
      // Of a stream that begins with a snapshot the members ask for what they lack themselves.
      const start = given.recovered ? parseCursor(cursor) : null
      tail = createTail(start ?? head, channels, parts.tail)
    }
    welcome = given
    goOver(over)
    counts.sayNow()
    settle()
  }

  function goOver(over: Send | null): void {
    send = over
    for (const { drafts } of members) drafts.goOver(over)
  }

  function onFrame(frame: DownFrame): void {
    if (frame.type === 'message') {
      if (tail?.add(frame.message)) for (const member of live()) tell(member, frame.message)
    } else if (frame.type === 'heartbeat') {
      for (const member of live()) beat(member)
      // A stream keeps the order: what is not here before the heartbeat will not come any more.
      if (tail?.isBefore(frame.newest)) reopen()
    } else if (frame.type === 'presence') {
      presence = frame
      for (const member of live()) tellPresence(member, frame)
    }
  }

  const live = () => [...members].filter(({ phase }) => phase === 'live')

  function beat({ channels, onFrame }: Member): void {
    onFrame({ type: 'heartbeat', newest: tail?.newestOn(channels) ?? 0 })
  }

  function tellPresence({ page, onFrame }: Member, { channels = {}, browserHttp1Streams }: Presence): void {
    const windows = channels[page]
    if (windows !== undefined) onFrame({ type: 'presence', windows, browserHttp1Streams })
    // The server has not heard of it, or has forgotten.
    else counts.changed()
  }

  /** Those whom the stream carries begin; for the others it is opened with more, or at all. */
  function settle(): void {
    const waiting = [...members].filter(({ phase }) => phase === 'waiting')
    for (const member of waiting) if (stream.carries(member.channels)) begin(member)
    if (waiting.some(({ phase }) => phase === 'waiting')) reopen()
  }

  function reopen(): void {
    const [first] = members
    if (stream.isOpening() || !first) return
    const cursor = tail ? tail.cursor() : cursorOf(first)
    stream.open(first.asked, { channels: channelsWanted(), cursor })
  }

  function begin(member: Member): void {
    if (!tail || !welcome) return
    if (tail.covers(member.cursor, member.channels)) {
      member.onFrame(welcomeFor(member, welcome, { cursor: endOf(tail, welcome), recovered: true }))
      follow(member, tail)
    } else {
      member.phase = 'behind'
      catchUp(member).catch((error) => drop(member, asClosing(error)))
    }
  }

  function follow(member: Member, from: Tail): void {
    goLive(member, from)
    if (presence) tellPresence(member, presence)
  }

  /** Asks until the tail, which grows meanwhile, has what comes next. */
  async function catchUp(member: Member): Promise<void> {
    for (let isFirst = true; !tail?.covers(member.cursor, member.channels); isFirst = false) {
      const answer = await parts.ask(member.asked.origin, questionOf(member, isFirst), member.gone.signal)
      if (!members.has(member) || !welcome) return
      if (!tellAnswer(member, answer, welcome, isFirst)) {
        drop(member, lost)
        return
      }
      // The server says it once: what it told here it does not tell a stream that polls.
      for (const frame of answer.frames) if (frame.type === 'presence') onFrame(frame)
    }
    follow(member, tail)
  }

  /** Asked under the stream's own name, so that the server counts no window more. */
  function questionOf(member: Member, isFirst: boolean): URLSearchParams {
    const question = new URLSearchParams(member.asked.query)
    question.set('window', parts.name)
    question.set('opening', String(stream.opening()))
    const cursor = cursorOf(member)
    if (cursor !== null) question.set('cursor', cursor)
    if (isFirst) question.set('first', '')
    return question
  }

  /** Newcomers wanted more than the server gives one stream, or it cannot be reached; who is here need not know. */
  function onNotOpened(closing: Closing, { channels }: Opened): void {
    if (channels.size > stream.channels().size) mostChannels = stream.channels().size
    closeSome(closing, ({ phase }) => phase === 'waiting')
  }

  function closeAll(closing: Closing): void {
    closeSome(closing, () => true)
  }

  function closeSome(closing: Closing, which: (member: Member) => boolean): void {
    for (const member of [...members].filter(which)) drop(member, closing)
  }

  function drop(member: Member, closing: Closing): void {
    if (!remove(member)) return
    member.onClose(closing)
  }

  function remove(member: Member): boolean {
    if (!members.delete(member)) return false
    member.drafts.stop()
    member.gone.abort()
    if (members.size > 0) counts.changed()
    else rest()
    return true
  }

  /** Nobody is left. The name stays: what the server still holds under it gives way to what comes next. */
  function rest(): void {
    stream.close()
    counts.stop()
    tail = null
    welcome = null
    presence = null
    send = null
    mostChannels = parts.mostChannels
  }

  return {
    hasRoomFor: (channels) => channelsWanted(channels).size <= mostChannels || members.size === 0,
    join(asked, speaking) {
      const mostUnderWay = asked.mode.uplink === 'xhr' ? oneByOne : Number.POSITIVE_INFINITY
      const member = createMember(asked, mostUnderWay, speaking)
      members.add(member)
      member.drafts.goOver(send)
      counts.changed()
      settle()
      return { send: member.drafts.take, leave: () => void remove(member) }
    },
    close: () => {
      for (const member of [...members]) remove(member)
    },
  }
}
