// Drafts that the server has not stored: numbered, bounded, sent in order, and resent.

import type { Bodies, Draft, Kind, Stored, UpdateBody } from '../protocol/messages.ts'
import { nothingPlanned, type Timers } from '../protocol/time.ts'
import type { DraftDatabase } from './draft-database.ts'
import { BusyError, type OpenTransport, RefusedError } from './transports/transport.ts'

export interface OutboxState {
  /** Number of edits, including those merged into one draft. */
  readonly unstored: number
  /** Number of these that the browser's storage has: written, not just being written. */
  readonly persisted: number
  /** Over the bounds: the newest edits are kept in this window only. */
  readonly isFull: boolean
  /** False if the browser's storage does not take unstored drafts, which then end with this window. */
  readonly canPersist: boolean
}

/** Each draft ends in exactly one of stored, refused and renamed. */
export interface OutboxListener {
  onOutbox(outbox: OutboxState): void
  onStored(draft: Draft, seq: number): void
  /** `code` is listed in PROTOCOL.md. */
  onRefused(draft: Draft, sentence: string, code: string): void
  /** Resent under a new id, since the log holds another message under the old one; or in several, being too large. */
  onRenamed?(id: string, ...drafts: readonly Draft[]): void
  /** Closed windows left them. */
  onAdopted?(drafts: readonly Draft[]): void
}

/** A draft that has not ended. Only the outbox changes one. */
export interface PendingDraft {
  readonly draft: Draft
  /** `unanswered`: sent over an earlier connection, so that the server may have stored it. */
  state: 'waiting' | 'inFlight' | 'unanswered'
  /** Earliest departure, ms since the epoch. Later drafts wait behind it. */
  leavesAt: number
  /** Size of its JSON in UTF-8. */
  readonly bytes: number
  /** Number of edits in it: several if a policy merged them. */
  readonly edits: number
  /** The user who wrote it, once known. Until then it belongs to whoever is welcomed first. */
  user?: string | null | undefined
  /** Updates merged in it, in order, if this window merged them. */
  readonly parts?: readonly UpdateBody[]
  /** False while the draft lacks some of its parts. */
  readonly isComplete?: boolean
  /** Exceeds the bounds: kept in this window only. */
  readonly isOver?: boolean
  /** Its first id was refused: if this one is, too, so is the draft. */
  readonly isRenamed?: boolean
}

export interface Drafts {
  /** In sending order. */
  readonly pending: readonly PendingDraft[]
  /** Refused, and kept until their content reaches the log in another way. */
  readonly held: readonly PendingDraft[]
  /** Departure of the newest update that had to wait, ms since the epoch. */
  readonly leavesAt?: number
}

/** Changes to drafts, and the call that reports them to the listener. */
export interface Change extends Partial<Drafts> {
  readonly tell?: ((listener: OutboxListener) => void) | undefined
}

export interface Bounds {
  readonly messages: number
  /** Size of the JSON in UTF-8. */
  readonly bytes: number
}

/**
 * May change how drafts end with this answer. By default `pending` loses them, and `tell` reports the answer; a
 * returned field replaces that, null keeps it. `nextId` numbers a draft of this window.
 */
type Instead<Answer> = (
  drafts: Drafts,
  ended: readonly PendingDraft[],
  answer: Answer,
  nextId: () => string,
) => Change | null

/**
 * Decides which messages an outbox accepts. By default each is sent as it is, and ends with the server's answer; the
 * optional hooks change that. They do not modify drafts. `mergingPolicy(plainPolicy(), …)` only adds merging, for
 * example.
 */
export interface OutboxPolicy {
  /** When a message is published: queues it as the last draft, or merges it into that one; null rejects it. */
  readonly add: (
    drafts: Drafts,
    message: Omit<Draft, 'id'>,
    nextId: () => string,
    isConnected: boolean,
  ) => (Change & Pick<Drafts, 'pending'>) | null
  /** When the server refuses a draft: may hold it, or queue others in its place. */
  readonly refused?: Instead<RefusedError> | undefined
  /** When the server does not let this window in, or not to these drafts' channel: may keep them. */
  readonly denied?: Instead<RefusedError> | undefined
  /** When drafts have ended, with those that are left: may accept some that exceeded the bounds. */
  readonly admit?: ((pending: readonly PendingDraft[]) => readonly PendingDraft[]) | undefined
  /** When a draft is sent or saved next: does what `add` postponed, such as merging. */
  readonly complete?: (pending: PendingDraft) => Partial<PendingDraft>
  /** True if `add` merges updates. */
  readonly mergesUpdates?: boolean
}

/** What the windows of a user share. */
export interface SharedDrafts {
  /** Opens the database of their drafts once more, also while the connection closes. */
  readonly open: () => DraftDatabase
  /** By it they tell each other of changes. */
  readonly news: BroadcastChannel
}

