// Exchanges window counts, shown windows and misdirected requests between the servers of one log.

import type { AwarenessReport, BeatReport, Draft } from '../../protocol/messages.ts'
import { type Cancel, repeat, type Timers } from '../../protocol/time.ts'
import type { Bus } from '../log/log.ts'
import type { Awareness, OwnChange } from './awareness.ts'
import {
  type ConnectedClient,
  type Counts,
  type Elsewhere,
  emptyCounts,
  noCounts,
  type Registry,
} from './registry.ts'
import type { Who } from './subscriber.ts'

/**
 * A request for another server's client: requests need not reach the server that has the stream.
 */
export type ForwardedRequest =
  | { readonly type: 'polled'; readonly window: string }
  | { readonly type: 'heard'; readonly window: string; readonly beat: BeatReport }
  | {
      readonly type: 'left'
      readonly window: string
      readonly opening: number
      readonly isForGood: boolean
    }
  | {
      readonly type: 'opened'
      readonly window: string
      readonly opening: number
      readonly channels: readonly string[]
    }
  | {
      readonly type: 'show'
      readonly window: string
      readonly report: AwarenessReport
      readonly opening: number
    }

type CountsName = keyof Counts

const countsNames = ['channels', 'owners'] as const satisfies readonly CountsName[]

type PlainCounts = Readonly<Record<CountsName, Readonly<Record<string, number>>>>

type NeighbourMessage =
  | ForwardedRequest
  /** A server starts, or has missed something: the others send it their full state. */
  | { readonly type: 'hello' }
  /** Changes since the last counts, 0 for none left; `isWhole` replaces all earlier ones. */
  | ({ readonly type: 'counts'; readonly isWhole: boolean } & PlainCounts)
  /** First channels of polling clients by proven name; the next poll may reach any server. */
  | { readonly type: 'polls'; readonly channels: Readonly<Record<string, string>> }
  | { readonly type: 'shown'; readonly shown: readonly OwnChange[] }
  | { readonly type: 'volatile'; readonly message: Draft }
  /** An application ends the sessions of a user or client. */
  | { readonly type: 'ended'; readonly who: Who }
  /** Asks for the clients that read a channel. */
  | { readonly type: 'asked'; readonly question: number; readonly channel: string }
  /** A portion of the answer to one server's question. */
  | {
      readonly type: 'clients'
      readonly to: string
      readonly question: number
      readonly clients: readonly ConnectedClient[]
      readonly isLast: boolean
    }
  | { readonly type: 'gone' }

/** `from` is the server. Its shape is not checked: only servers of the same version write it. */
type Note = NeighbourMessage & { readonly from: string }

interface NeighboursParts {
  readonly bus: Bus
  /** This server's unique name. */
  readonly server: string
  readonly timers: Timers
  readonly heartbeatMs: number
  readonly registry: Registry
  readonly awareness: Awareness
  /** Ignored unless the client belongs to this server. */
  readonly onForwarded: (said: ForwardedRequest) => void
  readonly onEnded: (who: Who) => void
  readonly onVolatile: (message: Draft) => void
}

/** Minimum pause between notes of one kind, ms. */
const shownPauseMs = 50
const polledPauseMs = 1000

/**
 * Counts are sent at least twice per heartbeat interval, changed or not; a server that misses two
 * is gone.
 */
const countsPerHeartbeat = 2
const countsMissed = 2.5

/** A server that takes longer to say which clients it has is not waited for. */
export const answerWithinMs = 1000

/** Brokers limit the size of a note. */
const maxCountsInNote = 2000
const maxNoteBytes = 200_000

export class Neighbours implements Elsewhere {
  readonly #parts: NeighboursParts
  readonly #others = new Map<string, Other>()
  readonly #polling = new Map<string, { readonly firstChannel: string; readonly at: number }>()
  /** The newest changes not posted yet, by channel and window. */
  readonly #shown = new Map<string, OwnChange>()
  readonly #polled = new Map<string, string>()
  #cancelShown: Cancel | null = null
  #cancelPolled: Cancel | null = null
  readonly #cancelCounts: Cancel
  #posted: Counts = noCounts
  readonly #questions = new Map<number, Question>()
  #asked = 0
  #isClosed = false

  constructor(parts: NeighboursParts) {
    this.#parts = parts
    const { bus, server, registry, awareness, timers, heartbeatMs } = parts
    this.#cancelCounts = repeat(timers, () => this.#repeatCounts(), heartbeatMs / countsPerHeartbeat)
    registry.elsewhere = this
    awareness.onOwn = (change) => this.#show(change)
    bus.follow(
      (note) => this.#handle(note as Note),
      () => this.#greet(),
    )
    bus.bequeath?.({ type: 'gone', from: server } satisfies Note)
    this.#greet()
  }

