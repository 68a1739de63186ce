// A document's gate: its updates pass in order, if they are valid for what the log has.

import { type Draft, isKind, type Message } from '../../protocol/messages.ts'
import { isRefusal, Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import type { Store } from '../channels/channel-type.ts'
import type { Log } from '../log/log.ts'
import {
  type Addition,
  type Admission,
  badUpdate,
  DocumentRecord,
  inOneTurn,
  inTurns,
  ownerOf,
  readDraft,
  recordOf,
  writerOf,
} from './document-record.ts'
import { type Documents, isTooCostly, TooCostly } from './document-worker.ts'
import { isQuick, msOf } from './reading-cost.ts'
import type { Schema, Update } from './update-reader.ts'
import type { UpdateTasks } from './update-tasks.ts'

export interface GateRules {
  /** The schema of both threads' tasks. */
  readonly schema: Schema
  /** Whether a Yjs client of the channel belongs to whoever wrote under it first. Default: always. */
  readonly hasOwners?: ((channel: string) => boolean) | undefined
  readonly documents: Documents<UpdateTasks>
  /**
   * Reads updates that may cost too much, in a thread of their own so that they do not delay
   * documents.
   */
  readonly trials: Pick<Documents<UpdateTasks>, 'for'>
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

/** Longer updates (in base64) are read in a thread. */
const maxReadHere = 65_536

/**
 * A third of a second in ms; the remaining third is headroom for exports, which take longer than
 * joining, and for a busy machine.
 */
const msOfThird = 1000 / 3

/** Interval between two reads of a document that costs too much. */
const costlyMs = 60_000

export class DocumentGate {
  readonly #channel: string
  readonly #log: Pick<Log, 'snapshot' | 'heads'>
  readonly #rules: GateRules
  /** Null until the document is read from the log. */
  #record: DocumentRecord | null = null
  #loading: Promise<void> | null = null
  /** By owner, the end of the queue: settled once its last update was admitted or refused. */
  readonly #queues = new Map<string, Promise<void>>()
  /** Appends that the log has not answered yet. */
  readonly #storing = new Set<Promise<number>>()
  /** The comparison in progress: one runs at a time. */
  #comparing: Promise<unknown> = Promise.resolve()

  constructor(channel: string, log: Pick<Log, 'snapshot' | 'heads'>, rules: GateRules) {
    this.#channel = channel
    this.#log = log
    this.#rules = rules
  }

  /** Null if it must be read from the log. */
  get record(): DocumentRecord | null {
    return this.#record
  }

  get isIdle(): boolean {
    return this.#loading === null && this.#queues.size === 0 && !this.#record?.isBusy
  }

  /** Never throws; rejects as `Ledger` says. Most updates wait for nothing: they are stored within the call. */
  pass(draft: Draft<'update'>, acceptedAt: number, store: Store): number | Promise<number> {
    const { schema } = this.#rules
    try {
      const passage: Passage = {
        draft,
        owner: ownerOf(draft.from),
        writer: writerOf(draft),
        update: draft.body.update.length > maxReadHere ? null : readDraft(draft, schema),
        addition: null,
        compared: nothingCompared,
        isTried: false,
        turn: null,
        store: () => store(draft, acceptedAt),
      }
      const next = this.#admit(passage)
      return next instanceof Promise ? this.#passAfter(next, passage) : this.#store(passage, next)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Stores what is not checked, behind the updates of its sender that wait. */
  passUnchecked(draft: Draft, acceptedAt: number, store: Store): number | Promise<number> {
    const owner = ownerOf(draft.from)
    if (!this.#queues.has(owner)) return store(draft, acceptedAt)
    const turn = this.#enqueue(owner)
    return turn.begins.then(() => {
      try {
        return store(draft, acceptedAt)
      } finally {
        turn.end()
      }
    })
  }

  async #passAfter(first: Promise<unknown>, passage: Passage): Promise<number> {
    try {
      let next: Promise<unknown> | Admitted = first
      while (next instanceof Promise) {
        await next
        next = this.#admit(passage)
      }
      return await this.#store(passage, next)
    } finally {
      passage.turn?.end()
    }
  }

  /** Takes a stored message. */
  follow(message: Message<'update'>): void {
    const isOwn = this.#record?.isPending(message.id)
    // A large one is read again later, in the thread.
    if (message.body.update.length > maxReadHere && !isOwn) this.#record = null
    else this.#record?.follow(message)
  }

  /** The next update reads the document from the log again. */
  forget(): void {
    this.#record = null
  }

  /**
   * An update's path to the log. Returns what it must wait for; then it is called again, since the
   * document may have changed meanwhile. Throws a `Refusal`.
   */
  #admit(passage: Passage): Promise<unknown> | Admitted {
    const { draft, owner, writer } = passage
    const record = this.#record
    // Meanwhile the sender's later messages wait behind it.
    if (!record) return Promise.all([this.#load(draft.id), this.#inTurn(passage).begins])
    // It may build on a waiting update of the same sender.
    if (!passage.turn && this.#queues.has(owner)) return this.#inTurn(passage).begins
    if (!passage.update) return this.#prepare(record, passage)
    const addition = orderedIn(record, passage, passage.update)
    const clients = unproven(record.repeatedBy(addition, writer), addition, passage.compared)
    if (clients.length > 0) return this.#prove(passage, addition, clients)
    this.#check(record, addition, writer)
    const steps: number = passage.isTried ? 0 : addition.steps
    if (this.#mustBeTried(record, steps)) return this.#try(record, passage)
    return { record, addition, admission: record.admit(addition, writer, steps) }
  }

  #store({ draft, turn, store }: Passage, admitted: Admitted): number | Promise<number> {
    const stored = store()
    turn?.end()
    if (typeof stored !== 'number') return this.#answer(stored, draft, admitted)
    admitted.record.settle(draft.id)
    return stored
  }

  async #answer(stored: Promise<number>, draft: Draft<'update'>, admitted: Admitted): Promise<number> {
    const { record, addition } = admitted
    try {
      const seq = await this.#whenStored(stored, admitted)
      // Another server may have stored something before it.
      const overtaken = this.#record === record ? record.overtakenBy(addition) : [...addition.from.keys()]
      if (overtaken.length > 0) await this.#compare(draft, overtaken)
      return seq
    } finally {
      record.settle(draft.id)
    }
  }

  /** If the log refuses it, the record contains something that the log lacks. */
  async #whenStored(stored: Promise<number>, { record, admission }: Admitted): Promise<number> {
    this.#storing.add(stored)
    try {
      return await stored
    } catch (error) {
      // Only a taken id guarantees that nothing was stored.
      const isUndone = isRefusal(error, 'id-taken') && (await record.undo(admission))
      if (!isUndone && this.#record === record) this.#record = null
      throw error
    } finally {
      this.#storing.delete(stored)
    }
  }

  /** Makes the sender's later updates wait. */
  #inTurn(passage: Passage): Turn {
    passage.turn ??= this.#enqueue(passage.owner)
    return passage.turn
  }

  #enqueue(owner: string): Turn {
    const begins = this.#queues.get(owner) ?? atOnce
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#queues.set(owner, promise)
    return {
      begins,
      end: () => {
        if (this.#queues.get(owner) === promise) this.#queues.delete(owner)
        resolve()
      },
    }
  }

  async #load(id: string): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = null
    })
    await this.#about(id, this.#loading)
  }

  async #read(): Promise<void> {
    for (;;) {
      const { updates, head } = await this.#updates()
      const record = await readRecord(this.#rules, updates)
      // More was stored meanwhile.
      if ((this.#log.heads().get(this.#channel) ?? 0) > head.seq) continue
      this.#record = record
      return
    }
  }

  /** `texts` are in base64. */
  async #updates() {
    const { messages, head } = await this.#log.snapshot(new Set([this.#channel]))
    const updates = messages.filter((message) => isKind(message, 'update'))
    return { updates, texts: updates.map(({ body }) => body.update), head }
  }

  /** Reads a large update in a thread, and orders it in several turns of the event loop. */
  async #prepare(record: DocumentRecord, passage: Passage): Promise<void> {
    this.#inTurn(passage)
    const { id, from, body } = passage.draft
    const thread = this.#rules.trials.for(ownerOf(from))
    const update = await this.#about(id, thread.run('readUpdate', body.update))
    if ('bad' in update) throw badUpdate(update.bad, id)
    passage.update = update
    passage.addition = await inTurns(record.order(update, id))
  }

  async #prove(passage: Passage, addition: Addition, clients: readonly number[]): Promise<void> {
    this.#inTurn(passage)
    await this.#compare(passage.draft, clients)
    passage.compared = addition.from
  }

  /**
   * Yjs ignores content that it already has under the same client and clock, so a sender whose own
   * content it ignores must be told. Rejects with a `Refusal` (403 `not-your-client`) if the stored
   * content differs.
   */
  async #compare({ id, from, body }: Draft<'update'>, clients: readonly number[]): Promise<void> {
    const compared = this.#comparing.then(async () => {
      await Promise.allSettled(this.#storing)
      const { texts } = await this.#updates()
      const thread = this.#rules.trials.for(ownerOf(from))
      return this.#about(id, thread.run('contradiction', texts, body.update, clients))
    })
    this.#comparing = compared.catch(() => undefined)
    const found = await compared
    if (!found) return
    const sentence = `Another sender has already written under client ${found.client} at clock ${found.clock}, with other content: create your own Y.Doc, which gets a new client ID.`
    throw new Refusal('not-your-client', sentence, id)
  }

  /** Throws a `Refusal`. */
  #check(record: DocumentRecord, addition: Addition, writer: string): void {
    const { documentBytes, hasOwners } = this.#rules
    const isOwned = hasOwners?.(this.#channel) ?? true
    try {
      record.check(addition, isOwned ? writer : null, documentBytes)
    } catch (error) {
      if (record.isFull(documentBytes)) void this.#measure(record)
      throw error
    }
  }

  /** Whether the document must be read with the update first. */
  #mustBeTried(record: DocumentRecord, steps: number): boolean {
    const maxMs = this.#rules.documentSeconds * msOfThird
    const ms = msOf(record.cost.unreadSteps + steps)
    if (ms > maxMs) return true
    if (ms > maxMs / 2) void this.#readAhead(record)
    return false
  }

  /** Reads the document with the update. Rejects with a `Refusal` (422 `too-costly`). */
  async #try({ cost }: DocumentRecord, passage: Passage): Promise<void> {
    this.#inTurn(passage)
    const { id, from, body } = passage.draft
    const { trials, now, documentSeconds } = this.#rules
    if (cost.isBarred(now())) throw this.#tooCostly(id)
    const mark = cost.mark()
    const { texts } = await this.#updates()
    const thread = trials.for(ownerOf(from))
    const read = await this.#about(id, thread.run('costOf', [...texts, body.update])).catch((error) => {
      if (isTooCostly(error)) return null
      throw error
    })
    if (read && isQuick(read, documentSeconds)) {
      cost.wasRead(mark, read.items)
      passage.isTried = true
      return
    }
    cost.bar(now() + costlyMs)
    throw this.#tooCostly(id)
  }

  /** Reads the admitted updates before one has to wait for the read. */
  async #readAhead({ cost }: DocumentRecord): Promise<void> {
    const { documents, documentSeconds, now, onFailure } = this.#rules
    if (cost.isBarred(now()) || !cost.beginReading()) return
    try {
      const mark = cost.mark()
      const { texts } = await this.#updates()
      const read = await documents.read(this.#channel, 'costOf', texts)
      if (isQuick(read, documentSeconds)) cost.wasRead(mark, read.items)
      else cost.bar(now() + costlyMs)
    } catch (error) {
      if (isTooCostly(error)) cost.bar(now() + costlyMs)
      else onFailure(error)
    } finally {
      cost.endReading()
    }
  }

  /** Checks whether a full document has shrunk. */
  async #measure(record: DocumentRecord): Promise<void> {
    const { now, onFailure } = this.#rules
    if (!record.beginMeasuring(now())) return
    try {
      const { updates } = await this.#updates()
      const { bytes } = await joinUpdates(this.#rules, updates)
      record.wasMeasured(bytes)
    } catch (error) {
      onFailure(error)
    }
  }

  /** Rejects with a `Refusal` that names the draft. */
  async #about<Made>(id: string, work: Promise<Made>): Promise<Made> {
    try {
      return await work
    } catch (error) {
      if (error instanceof TooCostly) throw this.#tooCostly(id)
      throw error instanceof Refusal ? error.about(id) : error
    }
  }

  #tooCostly(id: string): Refusal {
    const most = `a third of ${this.#rules.documentSeconds} s of processor time (limits.documentSeconds)`
    const sentence = `Update "${id}" would make this document too slow to read: it would take ten times as long as others of its size, or over ${most}. Send less, or create another document.`
    return new Refusal('too-costly', sentence, id)
  }
}

