// Records what a channel's document contains, without its text, and what an update adds to it.

import { scheduler } from 'node:timers/promises'
import type * as Y from 'yjs'
import { type Draft, fingerprintIn, type Message, type UpdateBody } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { upsert } from '../../protocol/upsert.ts'
import { type FreeEnds, free, isFree, use } from './free-ends.ts'
import { type Depths, depthOf, setDepth } from './nesting.ts'
import { ReadingCost } from './reading-cost.ts'
import {
  type Region,
  rangeAt,
  rangeWidth,
  readUpdate,
  type Schema,
  type Struct,
  structAt,
  structWidth,
  type Update,
} from './update-reader.ts'

/** A person's windows share a fingerprint. */
export const ownerOf = (sender: string) => fingerprintIn(sender) ?? sender

/** The update's writer: the user, if the application names one. Names of senders contain no colon. */
export const writerOf = ({ from, body }: Pick<Draft<'update'>, 'from' | 'body'>) =>
  body.user === undefined ? ownerOf(from) : `:${body.user}`

const nobody = ''

/** Throws a `Refusal` (400 `bad-update`). */
export function readDraft({ id, body }: Draft<'update'>, schema: Schema): Update {
  const read = readUpdate(body.update, schema)
  if ('bad' in read) throw badUpdate(read.bad, id)
  return read
}

export function badUpdate(reason: string, id: string): Refusal {
  const sentence = `Invalid update "${id}": ${reason}. PROTOCOL.md says what a document may contain.`
  return new Refusal('bad-update', sentence, id)
}

export function recordOf(messages: readonly Message<'update'>[], schema: Schema): DocumentRecord {
  const document = new DocumentRecord(schema)
  for (const message of messages) document.take(message)
  return document
}

/** The changes of an update to a record, and the previous values, by client. */
export type Admission = ReturnType<DocumentRecord['admit']>

/** Interval between two measurements of a full document, which are costly. */
const measureMs = 5000

export class DocumentRecord {
  /** The next clock of each Yjs client. */
  readonly #next: Map<number, number>
  readonly #owners: Map<number, string>
  /** Ascending clocks of each client's own items. */
  readonly #own: Map<number, number[]>
  readonly #schema: Schema
  /** Admitted but not stored yet. */
  readonly #pending = new Set<string>()
  /** Admitted but refused by the log, in order, until they are undone. */
  #failed: Admission[] = []
  #undoing: Promise<boolean> | null = null
  /** Replaced whenever additions are undone: an addition ordered before may build on them. */
  #state = {}
  #additions = 0
  /** By client, the last addition that wrote under it or built on it. */
  readonly #usedBy = new Map<number, number>()
  /** Clients under which other servers of the log wrote while an update was pending. */
  readonly #overtaken = new Set<number>()
  readonly cost = new ReadingCost()
  readonly #ends: FreeEnds
  readonly #depths: Depths
  #newestSeq: number
  #foldedBytes: number
  /** Number of the newest message in the fold. */
  #foldedSeq = 0
  #measuredAt = Number.NEGATIVE_INFINITY

  constructor(schema: Schema, { next, owners, own, ends, depths, ...plain }: Plain = nothing()) {
    this.#schema = schema
    this.#next = next
    this.#owners = owners
    this.#own = own
    this.#ends = ends
    this.#depths = depths
    this.#foldedBytes = plain.foldedBytes
    this.#newestSeq = plain.newestSeq
    this.cost.add(null, plain.steps, plain.items)
  }

  /** As plain data for another thread. */
  toPlain(): Plain {
    return {
      next: this.#next,
      owners: this.#owners,
      own: this.#own,
      ends: this.#ends,
      depths: this.#depths,
      foldedBytes: this.#foldedBytes,
      newestSeq: this.#newestSeq,
      steps: this.cost.unreadSteps,
      items: this.cost.items,
    }
  }

