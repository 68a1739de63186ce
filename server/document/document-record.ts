// What a channel's document contains, without its text, and what an update adds to it.

import * as Y from 'yjs'
import { cutText } from '../wire/graphemes.ts'
import { type Draft, fingerprintIn, type Message, type UpdateBody } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import { ReadingCost } from './reading-cost.ts'
import { isKnown } from './rich-text.ts'

/** A person's windows share a fingerprint. */
export const ownerOf = (sender: string) => fingerprintIn(sender) ?? sender

/** Throws a `Refusal` (400 `bad-update`). */
export function readDraft({ id, body }: Draft<'update'>): Update {
  const read = readUpdate(body.update)
  if ('bad' in read) throw badUpdate(read.bad, id)
  return read
}

export function badUpdate(reason: string, id: string): Refusal {
  const sentence = `Invalid update "${id}": ${reason}. PROTOCOL.md says what a document may contain.`
  return new Refusal('bad-update', sentence, id)
}

export function recordOf(messages: readonly Message<'update'>[]): DocumentRecord {
  const document = new DocumentRecord()
  for (const message of messages) document.take(message)
  return document
}

/** What an update changed in a record, and the values before, by client. */
export type Admission = ReturnType<DocumentRecord['admit']>

/** Interval between two measurements of a full document, which are costly. */
export const measureMs = 5000

export class DocumentRecord {
  /** The next clock of each Yjs client. */
  readonly #next = new Map<number, number>()
  readonly #owners = new Map<number, string>()
  /** Ascending clocks of entries in "authors". */
  readonly #names = new Map<number, number[]>()
  /** Admitted but not stored yet. */
  readonly underWay = new Set<string>()
  /** Admitted but refused by the log, in order. */
  failed: Admission[] = []
  #additions = 0
  /** By client, the last addition that wrote under it or built on it. */
  readonly #usedBy = new Map<number, number>()
  /** Per owner, the update that is waiting for a read. */
  readonly waiting = new Map<string, Promise<unknown>>()
  readonly cost = new ReadingCost()
  /** Per client, the newest clock that is some item's left neighbour. */
  readonly #leftOf = new Map<number, number>()
  newestSeq = 0
  foldedBytes = 0
  /** Number of the newest message in the fold. */
  foldedSeq = 0
  measuredAt = Number.NEGATIVE_INFINITY

  static from(plain: ReturnType<DocumentRecord['toPlain']>): DocumentRecord {
    const { next, owners, names, leftOf, ...rest } = plain
    const record = new DocumentRecord()
    for (const [client, clock] of next) record.#next.set(client, clock)
    for (const [client, owner] of owners) record.#owners.set(client, owner)
    for (const [client, clocks] of names) record.#names.set(client, clocks)
    for (const [client, clock] of leftOf) record.#leftOf.set(client, clock)
    record.foldedBytes = rest.foldedBytes
    record.newestSeq = rest.newestSeq
    record.cost.add(null, rest.steps, rest.items)
    return record
  }

