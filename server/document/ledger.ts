// Admission of updates: what a channel's document holds and who writes it, without its text.

import * as Y from 'yjs'
import { IdTaken, type Log } from '../log/log.ts'
import { Refusal } from '../refusal.ts'
import { cutText } from '../wire/graphemes.ts'
import { type Draft, fingerprintIn, isKind, type Message, type UpdateBody } from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import type { Output } from './document-tasks.ts'
import { type Documents, isTooCostly, TooCostly } from './document-worker.ts'
import { msOf, ReadingCost } from './reading-cost.ts'
import { isKnown } from './rich-text.ts'

interface LedgerParts {
  readonly documents: Documents
  /** Reads updates that may cost too much: none holds up the documents. */
  readonly trials: Pick<Documents, 'run'>
  /** Of one document, folded; beyond it only deletions are admitted. */
  readonly documentBytes: number
  /** Processor time to read one document: what is admitted leaves half of it. */
  readonly documentSeconds: number
  readonly now: Clock
  readonly onFailure: (error: unknown) => void
}

/** Channels known at the same time: the least recently used is read from the log again. */
const mostDocuments = 256

/** Between two measurements of a full document, which load it. */
const measureMs = 5000

/** Between two readings of a document that costs too much. */
const costlyMs = 60_000

/** Refuses updates that do not fit the documents in the log; joins those that do. */
export class Ledger {
  readonly #parts: LedgerParts
  /** The least recently used first. */
  readonly #documents = new Map<string, DocumentRecord>()
  readonly #loading = new Map<string, Promise<DocumentRecord>>()

  constructor(parts: LedgerParts) {
    this.#parts = parts
  }

  /**
   * The log, with an `append` that rejects an update with a `Refusal`: 400 `bad-update`, 409 `update-gap`, 403
   * `not-your-client`, 413 `document-full`, 422 `too-costly`.
   */
  guard(log: Log): Log {
    log.follow((message) => {
      if (isKind(message, 'update')) this.#documents.get(message.channel)?.follow(message)
    })
    const append: Log['append'] = (draft, acceptedAt) =>
      isUpdate(draft) ? this.#append(log, draft, acceptedAt) : log.append(draft, acceptedAt)
    return { ...log, append }
  }

  /** Joins updates in one with the same content, without what was deleted. Skips what Yjs cannot read. */
  readonly fold = async (messages: readonly Message<'update'>[]): Promise<UpdateBody> => {
    const newest = messages.at(-1)?.seq ?? 0
    const channel = messages[0]?.channel ?? ''
    const begun = this.#documents.get(channel)
    const mark = begun && newest >= begun.newestSeq ? begun.cost.mark() : null
    const { update, bytes, items } = await this.#join(messages)
    if (mark && items !== null) begun?.cost.wasRead(mark, items)
    const known = this.#documents.get(channel)
    // The log also folds earlier states, for the history.
    if (known && newest >= known.foldedSeq) Object.assign(known, { foldedBytes: bytes, foldedSeq: newest })
    const owners = (known ?? recordOf(messages)).owners()
    return { update, owners }
  }

