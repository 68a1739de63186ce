// A transport as a window sees it whose bytes travel elsewhere: it speaks to the sharing place over a line.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Stored } from '../../server/wire/frames.ts'
import { askClock } from '../transports/ask-clock.ts'
import { createHttp } from '../transports/http.ts'
import { type Closing, lost, now, type Opening, type OpenTransport } from '../transports/transport.ts'
import type { Line, Reach } from './line.ts'
import { type Answer, askedOf, errorFrom, type ToPlace, type ToWindow } from './port.ts'

export interface Sharing {
  readonly open: (opening: Opening) => OpenTransport
  /** The page goes: all that is open says so. */
  readonly leave: () => void
}

/** Nothing is wrong with the server or the mode: the window comes back at once. */
const placeGone: Closing = {
  code: 'replaced',
  sentence: 'The connection that the windows of this browser share has moved.',
  retryAfterMs: 0,
}

const clockTimeoutMs = 20_000

interface Member {
  readonly hear: (said: ToWindow) => void
  readonly end: (closing: Closing) => void
  readonly leave: () => void
}

interface Waiting {
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
}

export function createSharing(reach: Reach): Sharing {
  const members = new Map<number, Member>()
  let line: Promise<Line> | null = null
  let numbers = 0

  function reached(): Promise<Line> {
    line ??= reach({ onSaid: (said) => members.get(said.member)?.hear(said), onGone })
    return line
  }

  function onGone(): void {
    line = null
    for (const member of [...members.values()]) member.end(placeGone)
  }

  return {
    open(opening) {
      numbers += 1
      const member = numbers
      const { hear, end, leave, transport } = openMember(member, opening, reached(), () =>
        members.delete(member),
      )
      members.set(member, { hear, end, leave })
      return transport
    },
    leave() {
      for (const member of members.values()) member.leave()
    },
  }
}

function openMember(member: number, opening: Opening, reached: Promise<Line>, onOver: () => void) {
  const waiting = new Map<string, Waiting>()
  let line: Line | null = null
  const ending = new AbortController()
  const http = createHttp(opening.origin, ending.signal, clockTimeoutMs)
  let isOver = false
  let turn = 0

  function post(said: ToPlace): void {
    line?.post(said)
  }

  function hear(said: ToWindow): void {
    // The window's own clock, and with the way through the sharing place.
    if (said.type === 'frame') opening.onFrame(said.frame, now())
    else if (said.type === 'answer') answer(said.id, said.answer)
    else end(said.closing)
  }

  function answer(id: string, given: Answer): void {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (given.type === 'stored') asked?.resolve(given)
    else {
      // What is said from here on was said in the knowledge of it.
      if (given.kind === 'busy') turn = Math.max(turn, given.turn + 1)
      asked?.reject(errorFrom(given))
    }
  }

  function stop(): void {
    isOver = true
    ending.abort()
    onOver()
    for (const { reject } of waiting.values())
      reject(new Error('The connection ended before the answer came.'))
    waiting.clear()
  }

  function end(closing: Closing): void {
    if (isOver) return
    stop()
    opening.onClose(closing)
  }

  const leave = () => post({ type: 'leave', member })

  reached.then(
    (found) => {
      if (isOver) return
      line = found
      post({ type: 'join', member, asked: askedOf(opening) })
    },
    () => end(lost),
  )

  const transport: OpenTransport = {
    send(draft: Draft) {
      post({ type: 'send', member, draft, turn })
      return new Promise((resolve, reject) => waiting.set(draft.id, { resolve, reject }))
    },
    // The place answers the server's heartbeats.
    beat: () => undefined,
    // By a request of its own: by way of the place it would be the place's clock that is known.
    askClock: () => askClock(http, opening.onFrame),
    close() {
      if (isOver) return
      leave()
      stop()
    },
  }
  return { hear, end, leave, transport }
}