  get newestSeq(): number {
    return this.#newestSeq
  }

  /** Whether something is admitted and not stored. */
  get isBusy(): boolean {
    return this.#pending.size > 0
  }

  isPending(id: string): boolean {
    return this.#pending.has(id)
  }

  isFull(maxBytes: number): boolean {
    return this.#foldedBytes > maxBytes
  }

  /** The log also folds earlier states, for the history. */
  wasFolded(bytes: number, newestSeq: number): void {
    if (newestSeq < this.#foldedSeq) return
    this.#foldedBytes = bytes
    this.#foldedSeq = newestSeq
  }

  /** Returns false if it was measured just before. */
  beginMeasuring(now: number): boolean {
    if (now - this.#measuredAt < measureMs) return false
    this.#measuredAt = now
    return true
  }

  wasMeasured(bytes: number): void {
    this.#foldedBytes = bytes
  }

  get owners(): NonNullable<UpdateBody['owners']> {
    const clients = Map.groupBy(this.#owners.keys(), (client) => this.#owners.get(client) ?? '')
    return Object.fromEntries(clients)
  }

  /** Orders what the update adds. Yields every few milliseconds. Throws a `Refusal`. */
  *order(update: Update, id: string): Generator<undefined, Addition> {
    const known = {
      next: this.#next,
      own: this.#own,
      ends: this.#ends,
      depths: this.#depths,
      items: this.cost.items,
      state: this.#state,
    }
    const addition = new Addition(update, known, id)
    yield* addition.order()
    return addition
  }

  /**
   * Whether the addition was ordered against this record, and nothing has been undone or added under
   * its clients since.
   */
  holds({ state, from }: Addition): boolean {
    return (
      state === this.#state &&
      from.entries().every(([client, next]) => (this.#next.get(client) ?? 0) === next)
    )
  }

  /** The clients under which the addition repeats content that somebody else may have written. */
  repeatedBy({ repeated }: Addition, writer: string): readonly number[] {
    return [...repeated].filter((client) => this.#owners.get(client) !== writer)
  }

  /**
   * Call in the same turn of the event loop as `admit`. `owner` is null if anybody may write under
   * any client. Throws a `Refusal`.
   */
  check(addition: Addition, owner: string | null, maxBytes: number): void {
    if (owner !== null) this.#checkOwners(addition, owner)
    this.#checkOwn(addition)
    this.#checkClients(addition)
    if (addition.hasContent && this.isFull(maxBytes)) {
      const size = `${this.#foldedBytes} bytes, more than ${maxBytes} (limits.documentBytes)`
      const sentence = `The document is full: it has ${size}. Delete something, create another document, or raise the limit.`
      throw new Refusal('document-full', sentence, addition.id, measureMs)
    }
  }

  /**
   * `addition` must have passed `check`. `steps` are those that no read has covered. The addition is
   * pending until `settle`.
   */
  admit(addition: Addition, owner: string, steps: number) {
    const former = new Map(
      addition.used.keys().map((client) => {
        const before = { next: this.#next.get(client), owner: this.#owners.get(client) }
        return [client, { ...before, usedBy: this.#usedBy.get(client) }]
      }),
    )
    this.#add(addition, owner)
    this.#pending.add(addition.id)
    this.cost.add(addition.id, steps, addition.items)
    return { number: this.#additions, addition, former }
  }

  /**
   * Undoes the additions that the log has refused, together with others of this turn that may build on
   * them. Resolves to false if something else builds on them: then the record is wrong.
   */
  undo(admission: Admission): Promise<boolean> {
    this.#failed.push(admission)
    this.#undoing ??= Promise.resolve().then(() => this.#undoFailed())
    return this.#undoing
  }

  #undoFailed(): boolean {
    this.#undoing = null
    this.#state = {}
    this.#ends.clear()
    for (const { number, addition, former } of this.#failed.splice(0).reverse()) {
      const { clients, own } = addition
      if (clients.keys().some((client) => this.#usedBy.get(client) !== number)) return false
      for (const [client, { next, owner, usedBy }] of former) {
        if (this.#usedBy.get(client) === number) setOrDelete(this.#usedBy, client, usedBy)
        if (!clients.has(client)) continue
        setOrDelete(this.#next, client, next)
        setOrDelete(this.#owners, client, owner)
      }
      for (const [client, clocks] of own) this.#own.get(client)?.splice(-clocks.length)
    }
    return true
  }

  settle(id: string): void {
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#overtaken.clear()
    this.cost.settle(id)
  }

  /** The clients of the addition under which the log may have something else before it. */
  overtakenBy({ from }: Addition): readonly number[] {
    return [...from.keys()].filter((client) => this.#overtaken.has(client))
  }

  #checkOwners({ clients, id, update: { deletions } }: Addition, owner: string): void {
    const isForeign = (client: number) => (this.#owners.get(client) ?? owner) !== owner
    for (const client of clients.keys()) {
      if (!isForeign(client)) continue
      const sentence = `Client ${client} belongs to another sender: create your own Y.Doc, which gets a new client ID.`
      throw new Refusal('not-your-client', sentence, id)
    }
    for (let at = 0; at < deletions.length; at += rangeWidth) {
      const { client, clock, len } = rangeAt(deletions, at)
      const own = this.#own.get(client)
      if (own && isForeign(client) && hasBetween(own, clock, clock + len)) {
        const sentence = `The name of client ${client} belongs to another sender, and only that sender may change it.`
        throw new Refusal('not-your-client', sentence, id)
      }
    }
  }

  #checkOwn({ own, id }: Addition): void {
    for (const [client, clocks] of own)
      if (clocks.length + (this.#own.get(client)?.length ?? 0) > maxOwn)
        throw badUpdate(`client ${client} has more than ${maxOwn} names`, id)
  }

  #checkClients({ clients, id }: Addition): void {
    let added = 0
    for (const client of clients.keys()) if (!this.#next.has(client)) added += 1
    if (added === 0 || this.#next.size + added <= maxClients) return
    const sentence = `${this.#next.size} Yjs clients have written in this document, and at most ${maxClients} may: create another document.`
    throw new Refusal('document-full', sentence, id)
  }

  /** Adds a stored message. */
  take(message: Message<'update'>): void {
    const { id, seq } = message
    const { update, owners } = message.body
    this.#newestSeq = seq
    for (const [owner, clients] of Object.entries(owners ?? {}))
      for (const client of clients) this.#owners.set(client, owner)
    const read = readUpdate(update, this.#schema, owners === undefined)
    // Such messages are in no document.
    if ('bad' in read) return
    try {
      if (owners) this.#foldedBytes = read.bytes
      const addition = inOneTurn(this.order(read, id))
      this.#add(addition, owners ? null : writerOf(message))
      if (this.isBusy) for (const client of addition.from.keys()) this.#overtaken.add(client)
      // A base was read when it was created.
      this.cost.add(null, owners ? 0 : addition.steps, addition.items)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  }

  follow(message: Message<'update'>): void {
    this.#newestSeq = message.seq
    if (!this.#pending.has(message.id)) this.take(message)
  }

  /**
   * An update with exactly one new client makes the writer that client's owner. A client under which
   * another writer writes, where that is allowed, has no owner from then on.
   */
  #add({ clients, own, ends, usedEnds, depths, used }: Addition, owner: string | null): void {
    // Nothing is left to undo.
    if (!this.isBusy && this.#failed.length === 0) this.#usedBy.clear()
    this.#additions += 1
    for (const client of used) this.#usedBy.set(client, this.#additions)
    for (const [client, clocks] of usedEnds) for (const clock of clocks) use(this.#ends, { client, clock })
    for (const [client, clocks] of ends) for (const clock of clocks) free(this.#ends, { client, clock })
    for (const [client, runs] of depths)
      for (const [index, clock] of runs.clocks.entries())
        setDepth(this.#depths, client, clock, runs.depths[index] ?? 0)
    for (const [client, next] of clients) {
      this.#next.set(client, next)
      if (owner !== null) this.#owner(client, owner, clients.size === 1)
    }
    for (const [client, clocks] of own) {
      const known = upsert(this.#own, client, () => [])
      for (const clock of clocks) known.push(clock)
    }
  }

  #owner(client: number, writer: string, isAlone: boolean): void {
    const owner = this.#owners.get(client)
    if (owner === undefined && isAlone) this.#owners.set(client, writer)
    else if (owner !== undefined && owner !== writer) this.#owners.set(client, nobody)
  }
}

/** A record's data, in a form that another thread can receive. */
export interface Plain {
  readonly next: Map<number, number>
  readonly owners: Map<number, string>
  readonly own: Map<number, number[]>
  readonly ends: FreeEnds
  readonly depths: Depths
  readonly foldedBytes: number
  readonly newestSeq: number
  readonly steps: number
  readonly items: number
}

const nothing = (): Plain => ({
  next: new Map(),
  owners: new Map(),
  own: new Map(),
  ends: new Map(),
  depths: new Map(),
  foldedBytes: 0,
  newestSeq: 0,
  steps: 0,
  items: 0,
})

export function inOneTurn<Made>(work: Generator<undefined, Made>): Made {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Gives others a turn of the event loop wherever the work yields. */
export async function inTurns<Made>(work: Generator<undefined, Made>): Promise<Made> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await scheduler.yield()
  }
}

function setOrDelete<Value>(map: Map<number, Value>, key: number, value: Value | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

/** Whether one of the ascending numbers is at least `first` and below `end`. */
function hasBetween(ascending: readonly number[], first: number, end: number): boolean {
  let from = 0
  let to = ascending.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((ascending[middle] ?? 0) < first) from = middle + 1
    else to = middle
  }
  return (ascending[from] ?? end) < end
}

/** The state that an addition is checked against. */
interface Known {
  readonly next: ReadonlyMap<number, number>
  readonly own: ReadonlyMap<number, readonly number[]>
  readonly ends: FreeEnds
  readonly depths: Depths
  /** Upper bound. */
  readonly items: number
  /** See `DocumentRecord#holds`. */
  readonly state: object
}

interface Need {
  readonly client: number
  /** The first clock that is not needed. */
  readonly until: number
}

/**
 * The new structs of an update, in the order in which Yjs integrates them. Throws a `Refusal` if
 * there is none.
 */
export class Addition {
  /** The next clock of each client that gets new structs. */
  readonly clients = new Map<number, number>()
  /** Clocks of the clients' new own items. */
  readonly own = new Map<number, number[]>()
  /** The clients under which it writes, and those it builds on. */
  readonly used = new Set<number>()
  /** The next clock that each of its clients had before. */
  readonly from = new Map<number, number>()
  /** Clients of whose known content it repeats some. */
  readonly repeated = new Set<number>()
  /** The new ones, and those known before that are used now. */
  readonly ends: FreeEnds = new Map()
  readonly usedEnds: FreeEnds = new Map()
  readonly depths: Depths = new Map()
  hasContent = false
  /** Upper bound of the items that Yjs scans to place these structs. */
  steps = 0
  /** Upper bound: each struct may split two existing items, and so may each range. */
  items = 0
  readonly update: Update
  readonly id: string
  readonly state: object
  readonly #known: Known
  #untilPause = structsOfTurn

  constructor(update: Update, known: Known, id: string) {
    this.update = update
    this.id = id
    this.state = known.state
    this.#known = known
  }

  *order(): Generator<undefined, void> {
    const { structs, deletions } = this.update
    const queues = new Map<number, Queue>()
    for (let at = 0; at < structs.length; at += structWidth) {
      const queue = queues.get(structs[at] ?? 0)
      if (queue) queue.end = at + structWidth
      else queues.set(structs[at] ?? 0, { at, end: at + structWidth })
    }
    for (const client of queues.keys()) this.from.set(client, this.#next(client))
    for (const client of queues.keys()) {
      this.used.add(client)
      yield* this.#run(client, structs, queues)
    }
    for (let at = 0; at < deletions.length; at += rangeWidth) {
      const { client, clock, len } = rangeAt(deletions, at)
      this.used.add(client)
      if (clock + len > this.#next(client)) this.#refuseGap(client, clock)
    }
    const ranges = deletions.length / rangeWidth
    this.items += 2 * ranges
    this.steps += (ranges * (this.#known.items + this.items)) / cutsOfStep
  }

  /** Adds a client's structs, each after what it depends on. */
  *#run(
    first: number,
    structs: Float64Array,
    queues: ReadonlyMap<number, Queue>,
  ): Generator<undefined, void> {
    const waiting: Need[] = [{ client: first, until: Number.POSITIVE_INFINITY }]
    let clientsWaiting: Set<number> | null = null
    for (let top = waiting.at(-1); top; top = waiting.at(-1)) {
      const need = this.#advance(top, structs, queues.get(top.client))
      if (this.#untilPause <= 0) {
        this.#untilPause = structsOfTurn
        yield
      } else if (need) {
        clientsWaiting ??= new Set([first])
        if (clientsWaiting.has(need.client)) this.#refuseGap(need.client, need.until - 1)
        waiting.push(need)
        clientsWaiting.add(need.client)
      } else {
        waiting.pop()
        clientsWaiting?.delete(top.client)
      }
    }
  }

  /**
   * Adds the client's structs up to `until`, until one depends on another client's, or until a pause
   * is due.
   */
  #advance({ client, until }: Need, structs: Float64Array, queue: Queue | undefined): Need | null {
    this.#untilPause -= 1
    while (queue && queue.at < queue.end && this.#next(client) < until) {
      const struct = structAt(structs, queue.at)
      const need = this.#needOf(client, struct)
      if (need) return need
      this.#addStruct(client, struct)
      queue.at += structWidth
      this.#untilPause -= 1
      if (this.#untilPause <= 0) return null
    }
    if (until !== Number.POSITIVE_INFINITY && this.#next(client) < until) this.#refuseGap(client, until - 1)
    return null
  }

  #next(client: number): number {
    return this.clients.get(client) ?? this.#known.next.get(client) ?? 0
  }

  /** Returns the position that the struct depends on and the document lacks. */
  #needOf(client: number, { clock, left, right, parent, content }: Struct): Need | null {
    if (content === 'skip') return null
    if (clock > this.#next(client)) this.#refuseGap(client, clock - 1)
    return this.#needFor(left) ?? this.#needFor(right) ?? this.#needFor(parent)
  }

  #needFor(neighbour: Y.ID | null): Need | null {
    if (neighbour === null) return null
    this.used.add(neighbour.client)
    if (neighbour.clock < this.#next(neighbour.client)) return null
    return { client: neighbour.client, until: neighbour.clock + 1 }
  }

  #addStruct(client: number, struct: Struct): void {
    const { clock, len, content } = struct
    if (content === 'skip') return
    if (content !== 'blank' && clock < (this.#known.next.get(client) ?? 0)) this.repeated.add(client)
    if (clock + len <= this.#next(client)) return
    this.#checkRegion(client, struct)
    this.#checkDepth(client, struct)
    this.#count(client, struct)
    this.clients.set(client, clock + len)
    if (content !== 'blank') this.hasContent = true
  }

  /**
   * To place an item, Yjs scans on from its left neighbour, past items whose own left neighbour is
   * that one or one already scanned. There are none when the left neighbour ends an item and this is
   * the first one behind it, as in ordinary typing and when the value of a key is replaced.
   */
  #count(client: number, { clock, len, left, right, parent }: Struct): void {
    const next = this.#next(client)
    const place = clock < next ? { client, clock: next - 1 } : left
    const isFirst = place !== null && this.#takeEnd(place)
    const items = this.#known.items + this.items
    // A type that this update brings contains nothing else.
    const isNew = parent !== null && parent.clock >= (this.#known.next.get(parent.client) ?? 0)
    if (isFirst) this.steps += 1 + (right ? items / cutsOfStep : 0)
    else this.steps += isNew ? this.items : items
    this.items += 3
    free(this.ends, { client, clock: clock + len - 1 })
  }

  /** Whether nothing was inserted behind it before. */
  #takeEnd(place: Pick<Y.ID, 'client' | 'clock'>): boolean {
    const isNew = isFree(this.ends, place)
    const isKnown = isFree(this.#known.ends, place) && !isFree(this.usedEnds, place)
    if (isNew) use(this.ends, place)
    if (isKnown) free(this.usedEnds, place)
    return isNew || isKnown
  }

  #checkRegion(client: number, { clock, left, right, region, content }: Struct): void {
    const leftRegion = this.#regionFor(client, left)
    const rightRegion = this.#regionFor(client, right)
    const found = leftRegion ?? rightRegion ?? region
    const isOwn = found === 'own'
    const isOne = (rightRegion ?? found) === found && (region ?? found) === found
    const isRight = content === 'blank' || isOwn === (content === 'own')
    if (!isOne || !isRight) {
      throw badUpdate(`the item at clock ${clock} of client ${client} is in the wrong root type`, this.id)
    }
    if (isOwn) upsert(this.own, client, () => []).push(clock)
  }

  /** To delete a type's content Yjs calls itself, and it notifies each type around a change. */
  #checkDepth(client: number, { clock, left, right, parent }: Struct): void {
    const beside = left ?? right
    const depth = parent ? this.#depthOf(parent) + 1 : beside ? this.#depthOf(beside) : 0
    if (depth > deepest)
      throw badUpdate(
        `the item at clock ${clock} of client ${client} is nested deeper than ${deepest} levels`,
        this.id,
      )
    if (depth !== this.#depthOf({ client, clock })) setDepth(this.depths, client, clock, depth)
  }

  #depthOf(item: Pick<Y.ID, 'client' | 'clock'>): number {
    return depthOf(this.depths, item) ?? depthOf(this.#known.depths, item) ?? 0
  }

  #regionFor(client: number, neighbour: Y.ID | null): Region | null {
    if (neighbour === null) return null
    if (!this.#isOwn(neighbour)) return 'shared'
    if (neighbour.client === client) return 'own'
    throw badUpdate(`client ${client} writes to the entry of client ${neighbour.client}`, this.id)
  }

  #isOwn({ client, clock }: Y.ID): boolean {
    const known = this.#known.own.get(client)
    const added = this.own.get(client)
    const isIn = (clocks: readonly number[] | undefined) =>
      clocks !== undefined && hasBetween(clocks, clock, clock + 1)
    return isIn(known) || isIn(added)
  }

  #refuseGap(client: number, clock: number): never {
    const sentence = `The update "${this.id}" builds on clock ${clock} of client ${client}, which the log lacks; send the earlier updates first.`
    throw new Refusal('update-gap', sentence, this.id)
  }
}

/** One client's adjacent rows: the position of the next, and their end. */
interface Queue {
  at: number
  end: number
}

/** Documents of editors have some ten levels. */
const deepest = 100

/** Splitting one item in a list costs less than scanning them all. */
const cutsOfStep = 100

/** About 5 ms. */
const structsOfTurn = 5000

/** Per client; only the page's schema has such items, the authors' names. */
const maxOwn = 1000

/** Loading a record takes time for each client: some 80 ms for 50,000. */
const maxClients = 50_000