  /** A document in quarantine keeps what was deleted. */
  async #join(messages: readonly Message<'update'>[]): Promise<Output<'join'> | Output<'merge'>> {
    const { documents, onFailure } = this.#parts
    const updates = messages.map(({ body }) => body.update)
    const joined = await documents.read(messages[0]?.channel ?? '', 'join', updates).catch((error) => {
      if (isTooCostly(error)) return documents.run('merge', updates)
      throw error
    })
    for (const place of joined.unread)
      onFailure(new Error(`Message ${messages[place]?.seq} of the log is no update and was left out.`))
    return joined
  }

  #append(log: Log, draft: Draft<'update'>, acceptedAt: number, isTried = false): number | Promise<number> {
    const { channel, from } = draft
    try {
      const update = readDraft(draft)
      const known = this.#documents.get(channel)
      // It may build on one that is being tried.
      const tried = known?.tried.get(ownerOf(from))
      if (tried && !isTried) return tried.then(() => this.#append(log, draft, acceptedAt))
      if (!known) {
        return this.#load(log, channel).then((document) =>
          this.#admit(log, document, update, draft, acceptedAt, isTried),
        )
      }
      this.#documents.delete(channel)
      this.#documents.set(channel, known)
      return this.#admit(log, known, update, draft, acceptedAt, isTried)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #admit(
    log: Log,
    document: DocumentRecord,
    update: Update,
    draft: Draft<'update'>,
    acceptedAt: number,
    isTried: boolean,
  ): number | Promise<number> {
    const { channel, id, from } = draft
    const { documentBytes, documentSeconds, now } = this.#parts
    const owner = ownerOf(from)
    const { cost } = document
    let addition: Addition
    try {
      addition = document.check(update, owner, id, documentBytes)
    } catch (error) {
      if (document.isFull(documentBytes)) this.#measure(log, channel, document)
      throw error
    }
    const mostMs = documentSeconds * 500
    const ms = cost.unreadMs + (isTried ? 0 : msOf(addition.steps))
    if (ms > mostMs) {
      if (now() < cost.nextReadingAt) throw this.#tooCostly(id)
      const stored = this.#try(log, document, draft)
        .finally(() => document.tried.delete(owner))
        .then(() => this.#append(log, draft, acceptedAt, true))
      document.tried.set(
        owner,
        stored.catch(() => undefined),
      )
      return stored
    }
    if (ms > mostMs / 2) this.#readAhead(log, channel, document)
    const admission = document.admit(addition, owner)
    document.underWay.add(id)
    cost.add(id, isTried ? 0 : addition.steps, addition.items)
    const stored = log.append(draft, acceptedAt)
    if (typeof stored === 'number') {
      document.settle(id)
      return stored
    }
    return stored
      .catch((error) => {
        // The record has what the log lacks. Only of a taken id it is certain that nothing is stored.
        if (error instanceof IdTaken) this.#undo(channel, document, admission)
        else this.#forget(channel, document)
        throw error
      })
      .finally(() => document.settle(id))
  }

  /** Together with the others that failed in this turn, which may build on it. */
  #undo(channel: string, document: DocumentRecord, admission: Admission): void {
    document.failed.push(admission)
    if (document.failed.length > 1) return
    queueMicrotask(() => {
      if (!document.undoFailed()) this.#forget(channel, document)
    })
  }

  /** It is read from the log again. */
  #forget(channel: string, document: DocumentRecord): void {
    if (this.#documents.get(channel) === document) this.#documents.delete(channel)
  }

  #load(log: Log, channel: string): Promise<DocumentRecord> {
    return this.#loading.getOrInsertComputed(channel, () =>
      this.#read(log, channel).finally(() => this.#loading.delete(channel)),
    )
  }

  async #read(log: Log, channel: string): Promise<DocumentRecord> {
    for (;;) {
      const { messages, head } = await log.snapshot(new Set([channel]))
      // Stored meanwhile.
      if ((log.heads().get(channel) ?? 0) > head.seq) continue
      const document = recordOf(messages.filter((message) => isKind(message, 'update')))
      this.#documents.set(channel, document)
      for (const [idle, { underWay, tried }] of this.#documents) {
        if (this.#documents.size <= mostDocuments) break
        if (underWay.size === 0 && tried.size === 0 && idle !== channel) this.#documents.delete(idle)
      }
      return document
    }
  }

  /** Reads the document with the update. Rejects with a `Refusal` (422 `too-costly`). */
  async #try(log: Log, { cost }: DocumentRecord, { channel, id, body }: Draft<'update'>): Promise<void> {
    const { trials, now } = this.#parts
    const mark = cost.mark()
    const { messages } = await log.snapshot(new Set([channel]))
    const updates = messages.flatMap((message) => (isKind(message, 'update') ? [message.body.update] : []))
    const read = await trials.run('join', [...updates, body.update]).catch((error) => {
      if (error instanceof TooCostly) return null
      throw error
    })
    if (read && this.#isQuick(read)) {
      cost.wasRead(mark, read.items)
      return
    }
    cost.nextReadingAt = now() + costlyMs
    throw this.#tooCostly(id)
  }

  /** Covers what was admitted, before an update has to wait for it. */
  #readAhead(log: Log, channel: string, { cost }: DocumentRecord): void {
    const { documents, now, onFailure } = this.#parts
    if (cost.isBeingRead || now() < cost.nextReadingAt) return
    cost.isBeingRead = true
    const read = async () => {
      const mark = cost.mark()
      const { messages } = await log.snapshot(new Set([channel]))
      const updates = messages.flatMap((message) => (isKind(message, 'update') ? [message.body.update] : []))
      const joined = await documents.read(channel, 'join', updates)
      if (this.#isQuick(joined)) cost.wasRead(mark, joined.items)
      else cost.nextReadingAt = now() + costlyMs
    }
    read()
      .catch((error) => {
        if (isTooCostly(error)) cost.nextReadingAt = now() + costlyMs
        else onFailure(error)
      })
      .finally(() => {
        cost.isBeingRead = false
      })
  }

  #isQuick({ cpuMs }: Output<'join'>): boolean {
    return cpuMs <= this.#parts.documentSeconds * 500
  }

  #tooCostly(id: string): Refusal {
    const most = `${this.#parts.documentSeconds / 2} s of processor time (half of limits.documentSeconds)`
    const sentence = `With the update of "${id}" the document would take more than ${most} to read: send less, or begin another document.`
    return new Refusal(422, 'too-costly', sentence, id)
  }

  /** Finds out whether a full document has shrunk. */
  #measure(log: Log, channel: string, document: DocumentRecord): void {
    const { now, onFailure } = this.#parts
    if (now() - document.measuredAt < measureMs) return
    document.measuredAt = now()
    const measure = async () => {
      const { messages } = await log.snapshot(new Set([channel]))
      const { bytes } = await this.#join(messages.filter((message) => isKind(message, 'update')))
      document.foldedBytes = bytes
    }
    measure().catch(onFailure)
  }
}

