// Bundled into an example in place of the provider: takes its mode from the address, and records.

import * as Y from 'yjs'
import { CrosswindProvider as Provider, type ProviderOptions } from '../../client/yjs.ts'

/** Binary values are in base64, lists from the beginning. */
export interface Recorded {
  /** Updates that this window has written. */
  readonly updates: readonly string[]
  /** How many of these it has called saved. */
  readonly savedCount: number
  readonly unsaved: number
  readonly document: string
  /** The text of all roots. */
  readonly text: string
  readonly faults: readonly string[]
}

declare global {
  var recorder: { readonly record: () => Recorded; readonly whenSaved: () => Promise<void> }
}

export class CrosswindProvider extends Provider {
  readonly #updates: string[] = []
  #savedCount = 0
  readonly #faults: string[] = []

  constructor(url: string | URL, roomname: string, doc: Y.Doc, options: ProviderOptions = {}) {
    super(url, roomname, doc, { ...options, modes: new URL(location.href).searchParams.getAll('mode') })
    globalThis.recorder = this
    // The provider's own listener comes first.
    doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin === this) return
      this.#updates.push(update.toBase64())
      if (this.saved) this.#faults.push(`update ${this.#updates.length} was called saved at once`)
    })
    this.on('saved', (isSaved) => {
      if (isSaved) this.#savedCount = this.#updates.length
    })
    this.on('refused', ({ code, message }) => this.#faults.push(`${code}: ${message}`))
    this.on('connection-error', (error) => {
      if (!this.shouldConnect) this.#faults.push(`gave up: ${error}`)
    })
  }

  record(): Recorded {
    if (this.saved) this.#savedCount = this.#updates.length
    return {
      updates: this.#updates,
      savedCount: this.#savedCount,
      unsaved: this.unsaved,
      document: Y.encodeStateAsUpdate(this.doc).toBase64(),
      text: Array.from(this.doc.share.values(), textOf).join(''),
      faults: this.#faults,
    }
  }
}

function textOf(type: unknown): string {
  if (type instanceof Y.Text)
    return (type.toDelta() as readonly { readonly insert?: unknown }[])
      .map(({ insert }) => (typeof insert === 'string' ? insert : textOf(insert)))
      .join('')
  return type instanceof Y.XmlFragment ? type.toArray().map(textOf).join('') : ''
}
