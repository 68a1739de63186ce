// One window at a shared stream: what it asked for, how far it has been told, and what it says.

import { type Cursor, formatCursor, parseCursor } from '../../server/wire/cursor.ts'
import type { Message } from '../../server/wire/envelope.ts'
import type { DownFrame, PollAnswer, Welcome } from '../../server/wire/frames.ts'
import type { Closing } from '../transports/transport.ts'
import { createDrafts, type Drafts } from './drafts.ts'
import type { Answer, Asked } from './port.ts'
import type { Tail } from './tail.ts'

/** How a member is spoken to. */
export interface Speaking {
  readonly onFrame: (frame: DownFrame) => void
  readonly onAnswer: (id: string, answer: Answer) => void
  /** Once, unless it left. */
  readonly onClose: (closing: Closing) => void
}

export interface Member extends Speaking {
  readonly asked: Asked
  readonly window: string
  readonly channels: ReadonlySet<string>
  /** The channel that it is counted on. */
  readonly page: string
  readonly drafts: Drafts
  readonly gone: AbortController
  /** `waiting` for the stream, `behind` while it catches up, `live` from then on. */
  phase: 'waiting' | 'behind' | 'live'
  cursor: Cursor | null
}

export function createMember(asked: Asked, mostUnderWay: number, speaking: Speaking): Member {
  const query = new URLSearchParams(asked.query)
  const channels = channelsIn(asked)
  const [page = ''] = channels
  return {
    ...speaking,
    asked,
    window: query.get('window') ?? '',
    channels,
    page,
    drafts: createDrafts(mostUnderWay, speaking.onAnswer),
    gone: new AbortController(),
    phase: 'waiting',
    cursor: parseCursor(query.get('cursor')),
  }
}

export function channelsIn({ query }: Asked): ReadonlySet<string> {
  return new Set((new URLSearchParams(query).get('channels') ?? '').split(',').filter(Boolean))
}

/** The message, if it is one of this member's and new to it. */
export function tell(member: Member, message: Message): void {
  const { cursor, channels } = member
  if (cursor === null || message.seq <= cursor.seq) return
  if (!channels.has(message.channel)) return
  member.cursor = { ...cursor, seq: message.seq }
  member.onFrame({ type: 'message', message })
}

/** From here on it is told what comes; first what the tail has for it. */
export function goLive(member: Member, tail: Tail): void {
  member.phase = 'live'
  for (const message of tail.after(member.cursor?.seq ?? 0)) tell(member, message)
}

/** The stream's welcome in this member's own terms. */
export function welcomeFor({ window }: Member, welcome: Welcome, change: Partial<Welcome>): Welcome {
  return { ...welcome, window, ...change }
}

/** The cursor to ask from. */
export function cursorOf({ cursor }: Member): string | null {
  return cursor && formatCursor(cursor)
}

/** Tells what a question to the server brought. False when it makes no sense as what comes next. */
export function tellAnswer(member: Member, answer: PollAnswer, welcome: Welcome, isFirst: boolean): boolean {
  const reached = parseCursor(answer.cursor)
  const isProgress =
    isFirst || (reached?.epoch === member.cursor?.epoch && (reached?.seq ?? 0) > (member.cursor?.seq ?? 0))
  if (reached === null || !isProgress) return false
  for (const frame of answer.frames) {
    if (frame.type === 'message') member.onFrame(frame)
    else if (frame.type === 'welcome') {
      if (!isFirst) return false
      member.onFrame(welcomeFor(member, welcome, { cursor: frame.cursor, recovered: frame.recovered }))
    }
  }
  member.cursor = reached
  return true
}
