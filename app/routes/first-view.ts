// What a page shows before its script runs: the header, the title and the document's first lines.

import { escapeHtml } from '../../protocol/html-text.ts'
import type { Message } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { type Documents, TooCostly } from '../../server/index.ts'
import type { PageTasks } from '../document/document-tasks.ts'
import type { ViewName } from '../shared/views.ts'

/** Characters of HTML: some sixty lines, more than a window shows. */
const maxCharacters = 6000

/** The page's own script shows the text about as soon. */
const maxWaitMs = 500

/** The most documents whose first lines are kept. */
const maxKept = 200

/** Share of the time in which a document may be read: a page is opened more often than one is exported. */
const share = 0.25

interface Kept {
  readonly tag: string
  readonly html: Promise<string>
}

/** The first lines of documents, as HTML: each document's are read once until it changes. */
export class FirstLines {
  readonly #timers: Timers
  /** By channel; the one asked for last at the end. */
  readonly #kept = new Map<string, Kept>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /**
   * `messages` are the document's, as in a snapshot; `tag` changes with them. Resolves to no lines for a
   * document that took too long once, and where these are not read within half a second: then they are there for the
   * next page.
   */
  async of(
    channel: string,
    messages: readonly Message[],
    tag: string,
    documents: Documents<PageTasks>,
  ): Promise<string> {
    const known = this.#kept.get(channel)
    const isKnown = known !== undefined && (known.tag === tag || known.tag === tooCostly)
    const kept = isKnown ? known : { tag, html: this.#read(channel, messages, documents) }
    this.#kept.delete(channel)
    this.#kept.set(channel, kept)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxKept) break
      this.#kept.delete(oldest)
    }
    const { promise, resolve } = Promise.withResolvers<string>()
    const cancel = this.#timers.later(() => resolve(''), maxWaitMs)
    try {
      return await Promise.race([kept.html, promise])
    } finally {
      cancel()
    }
  }

  /** Never rejects. */
  async #read(
    channel: string,
    messages: readonly Message[],
    documents: Documents<PageTasks>,
  ): Promise<string> {
    try {
      return await documents.within(share).run('firstLines', messages, maxCharacters)
    } catch (error) {
      if (error instanceof TooCostly) this.#kept.set(channel, { tag: tooCostly, html: Promise.resolve('') })
      else this.#kept.delete(channel)
      return ''
    }
  }
}

/** No document's tag. */
const tooCostly = 'too costly'

interface FirstView {
  readonly title: string
  readonly mayWrite: boolean
  readonly view: ViewName
  /** Null for a view without the document. */
  readonly lines: string | null
  readonly hasWind: boolean
}

/**
 * The elements have the classes that the page's own have, so that nothing moves when those replace them:
 * web/App.tsx, web/page/Header.tsx, Tabs.tsx and web/editor/Sheet.tsx.
 */
export function firstView({ title, mayWrite, view, lines, hasWind }: FirstView): string {
  const words = escapeHtml(title)
  const heading = mayWrite ? `<span class="title-button">${words}</span>` : words
  const header = `<header class="header"><div class="bar row"><span class="home"></span><h1 class="document-title" translate="no">${heading}</h1></div></header><div class="tabs"></div>`
  if (lines === null) return header
  const tools = mayWrite ? '<div class="tools"><div class="toolbar"></div></div>' : ''
  const beside = hasWind ? '<aside class="desk-beside"></aside>' : ''
  return `${header}<div class="desk" data-view="${view}"><main class="desk-main"><div class="sheet" aria-busy="true">${tools}<div class="document first-lines" translate="no">${lines}</div></div></main>${beside}</div>`
}
