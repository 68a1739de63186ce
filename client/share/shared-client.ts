// Transports for a window that shares one connection with the browser's other windows.

import { maxJsonDepth, measureJson } from '../../protocol/json-depth.ts'
import type { AwarenessReport, Draft } from '../../protocol/messages.ts'
import { isShared, type Share } from '../../protocol/modes.ts'
import { now } from '../browser-services.ts'
import {
  type Closing,
  createAnswers,
  lost,
  type Opening,
  type OpenTransport,
  type Transports,
  type WebTransport,
} from '../transports/transport.ts'
import type { Post, ReachCoordinator, ToWindow } from './coordinator.ts'
import type { OpenWorker } from './reach-coordinator.ts'

/** Never shares without Web Locks, which tell the coordinator of closed windows. */
export const shareHere = (share: Share): Share => ('locks' in navigator ? share : 'none')

/** The same transports, except that the modes in `share` use a shared coordinator. */
export function shareTransports(
  real: Transports,
  share: Share,
  ending: AbortSignal,
  openWorker?: OpenWorker,
): Transports {
  if (share === 'none') return real
  let reach: ReachCoordinator | null = null
  const client = new SharedClient(async (events) => {
    const { reachCoordinator } = await import('./reach-coordinator.ts')
    reach ??= reachCoordinator(real, ending, openWorker)
    return reach(events)
  })
  // After a restore from the back-forward cache the link reopens.
  addEventListener('pagehide', () => client.leave(), { signal: ending })
  const wrapped = Object.values(real).map(({ name, open }): [string, WebTransport] => [
    name,
    { name, open: (opening) => (isShared(opening.mode, share) ? client.open(opening) : open(opening)) },
  ])
  return Object.fromEntries(wrapped) as Transports
}

/** Neither server nor mode failed, so the window reconnects at once. */
const coordinatorGone: Closing = {
  code: 'replaced',
  sentence: "The connection shared by this browser's windows has moved.",
  retryAfterMs: 0,
}

export class SharedClient {
  readonly #reach: ReachCoordinator
  readonly #members = new Map<number, SharedMember>()
  #reached: Promise<Post> | null = null
  #numbers = 0

  constructor(reach: ReachCoordinator) {
    this.#reach = reach
  }

  open(opening: Opening): OpenTransport {
    this.#numbers += 1
    const number = this.#numbers
    this.#reached ??= this.#reachCoordinator()
    const member = new SharedMember(number, opening, this.#reached, () => this.#members.delete(number))
    this.#members.set(number, member)
    return member
  }

  /** Called when the page ends. */
  leave(): void {
    for (const member of this.#members.values()) member.leave(true)
  }

  #reachCoordinator(): Promise<Post> {
    const onSaid = (said: ToWindow) => this.#members.get(said.member)?.hear(said)
    const onGone = () => {
      this.#reached = null
      for (const member of [...this.#members.values()]) member.end(coordinatorGone)
    }
    return this.#reach({ onSaid, onGone }).catch((error) => {
      // If the script did not load, the next opening may load it.
      this.#reached = null
      throw error
    })
  }
}

/** Levels of a draft around its data. */
const draftDepth = 2

const tooDeep = (depth: number) => `The data is nested ${depth} levels deep; it may be ${maxJsonDepth}.`

/** One opening at the coordinator. */
class SharedMember implements OpenTransport {
  readonly #number: number
  readonly #opening: Opening
  readonly #onOver: () => void
  readonly #answers = createAnswers()
  #post: Post = () => undefined
  #isOver = false

  constructor(number: number, opening: Opening, reached: Promise<Post>, onOver: () => void) {
    this.#number = number
    this.#opening = opening
    this.#onOver = onOver
    reached.then(
      (post) => this.#join(post),
      () => this.end(lost),
    )
  }

  // Sent on without its object.
  readonly send = (draft: Draft) => {
    const { id } = draft
    const answer = this.#answers.expect(draft, 0)
    const text = JSON.stringify(draft)
    const depth = measureJson(text).depth - draftDepth
    if (depth <= maxJsonDepth) this.#post({ type: 'send', member: this.#number, draft: text })
    // As the server would, if the coordinator's stack were deep enough for the draft.
    else this.#answers.handle({ type: 'refused', id, code: 'bad-shape', message: tooDeep(depth) })
    return answer
  }

  /** No-op: the coordinator answers the server's heartbeats. */
  readonly beat = () => undefined

  sendAwareness(report: AwarenessReport): void {
    this.#post({ type: 'show', member: this.#number, report })
  }

  close(isForGood = false): void {
    if (this.#isOver) return
    this.leave(isForGood)
    this.#stop()
  }

  leave(isForGood: boolean): void {
    this.#post({ type: 'leave', member: this.#number, isForGood })
  }

  hear(said: ToWindow): void {
    if (said.type === 'closed') this.end(said.closing)
    else {
      this.#answers.handle(said.frame)
      // Stamped by the window's own clock, and so includes the coordinator's delay.
      this.#opening.onFrame(said.frame, now())
    }
  }

  end(closing: Closing): void {
    if (this.#isOver) return
    this.#stop()
    this.#opening.onClose(closing)
  }

  #join(post: Post): void {
    if (this.#isOver) return
    this.#post = post
    const { base, mode, query, polling } = this.#opening
    const asked = { base, mode, query: Object.fromEntries(query), polling }
    post({ type: 'join', member: this.#number, asked })
  }

  #stop(): void {
    this.#isOver = true
    this.#onOver()
    this.#answers.abandon()
  }
}
