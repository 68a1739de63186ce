// The gate of documents: records what each contains and who wrote it, not its text.

import { type Draft, isKind, type Message, type UpdateBody } from '../../protocol/messages.ts'
import type { Gate, Store } from '../channels/channel-type.ts'
import type { Log } from '../log/log.ts'
import { DocumentGate, type GateRules, joinUpdates, readRecord } from './document-gate.ts'

/** Number of documents known at a time; the least recently used is read from the log again. */
const maxDocuments = 256

/**
 * Refuses updates that are invalid for the documents in the log (400 `bad-update`, 409 `update-gap`,
 * 403 `not-your-client`, 413 `document-full`, 422 `too-costly`); joins valid ones.
 */
export class Ledger implements Gate {
  readonly #rules: GateRules
  /** Least recently used first. */
  readonly #gates = new Map<string, DocumentGate>()
  #log: Log | null = null

  constructor(rules: GateRules) {
    this.#rules = rules
  }

  /** Called once, before anything passes: the log that stores what passes. */
  open(log: Log): void {
    this.#log = log
    log.follow((message) => {
      if (isKind(message, 'erasure')) this.#gates.get(message.channel)?.forget()
      else if (isKind(message, 'update')) this.#gates.get(message.channel)?.follow(message)
    })
  }

  /** Only updates are checked. A sender's messages keep their order. */
  pass(draft: Draft, acceptedAt: number, store: Store): number | Promise<number> {
    if (isUpdate(draft)) return this.#gateOf(draft.channel).pass(draft, acceptedAt, store)
    const gate = this.#gates.get(draft.channel)
    return gate ? gate.passUnchecked(draft, acceptedAt, store) : store(draft, acceptedAt)
  }

  /**
   * Joins updates into one with the same content, without deleted content. Skips updates that Yjs
   * cannot read.
   */
  readonly fold = async (messages: readonly Message<'update'>[]): Promise<UpdateBody> => {
    const newest = messages.at(-1)?.seq ?? 0
    const channel = messages[0]?.channel ?? ''
    const begun = this.#gates.get(channel)?.record
    const mark = begun && newest >= begun.newestSeq ? begun.cost.mark() : null
    const { update, bytes, items } = await joinUpdates(this.#rules, messages)
    if (mark && items !== null) begun?.cost.wasRead(mark, items)
    const known = this.#gates.get(channel)?.record
    known?.wasFolded(bytes, newest)
    const { owners } = known ?? (await readRecord(this.#rules, messages))
    return { update, owners }
  }

  #gateOf(channel: string): DocumentGate {
    const known = this.#gates.get(channel)
    if (known) {
      this.#gates.delete(channel)
      this.#gates.set(channel, known)
      return known
    }
    if (!this.#log) throw new Error(`An update of ${channel} came before the ledger had its log.`)
    const gate = new DocumentGate(channel, this.#log, this.#rules)
    this.#gates.set(channel, gate)
    for (const [name, { isIdle }] of this.#gates) {
      if (this.#gates.size <= maxDocuments) break
      if (isIdle && name !== channel) this.#gates.delete(name)
    }
    return gate
  }
}

function isUpdate(draft: Draft): draft is Draft<'update'> {
  return draft.kind === 'update'
}
