// Sends drafts in order, a few at a time; resends unanswered ones over the next connection.

import type { Draft, Stored } from '../server/wire/messages.ts'
import { nothingPlanned, type Timers } from '../server/wire/time.ts'
import { BusyError, type OpenTransport, RefusedError } from './transports/transport.ts'

export class QueuedDraft {
  readonly draft: Draft
  /** The last three are final. */
  state: 'waiting' | 'under way' | 'stored' | 'refused' | 'superseded' = 'waiting'
  /** Earliest departure, ms since the epoch. Later drafts wait behind it. */
  leavesAt = 0

  constructor(draft: Draft) {
    this.draft = draft
  }

  get isFinal(): boolean {
    return this.state !== 'waiting' && this.state !== 'under way'
  }

  /** Called on each send. */
  leave(): void {
    this.state = 'under way'
  }
}

/** A new round begins with each connection and after each pause of a busy server. */
interface SendRound {
  readonly send: OpenTransport['send']
  readonly mostUnderWay: number
  readonly onBroken: () => void
}

/** `onAnswer` is called once per draft, which it removes from `drafts` or leaves there in its final state. */
export class SendQueue<Queued extends QueuedDraft = QueuedDraft> {
  /** By id, in sending order. */
  readonly drafts = new Map<string, Queued>()
  readonly #timers: Timers
  readonly #onAnswer: (queued: Queued, answer: Stored | RefusedError) => void
  #round: SendRound | null = null
  #isBusy = false
  #stopTimer = nothingPlanned

  constructor(timers: Timers, onAnswer: (queued: Queued, answer: Stored | RefusedError) => void) {
    this.#timers = timers
    this.#onAnswer = onAnswer
  }

  get isConnected(): boolean {
    return this.#round !== null
  }

  /** Sends all unanswered drafts. `onBroken`: a send failed and may or may not have arrived. */
  connect(send: OpenTransport['send'], mostUnderWay: number, onBroken: () => void): void {
    this.disconnect()
    this.#round = { send, mostUnderWay, onBroken }
    this.sendMore()
  }

  /** Pending sends may still be answered. */
  disconnect(): void {
    this.#stopTimer()
    this.#isBusy = false
    this.#round = null
    for (const queued of this.drafts.values()) if (queued.state === 'under way') queued.state = 'waiting'
  }

  sendMore(): void {
    const round = this.#round
    if (round === null || this.#isBusy) return
    this.#stopTimer()
    let underWay = 0
    // Those under way are before those that wait.
    for (const queued of this.drafts.values()) {
      if (underWay >= round.mostUnderWay) return
      if (queued.isFinal) continue
      underWay += 1
      if (queued.state === 'under way') continue
      const waitMs = queued.leavesAt - this.#timers.now()
      if (waitMs > 0) {
        this.#stopTimer = this.#timers.later(() => this.sendMore(), waitMs)
        return
      }
      this.#send(queued, round)
    }
  }

  #send(queued: Queued, round: SendRound): void {
    queued.leave()
    round.send(queued.draft).then(
      (stored) => this.#answered(queued, stored),
      (error) => {
        if (error instanceof RefusedError) this.#answered(queued, error)
        // Failures of a finished round are ignored.
        else if (round === this.#round) this.#failed(error, round)
      },
    )
  }

  /** A resent draft may be answered twice; the first answer counts. */
  #answered(queued: Queued, answer: Stored | RefusedError): void {
    if (queued.isFinal || this.drafts.get(queued.draft.id) !== queued) return
    queued.state = answer instanceof RefusedError ? 'refused' : 'stored'
    this.#onAnswer(queued, answer)
    this.sendMore()
  }

  #failed(error: unknown, { send, mostUnderWay, onBroken }: SendRound): void {
    if (!(error instanceof BusyError)) onBroken()
    else if (!this.#isBusy) {
      // The server also rejected all later sends, so that none overtakes another.
      this.#isBusy = true
      this.#stopTimer()
      this.#stopTimer = this.#timers.later(
        () => this.connect(send, mostUnderWay, onBroken),
        error.retryAfterMs,
      )
    }
  }
}
