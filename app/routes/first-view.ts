// What a page shows before its script runs: the header, the title and the document's first lines.

import { escapeHtml } from '../../protocol/html-text.ts'
import type { ViewName } from '../shared/views.ts'

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