/** Receives each change of the drafts, to keep them beyond the window's life. */
export interface OutboxKeeper {
  readonly state: Pick<OutboxState, 'persisted' | 'canPersist'>
  /** What it shares with the user's other windows. */
  readonly shared?: SharedDrafts | undefined
  /** Drafts were added, changed or ended. */
  changed(isConnected: boolean): void
  connected(): void
  /** There may be no later turn. */
  flush(): void
  close(): void
}

export interface OutboxOptions {
  readonly window: string
  readonly timers: Timers
}

/** A new round begins with each connection and after each pause that a busy server asks for. */
interface SendRound {
  readonly send: OpenTransport['send']
  readonly maxInFlight: number
  readonly onBroken: (error: unknown) => void
}

/** Of what cannot be sent any more. */
export const otherUser = /* @__PURE__ */ new RefusedError('other-user', 'Another user has signed in.')

const utf8 = new TextEncoder()
/** Size of the value as JSON; 0 for what JSON lacks, such as undefined. */
export const bytesOf = (value: unknown) => utf8.encode(JSON.stringify(value)).length

/** Sent over this connection, and not answered. */
export const isInFlight = ({ state }: PendingDraft) => state === 'inFlight'

export const pendingDraft = (draft: Draft): PendingDraft => ({
  draft,
  state: 'waiting',
  leavesAt: 0,
  bytes: bytesOf(draft),
  edits: 1,
})

/** Default bounds for an application. */
export const usualBounds: Bounds = { messages: 2000, bytes: 4_194_304 }

/** In memory; each message is sent as it was given. */
export const plainPolicy = ({ messages, bytes } = usualBounds): OutboxPolicy => ({
  add({ pending }, message, nextId) {
    const all = [...pending, pendingDraft({ id: nextId(), ...message })]
    const fits = all.length <= messages && all.reduce((sum, one) => sum + one.bytes, 0) <= bytes
    return fits ? { pending: all } : null
  },
})

export class Outbox {
  readonly #options: OutboxOptions
  readonly listeners: Set<OutboxListener>
  /** Channels whose drafts wait, until the page ends. */
  readonly paused = new Set<string>()
  /** May be replaced by one that adds to it. */
  policy: OutboxPolicy
  /** Without one, drafts end with the window. */
  keeper: OutboxKeeper | null = null
  #drafts: Drafts = { pending: [], held: [] }
  /** Kept drafts of other users than the connection's: they wait for theirs. */
  others: readonly PendingDraft[] = []
  /** The connection's, null if the server named none; undefined before the first welcome. */
  user: string | null | undefined
  /** Null while there is no connection, or the server is busy. */
  #round: SendRound | null = null
  #stopTimer = nothingPlanned
  #numbers = 0

  constructor(options: OutboxOptions, policy: OutboxPolicy, listener: OutboxListener) {
    this.#options = options
    this.policy = policy
    this.listeners = new Set([listener])
  }

  get state(): OutboxState {
    return {
      unstored: this.#drafts.pending.reduce((sum, { edits }) => sum + edits, 0),
      persisted: 0,
      isFull: this.#drafts.pending.some(({ isOver }) => isOver),
      canPersist: true,
      ...this.keeper?.state,
    }
  }

  get drafts(): Drafts {
    return this.#drafts
  }

  /** Whether a draft with this id has not ended. */
  has(id: string): boolean {
    return this.#drafts.pending.some(({ draft }) => draft.id === id)
  }