  /** As plain data for another thread. */
  toPlain() {
    const { foldedBytes, newestSeq, cost } = this
    const maps = { next: this.#next, owners: this.#owners, names: this.#names, leftOf: this.#leftOf }
    return { ...maps, foldedBytes, newestSeq, steps: cost.unreadSteps, items: cost.items }
  }

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
      const sentence = `The document is full: it has ${size}. Delete something, create another document, or raise the limit.`
      throw new Refusal('document-full', sentence, id, measureMs)
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

  /** `addition` must have passed `check`. */
  admit(addition: Addition, owner: string) {
    const former = new Map(
      addition.used.keys().map((client) => {
        const before = { next: this.#next.get(client), owner: this.#owners.get(client) }
        return [client, { ...before, usedBy: this.#usedBy.get(client) }]
      }),
    )
    this.#add(addition, owner)
    return { number: this.#additions, addition, former }
  }

  /** Returns false if something else builds on what failed. */
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
      const sentence = `Client ${client} belongs to another sender: create your own Y.Doc, which gets a new client ID.`
      throw new Refusal('not-your-client', sentence, id)
    }
    for (let at = 0; at < deletions.length; at += rangeWidth) {
      const { client, clock, len } = rangeAt(deletions, at)
      const names = this.#names.get(client)
      if (names && isForeign(client) && hasBetween(names, clock, clock + len)) {
        const sentence = `The name of client ${client} belongs to another sender, and only that sender may change it.`
        throw new Refusal('not-your-client', sentence, id)
      }
    }
  }

  #checkNames({ names }: Addition, id: string): void {
    for (const [client, clocks] of names)
      if (clocks.length + (this.#names.get(client)?.length ?? 0) > most.names)
        throw badUpdate(`client ${client} has more than ${most.names} names`, id)
  }

  /** Adds a stored message. */
  take({ body: { update, owners }, from, id, seq }: Message<'update'>): void {
    this.newestSeq = seq
    for (const [owner, clients] of Object.entries(owners ?? {}))
      for (const client of clients) this.#owners.set(client, owner)
    const read = readUpdate(update, owners === undefined)
    // Such messages are in no document.
    if ('bad' in read) return
    try {
      if (owners) this.foldedBytes = read.bytes
      const addition = this.#additionOf(read, id)
      this.#add(addition, owners ? null : ownerOf(from))
      // A base was read when it was created.
      this.cost.add(null, owners ? 0 : addition.steps, addition.items)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  }

  follow(message: Message<'update'>): void {
    this.newestSeq = message.seq
    if (!this.underWay.has(message.id)) this.take(message)
  }

  /** An update with exactly one new client makes the sender that client's owner. */
  #add({ clients, names, leftOf, used }: Addition, owner: string | null): void {
    // Nothing is left to undo.
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
  /** Upper bound. */
  readonly items: number
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
  /** Clocks of new entries in "authors". */
  readonly names = new Map<number, number[]>()
  /** The clients under which it writes, and those it builds on. */
  readonly used = new Set<number>()
  readonly leftOf = new Map<number, number>()
  hasContent = false
  /** Upper bound of the items that Yjs scans to place these structs. */
  steps = 0
  /** Upper bound: each struct may split two existing items, and so may each range. */
  items = 0
  readonly #known: Known
  readonly #id: string

  constructor({ structs, deletions }: Update, known: Known, id: string) {
    this.#known = known
    this.#id = id
    const queues = new Map<number, Queue>()
    for (let at = 0; at < structs.length; at += structWidth) {
      const queue = queues.get(structs[at] ?? 0)
      if (queue) queue.end = at + structWidth
      else queues.set(structs[at] ?? 0, { at, end: at + structWidth })
    }
    for (const client of queues.keys()) {
      this.used.add(client)
      this.#run(client, structs, queues)
    }
    for (let at = 0; at < deletions.length; at += rangeWidth) {
      const { client, clock, len } = rangeAt(deletions, at)
      this.used.add(client)
      if (clock + len > this.#next(client)) this.#refuseGap(client, clock)
    }
    const ranges = deletions.length / rangeWidth
    this.items += 2 * ranges
    this.steps += (ranges * (known.items + this.items)) / cutsOfStep
  }

  /** Adds a client's structs, each after what it depends on. */
  #run(first: number, structs: Float64Array, queues: ReadonlyMap<number, Queue>): void {
    const waiting: Need[] = [{ client: first, until: Number.POSITIVE_INFINITY }]
    let clientsWaiting: Set<number> | null = null
    for (let top = waiting.at(-1); top; top = waiting.at(-1)) {
      const need = this.#advance(top, structs, queues.get(top.client))
      if (need) {
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

  /** Adds the client's structs up to `until`, or until one depends on another client's. */
  #advance({ client, until }: Need, structs: Float64Array, queue: Queue | undefined): Need | null {
    while (queue && queue.at < queue.end && this.#next(client) < until) {
      const struct = structAt(structs, queue.at)
      const need = this.#needOf(client, struct)
      if (need) return need
      this.#addStruct(client, struct)
      queue.at += structWidth
    }
    if (until !== Number.POSITIVE_INFINITY && this.#next(client) < until) this.#refuseGap(client, until - 1)
    return null
  }

  #next(client: number): number {
    return this.clients.get(client) ?? this.#known.next.get(client) ?? 0
  }

  /** What must come before the struct but has not yet. */
  #needOf(client: number, { clock, left, right, content }: Struct): Need | null {
    if (content === 'skip') return null
    if (clock > this.#next(client)) this.#refuseGap(client, clock - 1)
    return this.#needFor(left) ?? this.#needFor(right)
  }

  #needFor(neighbour: Y.ID | null): Need | null {
    if (neighbour === null) return null
    this.used.add(neighbour.client)
    if (neighbour.clock < this.#next(neighbour.client)) return null
    return { client: neighbour.client, until: neighbour.clock + 1 }
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
   * To place an item, Yjs scans on from its left neighbour, past items whose own left neighbour is
   * that one or one already scanned. There are none when the left neighbour is its client's newest
   * and this is the first item after it, as in ordinary typing.
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
    const [leftRoot, rightRoot] = [this.#rootFor(client, left), this.#rootFor(client, right)]
    const found = leftRoot ?? rightRoot ?? root
    const isInAuthors = found === 'authors'
    const isOne = (rightRoot ?? found) === found && (root ?? found) === found
    const isRight = content === 'blank' || isInAuthors === (content === 'name')
    if (!isOne || !isRight) {
      throw badUpdate(`the item at clock ${clock} of client ${client} is in the wrong root type`, this.#id)
    }
    if (isInAuthors) this.names.getOrInsertComputed(client, () => []).push(clock)
  }

  #rootFor(client: number, neighbour: Y.ID | null): Root | null {
    if (neighbour === null) return null
    if (!this.#isName(neighbour)) return 'text'
    if (neighbour.client === client) return 'authors'
    throw badUpdate(`client ${client} writes to the entry of client ${neighbour.client}`, this.#id)
  }

  #isName({ client, clock }: Y.ID): boolean {
    const [known, added] = [this.#known.names.get(client), this.names.get(client)]
    const isIn = (names: readonly number[] | undefined) =>
      names !== undefined && hasBetween(names, clock, clock + 1)
    return isIn(known) || isIn(added)
  }

  #refuseGap(client: number, clock: number): never {
    const sentence = `The update "${this.#id}" builds on clock ${clock} of client ${client}, which the log lacks; send the earlier updates first.`
    throw new Refusal('update-gap', sentence, this.#id)
  }
}

/**
 * A Yjs update in less detail: what it adds, in order for each Yjs client, and what it deletes.
 * Uses rows of numbers, which can be transferred to another thread at once.
 */
export interface Update {
  /**
   * Rows of `structWidth`: client, clock, length, content, left and right neighbour with client and
   * clock, root; -1 for none.
   */
  readonly structs: Float64Array
  /** Rows of `rangeWidth`: client, clock, length. */
  readonly deletions: Float64Array
  readonly bytes: number
}

const structWidth = 9
const rangeWidth = 3
const contents = ['skip', 'blank', 'text', 'name'] as const
const roots = ['text', 'authors'] as const

/** One client's adjacent rows: the position of the next, and their end. */
interface Queue {
  at: number
  end: number
}

function structAt(rows: Float64Array, at: number): Struct {
  return {
    clock: rows[at + 1] ?? 0,
    len: rows[at + 2] ?? 0,
    content: contents[rows[at + 3] ?? 0] ?? 'skip',
    left: idAt(rows, at + 4),
    right: idAt(rows, at + 6),
    root: roots[rows[at + 8] ?? -1] ?? null,
  }
}

const rangeAt = (rows: Float64Array, at: number) => ({
  client: rows[at] ?? 0,
  clock: rows[at + 1] ?? 0,
  len: rows[at + 2] ?? 0,
})

function idAt(rows: Float64Array, at: number): Y.ID | null {
  const client = rows[at] ?? -1
  return client < 0 ? null : { client, clock: rows[at + 1] ?? 0 }
}

function rowOf(own: number, { clock, len, content, left, right, root }: Struct): number[] {
  const ids = [left?.client ?? -1, left?.clock ?? -1, right?.client ?? -1, right?.clock ?? -1]
  return [own, clock, len, contents.indexOf(content), ...ids, root === null ? -1 : roots.indexOf(root)]
}

interface Range {
  readonly clock: number
  readonly len: number
}

/** The positions from `clock` on, `len` of them. */
interface Struct extends Range {
  /** `skip` adds nothing; `blank` is content that was deleted before it was sent. */
  readonly content: (typeof contents)[number]
  /** The neighbours between which it was inserted. */
  readonly left: Y.ID | null
  readonly right: Y.ID | null
  /** Null if it has neighbours, which determine the root. */
  readonly root: Root | null
}

type Root = (typeof roots)[number]

/** Its message is a clause that follows "Invalid update:". */
class BadUpdate extends Error {
  override readonly name = 'BadUpdate'
}

/** Splitting one item in a list costs less than scanning them all. */
const cutsOfStep = 100

const most = { structs: 200_000, ranges: 200_000, clock: 2 ** 31, nameLength: 40, names: 1000 }

/** Content types of structs in an update (Yjs, version 1). */
const contentNumbers = { gone: 0, deleted: 1, string: 4, format: 6, any: 8, skip: 10 }
const knownNumbers: ReadonlySet<number> = new Set(Object.values(contentNumbers))

/** Rejects content before Yjs creates an object for it, and knows where the reading ended. */
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
      throw new BadUpdate(`Yjs content type ${number} is not allowed in the text`)
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

/** `bad` is a clause. `isBounded` is false for a whole document from the log. */
export function readUpdate(base64: string, isBounded = true): Update | { readonly bad: string } {
  try {
    return read(base64, isBounded)
  } catch (error) {
    if (error instanceof BadUpdate) return { bad: error.message }
    throw error
  }
}

function read(base64: string, isBounded: boolean): Update {
  const bytes = Buffer.from(base64, 'base64')
  StrictDecoder.isBounded = isBounded
  const { structs: all, ds } = decode(bytes)
  // A client may occur twice.
  const byClient = new Map<number, number[]>()
  for (const struct of all) {
    const rows = byClient.getOrInsertComputed(struct.id.client, () => [])
    for (const number of rowOf(struct.id.client, readStruct(struct))) rows.push(number)
  }
  const deletions: number[] = []
  for (const [client, ranges] of ds.clients) {
    for (const range of ranges) {
      checkRange(range)
      deletions.push(client, range.clock, range.len)
    }
  }
  const structs = byClient.values().toArray().flat()
  return {
    structs: Float64Array.from(structs),
    deletions: Float64Array.from(deletions),
    bytes: bytes.length,
  }
}

function decode(bytes: Uint8Array) {
  let isWhole = false
  try {
    const decoded = Y.decodeUpdateV2(bytes, StrictDecoder)
    isWhole = StrictDecoder.last?.isAtEnd ?? false
    if (isWhole) return decoded
  } catch (error) {
    if (error instanceof BadUpdate) throw error
    throw new BadUpdate('it is not a Yjs update of version 1', { cause: error })
  } finally {
    StrictDecoder.last = null
  }
  throw new BadUpdate('there are bytes after its end')
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

/** In a decoded struct, `parent` is a root's name; in an integrated one, its type. */
function rootOf({ parent, parentSub, id }: Y.Item): Root {
  const root: unknown = parent
  if (root === 'text' && parentSub === null) return 'text'
  if (root === 'authors' && parentSub === String(id.client)) return 'authors'
  if (root === 'authors') {
    const key = shorten(parentSub)
    throw new BadUpdate(`client ${id.client} writes ${key} in "authors", which is not its own number`)
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
    throw new BadUpdate(`attribute ${shorten(key)} with value ${shorten(value)} is not allowed in a document`)
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
