// The text of a page, to be counted: of a shared document, or of a mirrored page's HTML.

import * as Y from 'yjs'
import { readHtmlInTurns } from '../document/html.ts'
import { createDocument, documentText, imageCharacter, softBreak } from '../document/rich-text.ts'
import type { Log } from '../log/log.ts'
import { isKind, type UpdateBody } from '../wire/messages.ts'

export class DocumentText {
  readonly #log: Pick<Log, 'snapshot'>
  readonly #channel: string
  #doc: Y.Doc | null = null
  #isRead = false
  /** Received since the last reading began; the next one applies them. */
  #received: UpdateBody[] = []

  constructor(log: Pick<Log, 'snapshot'>, channel: string) {
    this.#log = log
    this.#channel = channel
  }

  take(body: UpdateBody): void {
    if (this.#isRead) this.#received.push(body)
  }

  /** Line feeds end lines; images are left out. The first reading loads the document. */
  async read(): Promise<string> {
    this.#isRead = true
    this.#doc ??= await this.#load()
    for (const body of this.#received.splice(0)) apply(this.#doc, body)
    return plain(documentText(this.#doc).toString())
  }

  /** The next reading loads the document again. */
  forget(): void {
    this.#doc?.destroy()
    this.#doc = null
    this.#isRead = false
    this.#received = []
  }

  async #load(): Promise<Y.Doc> {
    const doc = createDocument()
    const { messages } = await this.#log.snapshot(new Set([this.#channel]))
    for (const message of messages) if (isKind(message, 'update')) apply(doc, message.body)
    return doc
  }
}

/** The text of HTML, at the end; yields empty parts before, where the reading may pause. */
export function* textOfHtml(html: string): Generator<string> {
  const reading = readHtmlInTurns(html, { isOwn: true })
  let step = reading.next()
  for (; !step.done; step = reading.next()) yield ''
  for (const { runs } of step.value.lines) yield plain(`${runs.map(({ text }) => text).join('')}\n`)
}

const plain = (text: string) => text.replaceAll(softBreak, '\n').replaceAll(imageCharacter, '')

function apply(doc: Y.Doc, { update }: UpdateBody): void {
  Y.applyUpdate(doc, Buffer.from(update, 'base64'))
}