/** An update on its path to the log, and what is known of it so far. */
interface Passage {
  readonly draft: Draft<'update'>
  readonly owner: string
  readonly writer: string
  readonly store: () => number | Promise<number>
  /** Null until a large one is read. */
  update: Update | null
  addition: Addition | null
  compared: Compared
  /** Whether the document was read with it. */
  isTried: boolean
  /** Set once it has waited for something. */
  turn: Turn | null
}

/** An update that the record already counts; it must be stored at once. */
interface Admitted {
  readonly record: DocumentRecord
  readonly addition: Addition
  readonly admission: Admission
}

/** An earlier order is valid as long as the record says so. */
function orderedIn(record: DocumentRecord, passage: Passage, update: Update): Addition {
  const { addition, draft } = passage
  if (addition && record.holds(addition)) return addition
  passage.addition = inOneTurn(record.order(update, draft.id))
  return passage.addition
}

/** A place in a sender's queue. */
interface Turn {
  readonly begins: Promise<void>
  /** Idempotent. */
  readonly end: () => void
}

const atOnce = Promise.resolve()

/** Clients whose content was compared, up to these clocks. */
type Compared = ReadonlyMap<number, number>

const nothingCompared: Compared = new Map()

/** Returns the clients that the addition repeats beyond what was compared. */
const unproven = (clients: readonly number[], { from }: Addition, compared: Compared) =>
  clients.filter((client) => compared.get(client) !== from.get(client))

/** Reads large ones in the thread. */
export async function readRecord(
  { schema, documents }: Pick<GateRules, 'schema' | 'documents'>,
  messages: readonly Message<'update'>[],
): Promise<DocumentRecord> {
  const size = messages.reduce((sum, { body }) => sum + body.update.length, 0)
  if (size <= maxReadHere) return recordOf(messages, schema)
  return new DocumentRecord(schema, await documents.run('recordOf', messages))
}

/** For a document in quarantine, keeps deleted content. */
export async function joinUpdates(
  { documents, onFailure }: Pick<GateRules, 'documents' | 'onFailure'>,
  messages: readonly Message<'update'>[],
): Promise<ReturnType<UpdateTasks['join' | 'merge']>> {
  const updates = messages.map(({ body }) => body.update)
  const joined = await documents.read(messages[0]?.channel ?? '', 'join', updates).catch((error) => {
    if (isTooCostly(error)) return documents.run('merge', updates)
    throw error
  })
  for (const index of joined.unread)
    onFailure(new Error(`Message ${messages[index]?.seq} of the log is not a valid update and was left out.`))
  return joined
}