function isUpdate(draft: Draft): draft is Draft<'update'> {
  return draft.kind === 'update'
}

/** A person's windows share a fingerprint. */
const ownerOf = (sender: string) => fingerprintIn(sender) ?? sender

function readDraft({ id, body }: Draft<'update'>): Update {
  try {
    return readUpdate(body.update)
  } catch (error) {
    if (error instanceof BadUpdate) throw badUpdate(error.message, id)
    throw error
  }
}

function badUpdate(reason: string, id: string): Refusal {
  const sentence = `The update of "${id}" does not fit: ${reason}. PROTOCOL.md says what a document may hold.`
  return new Refusal(400, 'bad-update', sentence, id)
}

function recordOf(messages: readonly Message<'update'>[]): DocumentRecord {
  const document = new DocumentRecord()
  for (const message of messages) document.take(message)
  return document
}

/** What an update has changed in a record, and what was there before, by client. */
interface Admission {
  readonly number: number
  readonly addition: Addition
  readonly former: ReadonlyMap<
    number,
    {
      readonly next: number | undefined
      readonly owner: string | undefined
      readonly usedBy: number | undefined
    }
  >
}

/** What the document of one channel holds, by Yjs clients and clocks. */
class DocumentRecord {
  /** The next clock of each Yjs client. */
  readonly #next = new Map<number, number>()
  readonly #owners = new Map<number, string>()
  /** Ascending clocks of entries in "authors". */
  readonly #names = new Map<number, number[]>()
  /** Admitted, but not stored yet. */
  readonly underWay = new Set<string>()
  /** Admitted and refused by the log, in order. */
  failed: Admission[] = []
  #additions = 0
  /** The last addition that wrote under a client or built on it. */
  readonly #usedBy = new Map<number, number>()
  /** By owner: an update that is read before it is admitted. */
  readonly tried = new Map<string, Promise<unknown>>()
  readonly cost = new ReadingCost()
  /** Newest clocks of clients that an item has for its left neighbour. */
  readonly #leftOf = new Map<number, number>()
  newestSeq = 0
  foldedBytes = 0
  /** Of the newest message in it. */
  foldedSeq = 0
  measuredAt = Number.NEGATIVE_INFINITY

  isFull(mostBytes: number): boolean {
    return this.foldedBytes > mostBytes
  }

