// Admission of updates: knows what a document contains and who wrote it, but not its text.

import type { Log } from '../log/log.ts'
import { type Draft, isKind, type Message, type UpdateBody } from '../wire/messages.ts'
import { isRefusal, Refusal } from '../wire/refusal.ts'
import type { Clock } from '../wire/time.ts'
import { upsert } from '../wire/upsert.ts'
import {
  type Addition,
  type Admission,
  badUpdate,
  DocumentRecord,
  inOneTurn,
  inTurns,
  measureMs,
  ownerOf,
  readDraft,
  recordOf,
  writerOf,
} from './document-record.ts'
import type { Input, Output, TaskName } from './document-tasks.ts'
import { type Documents, isTooCostly, TooCostly } from './document-worker.ts'
import { isQuick, msOf } from './reading-cost.ts'
import type { Schema, Update } from './update-reader.ts'

interface LedgerParts {
  /** That of the tasks of both threads. */
  readonly schema: Schema
  /** Whether a Yjs client of the channel belongs to whoever wrote under it first. Default: always. */
  readonly hasOwners?: (channel: string) => boolean
  readonly documents: Documents
  /**
   * Reads updates that may cost too much, in a thread of their own so that they do not delay
   * documents.
   */
  readonly trials: Pick<Documents, 'for'>
  /** Limit of one folded document; beyond it only deletions are admitted. */
  readonly documentBytes: number
  /**
   * Processor time to read one document. Admitted updates may use two thirds: one measured, one
   * estimated.
   */
  readonly documentSeconds: number
  readonly now: Clock
  readonly onFailure: (error: unknown) => void
}

/** Number of channels kept in memory; the least recently used is read from the log again. */
const mostDocuments = 256

/** Longer updates (in base64) are read in a thread. */
const mostReadHere = 65_536

/**
 * A third of a second in ms; the remaining third is headroom for exports, which take longer than
 * joining, and for a busy machine.
 */
const msOfThird = 1000 / 3

const always = () => true

/** Interval between two reads of a document that costs too much. */
const costlyMs = 60_000

/** Refuses updates that are invalid for the documents in the log; joins valid ones. */
export class Ledger {
  readonly #parts: LedgerParts
  /** Least recently used first. */
  readonly #documents = new Map<string, DocumentRecord>()
  readonly #loading = new Map<string, Promise<DocumentRecord>>()

  constructor(parts: LedgerParts) {
    this.#parts = parts
  }

  /**
   * Returns the log with an `append` that rejects invalid updates with a `Refusal`: 400
   * `bad-update`, 409 `update-gap`, 403 `not-your-client`, 413 `document-full`, 422 `too-costly`.
   */
  guard(log: Log): Log {
    log.follow((message) => {
      if (isKind(message, 'erasure')) this.#documents.delete(message.channel)
      if (!isKind(message, 'update')) return
      const { channel, id, body } = message
      const document = this.#documents.get(channel)
      // A large one is read again later, in the thread.
      if (body.update.length > mostReadHere && !document?.underWay.has(id)) this.#documents.delete(channel)
      else document?.follow(message)
    })
    const append: Log['append'] = (draft, acceptedAt) =>
      isUpdate(draft) ? this.#append(log, draft, acceptedAt) : log.append(draft, acceptedAt)
    return { ...log, append }
  }

  /**
   * Joins updates into one with the same content, without deleted content. Skips updates that Yjs
   * cannot read.
   */
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
    const owners = (known ?? (await this.#recordOf(messages, ''))).owners()
    return { update, owners }
  }

  /** For a document in quarantine, keeps deleted content. */
  async #join(messages: readonly Message<'update'>[]): Promise<Output<'join'> | Output<'merge'>> {
    const { documents, onFailure } = this.#parts
    const updates = messages.map(({ body }) => body.update)
    const joined = await documents.read(messages[0]?.channel ?? '', 'join', updates).catch((error) => {
      if (isTooCostly(error)) return documents.run('merge', updates)
      throw error
    })
    for (const place of joined.unread)
      onFailure(
        new Error(`Message ${messages[place]?.seq} of the log is not a valid update and was left out.`),
      )
    return joined
  }

