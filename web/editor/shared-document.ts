// The page's document: its text, which outlives its editors, and the names of who wrote it.

import * as Y from 'yjs'
import { createDocument, documentText, type Line, linesOf } from '../../app/document/rich-text.ts'
import { toBase64 } from '../../protocol/base64.ts'
import type { Draft, Message, UpdateBody } from '../../protocol/messages.ts'
import type { Recorder } from '../lab.ts'
import type { Binding, BindingParts } from './binding.ts'
import { EditHistory } from './undo.ts'

interface SharedDocumentOptions {
  readonly recorder: Recorder | null
  /** The user's chosen name, at most 40 characters; empty for none. */
  readonly author: () => string
}

/**
 * Its provider applies the log's updates as they arrive, and this window's own are applied before they
 * are stored. The binding draws them in the next frame.
 */
export class SharedDocument {
  readonly doc = createDocument()
  readonly #options: SharedDocumentOptions
  /** History of the document, not of the editor: another view may take the editor's place for a while. */
  readonly #history = new EditHistory(documentText(this.doc))
  #binding: Binding | null = null
  #inputAt: number | null = null
  /** Applied to the document, but not yet drawn. */
  #undrawn: Message[] = []

  constructor(options: SharedDocumentOptions) {
    this.#options = options
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

  /** Call before an update that this window did not have is applied: the binding may draw it at once. */
  willApply(message: Message): void {
    if (this.#binding) this.#undrawn.push(message)
  }

  /** A draft has the newest change. */
  drafted(draft: Draft): void {
    this.#options.recorder?.sent(draft, this.#inputAt)
    this.#inputAt = null
  }

  /** Records the user's name with the Yjs client, for the history. */
  #sign(): void {
    const name = this.#options.author()
    const authors = this.doc.getMap<{ readonly name: string }>('authors')
    const client = String(this.doc.clientID)
    if (name !== '' && authors.get(client)?.name !== name) authors.set(client, { name })
  }
}