  owners(): NonNullable<UpdateBody['owners']> {
    const clients = Map.groupBy(this.#owners.keys(), (client) => this.#owners.get(client) ?? '')
    return Object.fromEntries(clients)
  }

  /** Throws a `Refusal`. */
  check(update: Update, owner: string, id: string, mostBytes: number): Addition {
    const addition = this.#additionOf(update, id)
    this.#checkOwners(addition, update, owner, id)
    this.#checkNames(addition, id)
    if (addition.hasContent && this.isFull(mostBytes)) {
      const size = `${this.foldedBytes} bytes, more than ${mostBytes} (limits.documentBytes)`
      const sentence = `The document is full: it has ${size}. Delete something, begin another document, or raise the limit.`
      throw new Refusal(413, 'document-full', sentence, id, measureMs)
    }
    return addition
  }

  #additionOf(update: Update, id: string): Addition {
    return new Addition(
      update,
      { next: this.#next, names: this.#names, leftOf: this.#leftOf, items: this.cost.items },
      id,
    )
  }

  /** What `check` has found to fit. */
  admit(addition: Addition, owner: string): Admission {
    const former = new Map(
      addition.used.keys().map((client) => {
        const before = { next: this.#next.get(client), owner: this.#owners.get(client) }
        return [client, { ...before, usedBy: this.#usedBy.get(client) }]
      }),
    )
    this.#add(addition, owner)
    return { number: this.#additions, addition, former }
  }

  /** False if something else builds on what failed. */
  undoFailed(): boolean {
    for (const { number, addition, former } of this.failed.splice(0).reverse()) {
      const { clients, names } = addition
      if (clients.keys().some((client) => this.#usedBy.get(client) !== number)) return false
      for (const [client, { next, owner, usedBy }] of former) {
        if (this.#usedBy.get(client) === number) setOrDelete(this.#usedBy, client, usedBy)
        if (!clients.has(client)) continue
        setOrDelete(this.#next, client, next)
        setOrDelete(this.#owners, client, owner)
      }
      for (const [client, clocks] of names) this.#names.get(client)?.splice(-clocks.length)
    }
    return true
  }

  settle(id: string): void {
    this.underWay.delete(id)
    this.cost.settle(id)
  }

  #checkOwners({ clients }: Addition, { deletions }: Update, owner: string, id: string): void {
    const isForeign = (client: number) => (this.#owners.get(client) ?? owner) !== owner
    for (const client of clients.keys()) {
      if (!isForeign(client)) continue
      const sentence = `Client ${client} belongs to another sender: begin a Y.Doc of your own, with a new client number.`
      throw new Refusal(403, 'not-your-client', sentence, id)
    }
    for (const [client, ranges] of deletions) {
      const names = this.#names.get(client)
      if (!names || !isForeign(client)) continue
      for (const { clock, len } of ranges) {
        if (!hasBetween(names, clock, clock + len)) continue
        const sentence = `The name of client ${client} belongs to another sender: only that one may change it.`
        throw new Refusal(403, 'not-your-client', sentence, id)
      }
    }
  }

  #checkNames({ names }: Addition, id: string): void {
    for (const [client, clocks] of names)
      if (clocks.length + (this.#names.get(client)?.length ?? 0) > most.names)
        throw badUpdate(`client ${client} gives itself more than ${most.names} names`, id)
  }

  /** A stored message. */
  take({ body: { update, owners }, from, id, seq }: Message<'update'>): void {
    this.newestSeq = seq
    for (const [owner, clients] of Object.entries(owners ?? {}))
      for (const client of clients) this.#owners.set(client, owner)
    try {
      const read = readUpdate(update, owners === undefined)
      if (owners) this.foldedBytes = read.bytes
      const addition = this.#additionOf(read, id)
      this.#add(addition, owners ? null : ownerOf(from))
      // A base was read when it was made.
      this.cost.add(null, owners ? 0 : addition.steps, addition.items)
    } catch (error) {
      // Such messages are in no document.
      if (!(error instanceof BadUpdate || error instanceof Refusal)) throw error
    }
  }

  follow(message: Message<'update'>): void {
    this.newestSeq = message.seq
    if (!this.underWay.has(message.id)) this.take(message)
  }

  /** An update with one new client makes the sender its owner. */
  #add({ clients, names, leftOf, used }: Addition, owner: string | null): void {
    // Nothing can be undone.
    if (this.underWay.size === 0 && this.failed.length === 0) this.#usedBy.clear()
    this.#additions += 1
    for (const client of used) this.#usedBy.set(client, this.#additions)
    for (const [client, clock] of leftOf) this.#leftOf.set(client, clock)
    for (const [client, next] of clients) {
      this.#next.set(client, next)
      if (owner !== null && clients.size === 1) this.#owners.set(client, owner)
    }
    for (const [client, clocks] of names) {
      const known = this.#names.getOrInsertComputed(client, () => [])
      for (const clock of clocks) known.push(clock)
    }
  }
}

function setOrDelete<Value>(map: Map<number, Value>, key: number, value: Value | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

/** Whether one of the ascending numbers is at least `first` and below `end`. */
function hasBetween(ascending: readonly number[], first: number, end: number): boolean {
  let [from, to] = [0, ascending.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((ascending[middle] ?? 0) < first) from = middle + 1
    else to = middle
  }
  return (ascending[from] ?? end) < end
}

/** What an addition is checked against. */
interface Known {
  readonly next: ReadonlyMap<number, number>
  readonly names: ReadonlyMap<number, readonly number[]>
  readonly leftOf: ReadonlyMap<number, number>
  /** At most. */
  readonly items: number
}

interface Need {
  readonly client: number
  /** The next clock that is needed. */
  readonly until: number
}

/** The new structs of an update, put in order as Yjs does. Throws a `Refusal` for what can never be put in order. */
class Addition {
  /** The next clock of each client that gets new structs. */
  readonly clients = new Map<number, number>()
  /** Clocks of new entries in "authors". */
  readonly names = new Map<number, number[]>()
  /** The clients that it writes under and builds on. */
  readonly used = new Set<number>()
  readonly leftOf = new Map<number, number>()
  hasContent = false
  /** Items at which Yjs looks at most, to find the places of these. */
  steps = 0
  /** At most: each struct may cut two that are there, and each range. */
  items = 0
  readonly #known: Known
  readonly #id: string

  constructor({ structs, deletions }: Update, known: Known, id: string) {
    this.#known = known
    this.#id = id
    const queues = new Map(structs.entries().map(([client, queue]) => [client, { queue, place: 0 }]))
    for (const client of structs.keys()) this.#run(client, queues)
    for (const client of [...structs.keys(), ...deletions.keys()]) this.used.add(client)
    for (const [client, ranges] of deletions) {
      for (const { clock, len } of ranges)
        if (clock + len > this.#next(client)) this.#refuseGap(client, clock)
      this.items += 2 * ranges.length
      this.steps += (ranges.length * (known.items + this.items)) / cutsOfStep
    }
  }

  /** Adds a client's structs, each after what it needs. */
  #run(
    first: number,
    queues: ReadonlyMap<number, { readonly queue: readonly Struct[]; place: number }>,
  ): void {
    const waiting: Need[] = [{ client: first, until: Number.POSITIVE_INFINITY }]
    const clientsWaiting = new Set([first])
    for (let top = waiting.at(-1); top; top = waiting.at(-1)) {
      const { client, until } = top
      const all = queues.get(client)
      const struct = all?.queue[all.place]
      const isMet = this.#next(client) >= until
      if (isMet || !all || !struct) {
        if (!isMet && until !== Number.POSITIVE_INFINITY) this.#refuseGap(client, until - 1)
        waiting.pop()
        clientsWaiting.delete(client)
        continue
      }
      const need = this.#needOf(client, struct)
      if (need) {
        if (clientsWaiting.has(need.client)) this.#refuseGap(need.client, need.until - 1)
        waiting.push(need)
        clientsWaiting.add(need.client)
      } else {
        this.#addStruct(client, struct)
        all.place += 1
      }
    }
  }

  #next(client: number): number {
    return this.clients.get(client) ?? this.#known.next.get(client) ?? 0
  }

  /** What must come before the struct and has not. */
  #needOf(client: number, { clock, left, right, content }: Struct): Need | null {
    if (content === 'skip') return null
    if (clock > this.#next(client)) this.#refuseGap(client, clock - 1)
    for (const neighbour of [left, right]) {
      if (neighbour) this.used.add(neighbour.client)
      if (neighbour && neighbour.clock >= this.#next(neighbour.client))
        return { client: neighbour.client, until: neighbour.clock + 1 }
    }
    return null
  }

  #addStruct(client: number, struct: Struct): void {
    const { clock, len, content } = struct
    if (content === 'skip' || clock + len <= this.#next(client)) return
    this.#checkRoot(client, struct)
    this.#count(struct)
    this.clients.set(client, clock + len)
    if (content !== 'blank') this.hasContent = true
  }

  /**
   * Yjs looks from the left neighbour on at items which have it, or one of those that it has looked at, for their own left
   * neighbour. Nothing has if it is its client's newest, and this is the first to stand there: that is how people type.
   */
  #count({ left, right }: Struct): void {
    const isNewest = left !== null && left.clock === this.#next(left.client) - 1
    const isFirst =
      isNewest && (this.leftOf.get(left.client) ?? this.#known.leftOf.get(left.client)) !== left.clock
    const items = this.#known.items + this.items
    this.steps += isFirst ? 1 + (right ? items / cutsOfStep : 0) : items
    this.items += 3
    if (isNewest) this.leftOf.set(left.client, left.clock)
  }

  #checkRoot(client: number, { clock, left, right, root, content }: Struct): void {
    const roots = new Set<Root>(root ? [root] : [])
    for (const neighbour of [left, right]) {
      if (!neighbour) continue
      const isName = this.#isName(neighbour)
      roots.add(isName ? 'authors' : 'text')
      if (isName && neighbour.client !== client)
        throw badUpdate(`client ${client} writes to the entry of client ${neighbour.client}`, this.#id)
    }
    const isInAuthors = roots.has('authors')
    const isRight = content === 'blank' || isInAuthors === (content === 'name')
    if (roots.size > 1 || !isRight) {
      throw badUpdate(`clock ${clock} of client ${client} does not belong where it stands`, this.#id)
    }
    if (isInAuthors) this.names.getOrInsertComputed(client, () => []).push(clock)
  }

  #isName({ client, clock }: Y.ID): boolean {
    const isIn = (names: ReadonlyMap<number, readonly number[]>) =>
      hasBetween(names.get(client) ?? [], clock, clock + 1)
    return isIn(this.#known.names) || isIn(this.names)
  }

  #refuseGap(client: number, clock: number): never {
    const sentence = `The update of "${this.#id}" builds on clock ${clock} of client ${client}, which the log lacks; send the earlier updates first.`
    throw new Refusal(409, 'update-gap', sentence, this.#id)
  }
}

/** At one level of detail less than Yjs: what it adds, in order for each Yjs client, and what it deletes. */
interface Update {
  readonly structs: ReadonlyMap<number, readonly Struct[]>
  readonly deletions: ReadonlyMap<number, readonly Range[]>
  readonly bytes: number
}

interface Range {
  readonly clock: number
  readonly len: number
}

/** Positions from `clock` on, `len` of them. */
interface Struct extends Range {
  /** `skip` adds nothing; `blank` is content that was deleted before it came. */
  readonly content: 'skip' | 'blank' | 'text' | 'name'
  /** What it stands between. */
  readonly left: Y.ID | null
  readonly right: Y.ID | null
  /** Null if it has neighbours, which decide. */
  readonly root: Root | null
}

type Root = 'text' | 'authors'

/** One sentence without its end, to follow "The update does not fit:". */
class BadUpdate extends Error {
  override readonly name = 'BadUpdate'
}

/** To cut one item in a list costs less than to look at all of them. */
const cutsOfStep = 100

const most = { structs: 200_000, ranges: 200_000, clock: 2 ** 31, nameLength: 40, names: 1000 }

/** Of structs in an update (Yjs, version 1). */
const contentNumbers = { gone: 0, deleted: 1, string: 4, format: 6, any: 8, skip: 10 }
const knownNumbers: ReadonlySet<number> = new Set(Object.values(contentNumbers))

/** Refuses before Yjs makes an object of what it reads, and knows where the reading ended. */
class StrictDecoder extends Y.UpdateDecoderV1 {
  static last: StrictDecoder | null = null
  static isBounded = true
  #structs = 0
  #ranges = 0

  constructor(decoder: ConstructorParameters<typeof Y.UpdateDecoderV1>[0]) {
    super(decoder)
    StrictDecoder.last = this
  }

  override readInfo(): number {
    const info = super.readInfo()
    this.#structs += 1
    if (StrictDecoder.isBounded && this.#structs > most.structs)
      throw new BadUpdate(`it has more than ${most.structs} structs`)
    const number = info & 0b11111
    if (!knownNumbers.has(number))
      throw new BadUpdate(`content of Yjs's type ${number} has no place in a text`)
    return info
  }

  override readDsLen(): number {
    this.#ranges += 1
    if (StrictDecoder.isBounded && this.#ranges > most.ranges)
      throw new BadUpdate(`it deletes more than ${most.ranges} ranges`)
    return super.readDsLen()
  }

  get isAtEnd(): boolean {
    return this.restDecoder.pos === this.restDecoder.arr.length
  }
}

/** Throws a `BadUpdate`. `isBounded` is false for a whole document from the log. */
function readUpdate(base64: string, isBounded = true): Update {
  const bytes = Buffer.from(base64, 'base64')
  StrictDecoder.isBounded = isBounded
  const { structs: all, ds } = decode(bytes)
  const structs = new Map<number, Struct[]>()
  for (const struct of all) {
    const known = structs.get(struct.id.client)
    if (known) known.push(readStruct(struct))
    else structs.set(struct.id.client, [readStruct(struct)])
  }
  for (const ranges of ds.clients.values()) for (const range of ranges) checkRange(range)
  return { structs, deletions: ds.clients, bytes: bytes.length }
}

function decode(bytes: Uint8Array) {
  let isWhole = false
  try {
    const decoded = Y.decodeUpdateV2(bytes, StrictDecoder)
    isWhole = StrictDecoder.last?.isAtEnd ?? false
    if (isWhole) return decoded
  } catch (error) {
    if (error instanceof BadUpdate) throw error
    throw new BadUpdate('it is no Yjs update of version 1', { cause: error })
  } finally {
    StrictDecoder.last = null
  }
  throw new BadUpdate('bytes follow its end')
}

function checkRange({ clock, len }: Range): void {
  if (len < 1) throw new BadUpdate(`a struct or range at clock ${clock} is empty`)
  if (clock + len > most.clock) throw new BadUpdate(`clock ${clock} and length ${len} exceed ${most.clock}`)
}

function readStruct(struct: Y.Item | Y.GC | Y.Skip): Struct {
  const { clock } = struct.id
  const range = { clock, len: struct.length }
  checkRange(range)
  if (!(struct instanceof Y.Item)) {
    const content = struct instanceof Y.Skip ? 'skip' : 'blank'
    return { ...range, content, left: null, right: null, root: 'text' }
  }
  const { origin: left, rightOrigin: right } = struct
  const content = readContent(struct)
  return { ...range, content, left, right, root: left || right ? null : rootOf(struct) }
}

/** The reader puts a root's name where an integrated struct has its parent. */
function rootOf({ parent, parentSub, id }: Y.Item): Root {
  const root: unknown = parent
  if (root === 'text' && parentSub === null) return 'text'
  if (root === 'authors' && parentSub === String(id.client)) return 'authors'
  if (root === 'authors') {
    const key = shorten(parentSub)
    throw new BadUpdate(`client ${id.client} writes ${key} in "authors", not the key of its own number`)
  }
  const found = typeof root === 'string' ? shorten(root) : 'another place'
  throw new BadUpdate(`it writes to ${found}; a document has the text "text" and the map "authors"`)
}

function readContent({ content, id }: Y.Item): Struct['content'] {
  if (content instanceof Y.ContentString) return 'text'
  if (content instanceof Y.ContentDeleted) return 'blank'
  if (content instanceof Y.ContentFormat) {
    const { key, value } = content
    // Null ends an attribute.
    if (value === null || isKnown(key, value)) return 'text'
    throw new BadUpdate(`the attribute ${shorten(key)} with value ${shorten(value)} is none of a document`)
  }
  const names: readonly unknown[] = content instanceof Y.ContentAny ? content.arr : []
  if (names.length === 1 && isAuthor(names[0])) return 'name'
  const rule = `{ name } of at most ${most.nameLength} characters`
  throw new BadUpdate(`an entry of "authors" by client ${id.client} is not ${rule}`)
}

function isAuthor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'name') return false
  const { name } = value as { readonly name: unknown }
  return typeof name === 'string' && name.length <= most.nameLength
}

const shorten = (value: unknown) => cutText(JSON.stringify(value), 80)
