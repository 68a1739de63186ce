// An application of the library: each key publishes the whole content, as in the 2021 paper; the newest wins.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import imported from 'morphdom'
import { connect } from '../../../client/connect.ts'
import { type Message, modes } from '../../../client/wire.ts'
import { createCrosswind } from '../../../server/index.ts'
import { inNextFrame } from '../../../web/frames.ts'
import type { Host, Page, PageMessage, Shown, Started } from '../adapter.ts'

// Its types describe CommonJS; the page's bundle has its ES module.
const morphdom = imported as unknown as typeof imported.default

const path = '/realtime'

export async function start({ host, cert, key }: Host): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-mirror-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  const crosswind = await createCrosswind({
    path,
    channels: { '*': { kind: 'json' } },
    authorize: 'everyone',
    storage: { kind: 'sqlite', folder },
  })
  return {
    mode: modes.map(({ name }) => name),
    listen: (answer) => crosswind.listen({ host, port: 0, http1Port: 0, cert, key }, answer),
  }
}

interface Content {
  readonly html: string
}

interface Edit extends PageMessage {
  readonly body: Content
}

export async function open({ address, mode, channel, receive }: Page) {
  const editor = document.querySelector('#document') as HTMLElement
  const { default: MediumEditor } = await import('medium-editor')
  new MediumEditor(editor, { toolbar: false, keyboardCommands: false, placeholder: false, autoLink: false })
  const mirror = new Mirror(editor)
  const connection = connect(`${address}${path}`, { modes: [mode] })
  const following = connection.follow(channel, {
    // As it is on the wire, which the page measures.
    take: (message) => receive(message as Message<'json'>, mirror.received),
    end: () => undefined,
    presence: { heard: () => undefined, refused: () => undefined },
  })
  const link = await following.link
  link.outbox.listeners.add({
    onOutbox: () => undefined,
    onStored: ({ id }, seq) => mirror.ended(id, seq),
    // A refused message counts as lost.
    onRefused: ({ id }) => mirror.ended(id, 0),
  })
  await new Promise<void>((resolve) => connection.on('state', ({ status }) => status === 'open' && resolve()))
  return (message: Edit) => {
    const draft = link.publish(channel, 'json', { data: { html: message.body.html } })
    // The page measures by its id and time.
    mirror.sent(Object.assign(message, draft).id)
  }
}

interface Received {
  readonly message: Message<'json'>
  readonly shown: Shown
}

/**
 * All windows end with the log's last content. Others' is held back while own ones are unanswered,
 * which come later in the log.
 */
class Mirror {
  readonly #editor: HTMLElement
  readonly #unanswered = new Set<string>()
  /** The content is newer than what others sent up to this number. */
  #ownSeq = 0
  #newest: Received | null = null
  /** In an animation frame, its task runs after the paint. */
  readonly #painting = new MessageChannel()

  constructor(editor: HTMLElement) {
    this.#editor = editor
    // The text that the user changes must contain the newest message.
    editor.addEventListener('beforeinput', this.#show, { capture: true })
  }

  sent(id: string): void {
    this.#unanswered.add(id)
  }

  ended(id: string, seq: number): void {
    this.#unanswered.delete(id)
    this.#ownSeq = Math.max(this.#ownSeq, seq)
    if (this.#newest) inNextFrame(this.#show)
  }

  readonly received = (message: Message<'json'>, shown: Shown): void => {
    if (this.#unanswered.has(message.id) || message.seq <= this.#ownSeq) return
    if (this.#newest === null) inNextFrame(this.#show)
    this.#newest = { message, shown }
  }

  readonly #show = (): void => {
    if (this.#newest === null || this.#unanswered.size > 0) return
    const { message, shown } = this.#newest
    this.#newest = null
    if (message.seq <= this.#ownSeq) return
    const next = this.#editor.cloneNode() as HTMLElement
    next.innerHTML = (message.body.data as Content).html
    // Leaves what is alike, and the caret in it.
    morphdom(this.#editor, next, { childrenOnly: true })
    shown.applied()
    this.#painting.port1.onmessage = shown.painted
    this.#painting.port2.postMessage(null)
  }
}
