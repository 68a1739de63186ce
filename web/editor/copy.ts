// Copies, cuts and drags the text with its own form: the browser's copies take the page's styles for the text's.

import type { Line } from '../../server/document/rich-text.ts'
import type { Binding } from './binding.ts'
import type { SelectedText } from './selection.ts'

type Html = typeof import('../../server/document/html.ts')

let html: Html | null = null

interface Source {
  readonly root: HTMLElement
  readonly binding: Binding
  readonly mayWrite: boolean
}

export function takeCopies({ root, binding, mayWrite }: Source): () => void {
  const ending = new AbortController()
  const options = { signal: ending.signal, capture: true }
  let dragged: SelectedText | null = null

  /** False until the writer of HTML is loaded: then the browser's own copy must do. */
  function fill(data: DataTransfer | null): boolean {
    const lines = binding.selectedLines()
    if (!data || !html || lines.length === 0) return false
    data.setData('text/plain', html.writeText(lines))
    data.setData('text/html', ownHtml(html, lines))
    return true
  }

  const listen = <Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (event: HTMLElementEventMap[Type]) => void,
  ) => root.addEventListener(type, listener, options)

  const load = () => {
    import('../../server/document/html.ts').then(
      (loaded) => {
        html = loaded
      },
      () => undefined,
    )
  }
  // Before it is needed: an event's clipboard cannot wait.
  listen('focusin', load)
  listen('pointerdown', load)
  listen('copy', (event) => {
    if (fill(event.clipboardData)) event.preventDefault()
  })
  listen('dragstart', (event) => {
    dragged = binding.selectedLines().length > 0 ? binding.selection() : null
    fill(event.dataTransfer)
  })
  listen('dragend', () => {
    dragged = null
  })
  if (!mayWrite) return () => ending.abort()
  listen('cut', (event) => {
    if (!fill(event.clipboardData)) return
    event.preventDefault()
    binding.deleteSelected()
  })
  listen('drop', (event) => {
    const text = dragged
    dragged = null
    if (!text) return
    event.preventDefault()
    event.stopImmediatePropagation()
    const place = document.caretPositionFromPoint(event.clientX, event.clientY)
    const isCopy = /Mac/.test(navigator.platform) ? event.altKey : event.ctrlKey
    if (place) binding.moveText(text, [place.offsetNode, place.offset], isCopy)
  })
  return () => ending.abort()
}

/** `data-crosswind` marks HTML that is to be read exactly. */
function ownHtml({ writeFragment }: Html, lines: readonly Line[]): string {
  const tag = lines.length === 1 ? 'span' : 'div'
  return `<${tag} data-crosswind style="white-space: pre-wrap">${writeFragment(lines)}</${tag}>`
}