  #append(
    log: Log,
    draft: Draft<'update'>,
    acceptedAt: number,
    { isTried = false, compared = nothingCompared, update = null, addition = null }: Preparation = {},
  ): number | Promise<number> {
    const { channel, id, from, body } = draft
    try {
      const isLarge = body.update.length > mostReadHere
      const read = update ?? (isLarge ? null : readDraft(draft, this.#parts.schema))
      const again = (more: Preparation = {}) =>
        this.#append(log, draft, acceptedAt, { isTried, compared, update: read, addition, ...more })
      const known = this.#documents.get(channel)
      if (!known) return this.#load(log, channel, id).then(() => again())
      // It may build on an update that is waiting.
      const former = known.waiting.get(ownerOf(from))
      if (former) return former.then(() => again())
      if (read === null) return waitFor(known, from, this.#prepare(known, draft), again)
      this.#documents.delete(channel)
      this.#documents.set(channel, known)
      const ordered = addition && known.holds(addition) ? addition : inOneTurn(known.order(read, id))
      const { from: upTo } = ordered
      const repeated = known
        .repeatedBy(ordered, writerOf(draft))
        .filter((client) => compared.get(client) !== upTo.get(client))
      if (repeated.length > 0)
        return waitFor(known, from, this.#compare(log, known, draft, repeated), () =>
          again({ compared: upTo }),
        )
      return this.#admit(log, known, ordered, draft, isTried, acceptedAt, again)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #admit(
    log: Log,
    document: DocumentRecord,
    addition: Addition,
    draft: Draft<'update'>,
    isTried: boolean,
    acceptedAt: number,
    again: (more: Preparation) => number | Promise<number>,
  ): number | Promise<number> {
    const { channel, id, from } = draft
    const { documentBytes, documentSeconds, now, hasOwners = always } = this.#parts
    const writer = writerOf(draft)
    const { cost } = document
    try {
      document.check(addition, hasOwners(channel) ? writer : null, id, documentBytes)
    } catch (error) {
      if (document.isFull(documentBytes)) void this.#measure(log, channel, document)
      throw error
    }
    const mostMs = documentSeconds * msOfThird
    const ms = msOf(cost.unreadSteps + (isTried ? 0 : addition.steps))
    if (ms > mostMs) {
      if (now() < cost.nextReadingAt) throw this.#tooCostly(id)
      return waitFor(document, from, this.#try(log, document, draft), () => again({ isTried: true }))
    }
    if (ms > mostMs / 2) void this.#readAhead(log, channel, document)
    const admission = document.admit(addition, writer)
    document.underWay.add(id)
    cost.add(id, isTried ? 0 : addition.steps, addition.items)
    const stored = log.append(draft, acceptedAt)
    if (typeof stored === 'number') {
      document.settle(id)
      return stored
    }
    const settled = stored
      .catch((error) => {
        // The record now has something that the log lacks. Only for a taken id is it certain that
        // nothing was stored.
        if (isRefusal(error, 'id-taken')) this.#undo(channel, document, admission)
        else this.#forget(channel, document)
        throw error
      })
      .then((seq) => this.#mustStand(log, document, addition, draft).then(() => seq))
      .finally(() => document.settle(id))
    document.storing = Promise.allSettled([document.storing, stored])
    return settled
  }

  /** Rejects as `#compare` does if another server has stored something else before it. */
  async #mustStand(
    log: Log,
    document: DocumentRecord,
    addition: Addition,
    draft: Draft<'update'>,
  ): Promise<void> {
    const isFollowed = this.#documents.get(draft.channel) === document
    const clients = isFollowed ? document.overtakenBy(addition) : [...addition.from.keys()]
    if (clients.length > 0) await this.#compare(log, document, draft, clients)
  }

  /** Undoes it together with others that failed in this turn and may build on it. */
  #undo(channel: string, document: DocumentRecord, admission: Admission): void {
    document.failed.push(admission)
    if (document.failed.length > 1) return
    queueMicrotask(() => {
      if (!document.undoFailed()) this.#forget(channel, document)
    })
  }

  /** Makes the next update read the document from the log again. */
  #forget(channel: string, document: DocumentRecord): void {
    if (this.#documents.get(channel) === document) this.#documents.delete(channel)
  }

  #load(log: Log, channel: string, id: string): Promise<DocumentRecord> {
    return upsert(this.#loading, channel, () =>
      this.#read(log, channel, id).finally(() => this.#loading.delete(channel)),
    )
  }

  async #read(log: Log, channel: string, id: string): Promise<DocumentRecord> {
    for (;;) {
      const { updates, head } = await updatesIn(log, channel)
      const document = await this.#recordOf(updates, id)
      // More was stored meanwhile.
      if ((log.heads().get(channel) ?? 0) > head.seq) continue
      this.#documents.set(channel, document)
      for (const [idle, { underWay, waiting }] of this.#documents) {
        if (this.#documents.size <= mostDocuments) break
        if (underWay.size === 0 && waiting.size === 0 && idle !== channel) this.#documents.delete(idle)
      }
      return document
    }
  }

  async #recordOf(messages: readonly Message<'update'>[], id: string): Promise<DocumentRecord> {
    const size = messages.reduce((sum, { body }) => sum + body.update.length, 0)
    const { schema, documents } = this.#parts
    if (size <= mostReadHere) return recordOf(messages, schema)
    return new DocumentRecord(schema, await this.#run(documents, id, 'recordOf', messages))
  }

  /** Reads a large update in a thread, and orders it in several turns of the event loop. */
  async #prepare(document: DocumentRecord, { id, from, body }: Draft<'update'>): Promise<Preparation> {
    const update = await this.#run(this.#parts.trials.for(ownerOf(from)), id, 'readUpdate', body.update)
    if ('bad' in update) throw badUpdate(update.bad, id)
    return { update, addition: await inTurns(document.order(update, id)) }
  }

  /** Rejects with a `Refusal` that names the draft. */
  async #run<Name extends TaskName>(
    thread: Pick<Documents, 'run'>,
    id: string,
    name: Name,
    ...input: Input<Name>
  ): Promise<Output<Name>> {
    try {
      return await thread.run(name, ...input)
    } catch (error) {
      if (error instanceof TooCostly) throw this.#tooCostly(id)
      throw error instanceof Refusal ? error.about(id) : error
    }
  }

  /**
   * Yjs ignores what it has already under the same client and clock: a sender whose own words it
   * ignores must learn of it. Rejects with a `Refusal` (403 `not-your-client`) if what is stored
   * differs.
   */
  async #compare(
    log: Log,
    document: DocumentRecord,
    { channel, id, from, body }: Draft<'update'>,
    clients: readonly number[],
  ): Promise<void> {
    const compared = document.comparing.then(async () => {
      await document.storing
      const { texts } = await updatesIn(log, channel)
      const thread = this.#parts.trials.for(ownerOf(from))
      return this.#run(thread, id, 'contradiction', texts, body.update, clients)
    })
    document.comparing = compared.catch(() => undefined)
    const found = await compared
    if (!found) return
    const sentence = `Another sender has already written under client ${found.client} at clock ${found.clock}, and not the same: create your own Y.Doc, which gets a new client ID.`
    throw new Refusal('not-your-client', sentence, id)
  }

  /** Reads the document with the update. Rejects with a `Refusal` (422 `too-costly`). */
  async #try(
    log: Log,
    { cost }: DocumentRecord,
    { channel, id, from, body }: Draft<'update'>,
  ): Promise<void> {
    const { trials, now } = this.#parts
    const mark = cost.mark()
    const { texts } = await updatesIn(log, channel)
    const own = trials.for(ownerOf(from))
    const read = await this.#run(own, id, 'costOf', [...texts, body.update]).catch((error) => {
      if (isTooCostly(error)) return null
      throw error
    })
    if (read && isQuick(read, this.#parts.documentSeconds)) {
      cost.wasRead(mark, read.items)
      return
    }
    cost.nextReadingAt = now() + costlyMs
    throw this.#tooCostly(id)
  }

  /** Reads what was admitted, before an update has to wait for that. */
  async #readAhead(log: Log, channel: string, { cost }: DocumentRecord): Promise<void> {
    const { documents, documentSeconds, now, onFailure } = this.#parts
    if (cost.isBeingRead || now() < cost.nextReadingAt) return
    cost.isBeingRead = true
    try {
      const mark = cost.mark()
      const { texts } = await updatesIn(log, channel)
      const read = await documents.read(channel, 'costOf', texts)
      if (isQuick(read, documentSeconds)) cost.wasRead(mark, read.items)
      else cost.nextReadingAt = now() + costlyMs
    } catch (error) {
      if (isTooCostly(error)) cost.nextReadingAt = now() + costlyMs
      else onFailure(error)
    } finally {
      cost.isBeingRead = false
    }
  }

  #tooCostly(id: string): Refusal {
    const most = `a third of ${this.#parts.documentSeconds} s of processor time (limits.documentSeconds)`
    const sentence = `Update "${id}" would make this document too slow to read: it would take ten times as long as others of its size, or over ${most}. Send less, or create another document.`
    return new Refusal('too-costly', sentence, id)
  }

  /** Checks whether a full document has shrunk. */
  async #measure(log: Log, channel: string, document: DocumentRecord): Promise<void> {
    const { now, onFailure } = this.#parts
    if (now() - document.measuredAt < measureMs) return
    document.measuredAt = now()
    try {
      const { updates } = await updatesIn(log, channel)
      document.foldedBytes = (await this.#join(updates)).bytes
    } catch (error) {
      onFailure(error)
    }
  }
}

const nothingCompared: ReadonlyMap<number, number> = new Map()

/** What is known about a draft that had to wait. */
interface Preparation {
  readonly update?: Update | null
  readonly addition?: Addition | null
  readonly isTried?: boolean
  /** The clients whose content was compared up to these clocks. */
  readonly compared?: ReadonlyMap<number, number>
}

/** Makes the sender's later updates of the document wait as well. */
function waitFor<Made>(
  { waiting }: DocumentRecord,
  from: string,
  work: Promise<Made>,
  append: (made: Made) => number | Promise<number>,
): Promise<number> {
  const owner = ownerOf(from)
  const stored = work.finally(() => waiting.delete(owner)).then(append)
  waiting.set(
    owner,
    stored.catch(() => undefined),
  )
  return stored
}

/** The updates of one channel; `texts` are in base64. */
async function updatesIn(log: Log, channel: string) {
  const { messages, head } = await log.snapshot(new Set([channel]))
  const updates = messages.filter((message) => isKind(message, 'update'))
  return { updates, texts: updates.map(({ body }) => body.update), head }
}

function isUpdate(draft: Draft): draft is Draft<'update'> {
  return draft.kind === 'update'
}