  forward(said: ForwardedRequest): void {
    this.#settle(said)
    this.#post(said)
  }

  send(message: Draft): void {
    this.#post({ type: 'volatile', message })
  }

  end(who: Who): void {
    this.#post({ type: 'ended', who })
  }

  /** The clients of the other servers that read a channel. A server that does not answer is left out. */
  clientsOn(channel: string): Promise<readonly ConnectedClient[]> {
    const awaited = new Set(this.#others.keys())
    if (this.#isClosed || awaited.size === 0) return Promise.resolve([])
    this.#asked += 1
    const number = this.#asked
    const { promise, resolve } = Promise.withResolvers<readonly ConnectedClient[]>()
    const found: ConnectedClient[] = []
    const cancel = this.#parts.timers.later(() => question.end(), answerWithinMs)
    const question: Question = {
      awaited,
      found,
      end: () => {
        cancel()
        this.#questions.delete(number)
        resolve(found)
      },
    }
    this.#questions.set(number, question)
    this.#post({ type: 'asked', question: number, channel })
    return promise
  }

  /** Records a poll of a proven name at this server. */
  polled(window: string, firstChannel: string): void {
    this.#polled.set(window, firstChannel)
    this.#cancelPolled ??= this.#parts.timers.later(() => {
      this.#cancelPolled = null
      this.#post({ type: 'polls', channels: Object.fromEntries(this.#polled) })
      this.#polled.clear()
    }, polledPauseMs)
  }