  /**
   * Numbers, stamps and queues a message. Returns the draft that has it, null if the bounds reject it.
   * `later`: drafts that wait and follow it, since they may build on it.
   */
  publish<K extends Kind>(
    channel: string,
    kind: K,
    body: Bodies[K],
    later: readonly PendingDraft[] = [],
  ): Draft<K> | null {
    const message = { channel, kind, from: this.#options.window, at: this.#options.timers.now(), body }
    const drafts = { ...this.#drafts, pending: this.#drafts.pending.filter((one) => !later.includes(one)) }
    const change = this.policy.add(drafts, message, this.#nextId, this.#round !== null)
    if (!change) return null
    this.change({ ...change, pending: [...change.pending, ...later] })
    return change.pending.at(-1)?.draft as Draft<K>
  }

  /** Replaces drafts, notifies the listener, and sends and saves new ones. */
  change({ tell, ...drafts }: Change): void {
    this.#drafts = { ...this.#drafts, ...drafts }
    if (tell) this.listeners.forEach(tell)
    this.#sendMore()
    this.keeper?.changed(this.#round !== null)
    this.report()
  }

  /** Whether another user than the connection's wrote it. */
  isOthers({ user }: Pick<PendingDraft, 'user'>): boolean {
    return Boolean(user) && this.user !== undefined && user !== this.user
  }

  /**
   * Sends all drafts, except those that another user wrote. `onBroken`: a send failed and may or may not have arrived.
   * `user`: see `user`; undefined if users do not matter.
   */
  connect(
    send: OpenTransport['send'],
    maxInFlight: number,
    onBroken: (error: unknown) => void,
    user?: string | null,
  ): void {
    const tell = user === this.user ? null : this.#meet(user)
    this.#begin({ send, maxInFlight, onBroken })
    if (tell) this.change({ tell })
    this.keeper?.connected()
  }

  /** Lays aside what another user wrote, if it is saved, and returns the call that refuses it. */
  #meet(user: string | null | undefined): (listener: OutboxListener) => void {
    const all = [...this.others, ...this.#drafts.held, ...this.#drafts.pending]
    for (const one of all) one.user ??= this.user ?? user
    this.user = user
    const others = all.filter((one) => this.isOthers(one))
    this.#drafts = { pending: all.filter((one) => !this.isOthers(one)), held: [] }
    this.others = this.keeper ? others : []
    return (listener) => {
      for (const { draft } of others) listener.onRefused(draft, otherUser.message, otherUser.code)
    }
  }

  /** Pending sends may still be answered. */
  disconnect(): void {
    this.#begin(null)
    this.keeper?.flush()
  }

  /** Sends and saves everything now: a page that is ending gets no further turn. */
  flush(): void {
    for (const pending of this.#drafts.pending) pending.leavesAt = 0
    this.#sendMore()
    this.keeper?.flush()
  }

  /** Returns all drafts, for a page that is ending: from now on the server may have stored them. */
  leave(): readonly Draft[] {
    this.flush()
    return this.#drafts.pending.map((one) => this.#leaving(one))
  }

  /** The server does not let this window in, or not to this channel. */
  refuse(error: RefusedError, channel?: string): void {
    this.#end(({ draft }) => !channel || draft.channel === channel, error, this.policy.denied)
  }

  /** Ends drafts that wait and were never sent, as if they were refused; `orSent`: others, too. */
  withdraw(isMeant: (draft: Draft) => boolean, orSent?: boolean): void {
    this.#end(
      ({ draft, state }) => isMeant(draft) && (orSent || state === 'waiting'),
      new RefusedError('withdrawn', 'Withdrawn.'),
    )
  }

  /** Stops saving and notifying, and leaves as a page does that is ending. */
  close(): readonly Draft[] {
    this.keeper?.close()
    const left = this.leave()
    this.#begin(null)
    this.#drafts = { pending: [], held: [] }
    return left
  }

  /** Its draft, with all that was merged into it. */
  complete(pending: PendingDraft): Draft {
    return Object.assign(pending, this.policy.complete?.(pending)).draft
  }

  /** Notifies the listener of the state. */
  report(): void {
    for (const listener of this.listeners) listener.onOutbox(this.state)
  }

  readonly #nextId = () => {
    this.#numbers += 1
    return `${this.#options.window}-${this.#numbers}`
  }

  #begin(round: SendRound | null): void {
    this.#stopTimer()
    this.#round = round
    for (const pending of this.#drafts.pending) if (isInFlight(pending)) pending.state = 'unanswered'
    this.#sendMore()
  }

  #sendMore(): void {
    const round = this.#round
    if (!round) return
    this.#stopTimer()
    let free = round.maxInFlight - this.#drafts.pending.filter(isInFlight).length
    for (const pending of this.#drafts.pending) {
      if (isInFlight(pending) || this.paused.has(pending.draft.channel)) continue
      if (free <= 0) return
      free -= 1
      const waitMs = pending.leavesAt - this.#options.timers.now()
      if (waitMs > 0) {
        this.#stopTimer = this.#options.timers.later(() => this.#sendMore(), waitMs)
        return
      }
      this.#send(pending, round)
    }
  }

  #send(pending: PendingDraft, round: SendRound): void {
    const draft = this.#leaving(pending)
    const isSent = (one: PendingDraft) => one.draft === draft
    round.send(draft).then(
      (stored) => this.#end(isSent, stored),
      (error) => {
        if (error instanceof RefusedError) this.#end(isSent, error, this.policy.refused)
        // Failures of a finished round are ignored.
        else if (round !== this.#round) return
        else if (error instanceof BusyError) {
          // The server also rejected all later sends, so that none overtakes another.
          this.#round = null
          this.#stopTimer()
          this.#stopTimer = this.#options.timers.later(() => this.#begin({ ...round }), error.retryAfterMs)
        } else round.onBroken(error)
      },
    )
  }

  #leaving(pending: PendingDraft): Draft {
    pending.state = 'inFlight'
    return this.complete(pending)
  }

  /** A resent draft may be answered twice; the first answer counts. */
  #end<Answer extends Stored | RefusedError>(
    isMeant: (pending: PendingDraft) => boolean,
    answer: Answer,
    instead?: Instead<Answer>,
  ): void {
    const drafts = this.#drafts
    const ended = drafts.pending.filter(isMeant)
    if (ended.length === 0) return
    const change = {
      pending: drafts.pending.filter((one) => !isMeant(one)),
      tell(listener: OutboxListener) {
        for (const { draft } of ended)
          if (answer instanceof RefusedError) listener.onRefused(draft, answer.message, answer.code)
          else listener.onStored(draft, answer.seq)
      },
      ...instead?.(drafts, ended, answer, this.#nextId),
    }
    const { pending } = change
    this.change({ ...change, pending: this.policy.admit?.(pending) ?? pending })
  }
}
