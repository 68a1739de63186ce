// A window's shared document: publishes the user's changes and applies those of the log.

import { fromBase64, toBase64 } from 'lib0/buffer'
import * as Y from 'yjs'
import type { Link, Outbox } from '../../client/engine.ts'
import { createDocument, documentText, type Line, linesOf } from '../../server/document/rich-text.ts'
import { type Draft, isKind, type Message, type UpdateBody } from '../../server/wire/messages.ts'
import type { Random, Timers } from '../../server/wire/time.ts'
import type { Recorder } from '../lab.ts'
import type { Binding, BindingParts } from './binding.ts'
import { EditHistory } from './undo.ts'

interface SharedDocumentOptions {
  readonly channel: string
  readonly link: Pick<Link, 'publish'> & { readonly outbox: Pick<Outbox, 'has'> }
  readonly recorder: Recorder | null
  readonly timers: Timers
  readonly random: Random
  /** The user's chosen name, at most 40 characters; empty for none. */
  readonly author: () => string
  /** Called on change only. */
  readonly onUnshared: () => void
}

/**
 * Pause before a window sends its document to a new log: messages that the log still holds arrive
 * first.
 */
const newLogPauseMs = { least: 300, spread: 1200 }

/**
 * Yjs updates commute and repeat without effect: a window applies its own before they are stored,
 * and the log's as they arrive. The binding draws them in the next frame.
 */
export class SharedDocument {
  readonly doc = createDocument()
  readonly #options: SharedDocumentOptions
  /** Of the document, not of the editor: another view may take the editor's place for a while. */
  readonly #history = new EditHistory(documentText(this.doc))
  /** The origin of changes that are not the user's, or are already in the outbox. */
  readonly #fromLog = Symbol('log')
  #binding: Binding | null = null
  #inputAt: number | null = null
  #isRefused = false
  /** Applied to the document, but not yet drawn. */
  #undrawn: Message<'update'>[] = []
  /** What a new log holds, until this window has compared it with its document. */
  #newLog: { readonly updates: Uint8Array[]; readonly cancel: () => void } | null = null

  constructor(options: SharedDocumentOptions) {
    this.#options = options
    this.doc.on('update', this.#onUpdate)
  }

  /** All of it, as an update. */
  get state(): UpdateBody {
    return { update: toBase64(Y.encodeStateAsUpdate(this.doc)) }
  }

  get lines(): readonly Line[] {
    return linesOf(documentText(this.doc))
  }

  get binding(): Binding | null {
    return this.#binding
  }

  /** The returned function detaches; the document stays for the next editor. */
  attach(root: HTMLElement, bind: (parts: BindingParts) => Binding, rest: Partial<BindingParts> = {}) {
    const bound = bind({
      mayWrite: true,
      ...rest,
      root,
      text: documentText(this.doc),
      history: this.#history,
      onInput: (at) => {
        this.#sign()
        this.#inputAt = at
      },
      onApplied: () => {
        for (const message of this.#undrawn) this.#options.recorder?.applied(message)
        this.#undrawn = []
        rest.onApplied?.()
      },
    })
    this.#binding = bound
    return () => {
      bound.stop()
      this.#binding = null
      this.#undrawn = []
    }
  }

  /** Whether it is an update that this window did not have. */
  received(message: Message): message is Message<'update'> {
    if (!isKind(message, 'update') || message.channel !== this.#options.channel) return false
    const { update, owners } = message.body
    this.#newLog?.updates.push(fromBase64(update))
    // An update merged with others' may have this window's id.
    if (this.#options.link.outbox.has(message.id) && !owners) return false
    // Recorded first, since the binding may draw the change at once.
    if (this.#binding) this.#undrawn.push(message)
    this.#apply(fromBase64(update))
    return true
  }

  /** False if the update reaches the log in another way, so nobody needs to be told. */
  refused({ kind }: Pick<Draft, 'kind'>): boolean {
    if (kind !== 'update') return true
    // It may build on what the new log lacks, and is sent with the rest of the document.
    if (this.#newLog !== null) return false
    // The log cannot accept later updates either: they build on this one.
    if (!this.#isRefused) this.#options.onUnshared()
    this.#isRefused = true
    return true
  }

  /** Shows updates that are in the outbox: from before a reload, or from a closed window. */
  restore(drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      if (draft.kind !== 'update' || draft.channel !== this.#options.channel) continue
      this.#apply(fromBase64((draft as Draft<'update'>).body.update))
    }
  }

  newLog(): void {
    const { timers, random } = this.#options
    this.#newLog?.cancel()
    const delayMs = newLogPauseMs.least + random() * newLogPauseMs.spread
    this.#newLog = { updates: [], cancel: timers.later(() => this.#completeNewLog(), delayMs) }
  }

  readonly #onUpdate = (update: Uint8Array, origin: unknown): void => {
    if (origin === this.#fromLog) return
    this.#publish(update)
  }

  #publish(update: Uint8Array): void {
    const { channel, link, recorder } = this.#options
    const draft = link.publish(channel, 'update', { update: toBase64(update) })
    if (draft) recorder?.sent(draft, this.#inputAt)
    this.#inputAt = null
  }

  #apply(update: Uint8Array): void {
    // With a listener attached, Yjs re-encodes the update it was just given.
    this.doc.off('update', this.#onUpdate)
    try {
      Y.applyUpdate(this.doc, update, this.#fromLog)
    } catch (error) {
      // The server accepts no such update; if one arrives anyway, the others must still be shown.
      console.error('An update of the document could not be applied.', error)
    } finally {
      this.doc.on('update', this.#onUpdate)
    }
  }

  /** Records the user's name with the Yjs client, for the history. */
  #sign(): void {
    const name = this.#options.author()
    const authors = this.doc.getMap<{ readonly name: string }>('authors')
    const client = String(this.doc.clientID)
    if (name !== '' && authors.get(client)?.name !== name) authors.set(client, { name })
  }

  /**
   * Publishes what the log lacks: a server that lost its log gets the document back from its
   * windows.
   */
  #completeNewLog(): void {
    const held = createDocument()
    for (const update of this.#newLog?.updates ?? []) Y.applyUpdate(held, update)
    this.#newLog = null
    if (!Y.equalSnapshots(Y.snapshot(this.doc), Y.snapshot(held)))
      this.#publish(Y.encodeStateAsUpdate(this.doc, Y.encodeStateVector(held)))
    held.destroy()
  }
}

/** For the outbox: one update equivalent to all of these. */
export function mergeUpdates(updates: readonly UpdateBody[]): UpdateBody {
  return { update: toBase64(Y.mergeUpdates(updates.map(({ update }) => fromBase64(update)))) }
}