  counts(): Counts {
    const sum = emptyCounts()
    for (const other of this.#others.values())
      for (const name of countsNames)
        for (const [key, count] of other[name]) sum[name].set(key, (sum[name].get(key) ?? 0) + count)
    for (const [window, { firstChannel }] of this.#polling)
      if (!this.#parts.registry.named(window))
        sum.channels.set(firstChannel, (sum.channels.get(firstChannel) ?? 0) + 1)
    return sum
  }

  onCounted(): void {
    if (changesOf(this.#posted, this.#parts.registry.counts()).length > 0) this.#postCounts()
  }

  close(): void {
    this.#post({ type: 'gone' })
    this.#isClosed = true
    for (const cancel of [this.#cancelShown, this.#cancelPolled, this.#cancelCounts]) cancel?.()
    for (const question of this.#questions.values()) question.end()
  }

  #post(told: NeighbourMessage): void {
    const { bus, server } = this.#parts
    if (!this.#isClosed) bus.post({ ...told, from: server })
  }

  /** Posts at least one note. */
  #postCounts(isWhole = false): void {
    const counts = this.#parts.registry.counts()
    const changes = changesOf(isWhole ? noCounts : this.#posted, counts)
    this.#posted = counts
    for (let first = 0; first === 0 || first < changes.length; first += maxCountsInNote) {
      const some = changes.slice(first, first + maxCountsInNote)
      const plain = (wanted: CountsName) =>
        Object.fromEntries(some.filter(([name]) => name === wanted).map(([, key, count]) => [key, count]))
      this.#post({
        type: 'counts',
        isWhole: isWhole && first === 0,
        channels: plain('channels'),
        owners: plain('owners'),
      })
    }
  }

  #repeatCounts(): void {
    const { timers, heartbeatMs, registry } = this.#parts
    this.#postCounts()
    const latest = timers.now() - (heartbeatMs / countsPerHeartbeat) * countsMissed
    for (const [other, { heardAt }] of this.#others) if (heardAt < latest) this.#forget(other)
    const { size } = this.#polling
    for (const [window, { at }] of this.#polling) if (at < latest) this.#polling.delete(window)
    if (this.#polling.size < size) registry.presenceChanged()
  }

  #forget(other: string): void {
    const { registry, awareness } = this.#parts
    awareness.serverLeft(other)
    for (const question of this.#questions.values()) settle(question, other)
    if (this.#others.delete(other)) registry.presenceChanged()
  }

  #greet(): void {
    this.#post({ type: 'hello' })
    this.#tellAll()
  }

  #tellAll(): void {
    this.#postCounts(true)
    this.#postShown(this.#parts.awareness.ownShown())
  }

  #postShown(changes: Iterable<OwnChange>): void {
    for (const shown of portionsOf(changes)) this.#post({ type: 'shown', shown })
  }

  #answer(to: string, { question, channel }: Extract<NeighbourMessage, { type: 'asked' }>): void {
    for (const clients of portionsOf(this.#parts.registry.on(channel)))
      this.#post({ type: 'clients', to, question, clients, isLast: false })
    this.#post({ type: 'clients', to, question, clients: [], isLast: true })
  }

  #handleAnswer(from: string, told: Extract<NeighbourMessage, { type: 'clients' }>): void {
    const question = told.to === this.#parts.server ? this.#questions.get(told.question) : undefined
    question?.found.push(...told.clients)
    if (question && told.isLast) settle(question, from)
  }

  #show(change: OwnChange): void {
    this.#shown.set(`${change.channel} ${change.window}`, change)
    this.#cancelShown ??= this.#parts.timers.later(() => {
      this.#cancelShown = null
      this.#postShown(this.#shown.values())
      this.#shown.clear()
    }, shownPauseMs)
  }

  #handle(note: Note): void {
    const { server, timers, awareness, onForwarded, onEnded, onVolatile } = this.#parts
    const { from } = note
    if (this.#isClosed || from === server) return
    const known = this.#others.get(from)
    if (known) known.heardAt = timers.now()
    if (note.type === 'hello') this.#tellAll()
    else if (note.type === 'gone') this.#forget(from)
    else if (note.type === 'ended') onEnded(note.who)
    else if (note.type === 'volatile') onVolatile(note.message)
    else if (note.type === 'counts') this.#handleCounts(from, note)
    else if (note.type === 'asked') this.#answer(from, note)
    else if (note.type === 'clients') this.#handleAnswer(from, note)
    else if (note.type === 'polls') this.#handlePolls(note.channels)
    else if (note.type === 'shown') {
      for (const change of note.shown) awareness.showFrom(from, change)
    } else {
      this.#settle(note)
      onForwarded(note)
    }
  }

  #handleCounts(from: string, told: Extract<NeighbourMessage, { type: 'counts' }>): void {
    const { timers, registry } = this.#parts
    const { isWhole } = told
    const known = this.#others.get(from)
    // The server was considered gone, or its first note was lost.
    if (!known && !isWhole) {
      this.#post({ type: 'hello' })
      return
    }
    const other: Other = known && !isWhole ? known : { ...emptyCounts(), heardAt: 0 }
    other.heardAt = timers.now()
    for (const name of countsNames)
      for (const [key, count] of Object.entries(told[name]))
        if (count > 0) other[name].set(key, count)
        else other[name].delete(key)
    this.#others.set(from, other)
    if (isWhole || countsNames.some((name) => Object.keys(told[name]).length > 0)) registry.presenceChanged()
  }

  /** The window no longer polls. */
  #settle({ type, window }: ForwardedRequest): void {
    if ((type === 'left' || type === 'opened') && this.#polling.delete(window))
      this.#parts.registry.presenceChanged()
  }

  #handlePolls(channels: Readonly<Record<string, string>>): void {
    const { timers, registry, onForwarded } = this.#parts
    const { size } = this.#polling
    for (const [window, firstChannel] of Object.entries(channels)) {
      this.#polling.set(window, { firstChannel, at: timers.now() })
      onForwarded({ type: 'polled', window })
    }
    if (this.#polling.size > size) registry.presenceChanged()
  }
}

/** A question for the clients of the other servers. */
interface Question {
  /** The servers that have not answered. */
  readonly awaited: Set<string>
  readonly found: ConnectedClient[]
  readonly end: () => void
}

function settle({ awaited, end }: Question, server: string): void {
  if (awaited.delete(server) && awaited.size === 0) end()
}

/** Lists that each fit in a note. */
function* portionsOf<One>(all: Iterable<One>): Generator<readonly One[]> {
  let portion: One[] = []
  let bytes = 0
  for (const one of all) {
    const size = Buffer.byteLength(JSON.stringify(one))
    if (portion.length > 0 && bytes + size > maxNoteBytes) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(one)
    bytes += size
  }
  if (portion.length > 0) yield portion
}

interface Other extends Record<CountsName, Map<string, number>> {
  heardAt: number
}

function changesOf(before: Counts, after: Counts): (readonly [CountsName, key: string, count: number])[] {
  return countsNames.flatMap((name) => {
    const old = before[name]
    const young = after[name]
    const changed = [...young].filter(([key, count]) => old.get(key) !== count)
    const gone = [...old.keys()].filter((key) => !young.has(key))
    return [
      ...changed.map(([key, count]) => [name, key, count] as const),
      ...gone.map((key) => [name, key, 0] as const),
    ]
  })
}
