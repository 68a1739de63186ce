// Transports for a window that shares one connection with the browser's other windows.

import { isShared, type Share, type TransportName, transportNames } from '../../server/wire/modes.ts'
import { askClock, createHttp } from '../transports/http.ts'
import {
  type Closing,
  createAnswers,
  lost,
  now,
  type Opening,
  type OpenTransport,
  type Transports,
  type WebTransport,
} from '../transports/transport.ts'
import type { ToCoordinator, ToWindow } from './coordinator.ts'

export interface CoordinatorEvents {
  readonly onSaid: (said: ToWindow) => void
  /** This window's members ended with it; called once. */
  readonly onGone: () => void
}

type Post = (said: ToCoordinator) => void

/** Finds or starts the coordinator, in a shared worker or a leading window; rejects if impossible. */
export type ReachCoordinator = (events: CoordinatorEvents) => Promise<Post>

/** Never without Web Locks, which tell the coordinator of closed windows. */
export const shareHere = (share: Share): Share => ('locks' in navigator ? share : 'none')

/** The same transports; in the modes that `share` names, at a shared coordinator. */
export function shareTransports(real: Transports, share: Share): Transports {
  if (share === 'none') return real
  let reach: ReachCoordinator | null = null
  const { open, leave } = createSharedClient(async (events) => {
    const { reachCoordinator } = await import('./reach-coordinator.ts')
    reach ??= reachCoordinator(real)
    return reach(events)
  })
  // After a restore from the back-forward cache the link reopens.
  addEventListener('pagehide', leave)
  const wrapped = transportNames.map((name): [TransportName, WebTransport] => [
    name,
    { name, open: (opening) => (isShared(opening.mode, share) ? open(opening) : real[name].open(opening)) },
  ])
  return Object.fromEntries(wrapped) as Record<TransportName, WebTransport>
}

/** Neither server nor mode failed, so the window reconnects at once. */
const coordinatorGone: Closing = {
  code: 'replaced',
  sentence: 'The connection that the windows of this browser share has moved.',
  retryAfterMs: 0,
}

const clockTimeoutMs = 20_000

export function createSharedClient(reach: ReachCoordinator) {
  const members = new Map<number, ReturnType<typeof openMember>>()
  let reached: Promise<Post> | null = null
  let numbers = 0

  function onGone(): void {
    reached = null
    for (const member of [...members.values()]) member.end(coordinatorGone)
  }

  return {
    open(opening: Opening): OpenTransport {
      numbers += 1
      const number = numbers
      reached ??= reach({ onSaid: (said) => members.get(said.member)?.hear(said), onGone }).catch((error) => {
        // A script that did not load may load at the next opening.
        reached = null
        throw error
      })
      const member = openMember(number, opening, reached, () => members.delete(number))
      members.set(number, member)
      return member.transport
    },
    /** The page ends. */
    leave(): void {
      for (const member of members.values()) member.leave()
    },
  }
}

function openMember(member: number, opening: Opening, reached: Promise<Post>, onOver: () => void) {
  const answers = createAnswers()
  const ending = new AbortController()
  const http = createHttp(opening.origin, ending.signal, clockTimeoutMs)
  let post: Post = () => undefined
  let isOver = false

  reached.then(
    (found) => {
      if (isOver) return
      post = found
      const { origin, mode, query, polling } = opening
      post({ type: 'join', member, asked: { origin, mode, query: Object.fromEntries(query), polling } })
    },
    () => end(lost),
  )

  function stop(): void {
    isOver = true
    ending.abort()
    onOver()
    answers.abandon()
  }

  function end(closing: Closing): void {
    if (isOver) return
    stop()
    opening.onClose(closing)
  }

  const leave = () => post({ type: 'leave', member })

  const transport: OpenTransport = {
    send(draft) {
      post({ type: 'send', member, draft })
      return answers.expect(draft, 0)
    },
    // The coordinator answers the server's heartbeats.
    beat: () => undefined,
    // A separate request: the coordinator's clock may differ from this window's.
    askClock: () => askClock(http, opening.onFrame),
    sendAwareness: ({ state }) => post({ type: 'show', member, state }),
    close() {
      if (isOver) return
      leave()
      stop()
    },
  }

  return {
    transport,
    hear(said: ToWindow): void {
      if (said.type === 'closed') end(said.closing)
      else {
        answers.take(said.frame)
        // On the window's own clock, including the coordinator's delay.
        opening.onFrame(said.frame, now())
      }
    },
    end,
    leave,
  }
}
