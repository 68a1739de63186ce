// The editable element's content: tells what the user changed, and shows what others did without moving the caret.

import { cleanToElement, cleanToHtml } from './clean.ts'
import { morph } from './morph.ts'
import { keepSelection } from './selection.ts'

export interface Content {
  /** Cleans and shows the content. While a text is being composed (IME) it waits until that is done. */
  readonly show: (html: string) => void
  readonly stop: () => void
}

/** `onEdit` gets the whole content each time the user changed it; `inputAt` is the input's stamp, ms since the epoch. */
export function bindContent(
  root: HTMLElement,
  onEdit: (html: string, inputAt: number | null) => void,
): Content {
  const ending = new AbortController()
  const options = { signal: ending.signal, capture: true }
  let known = root.innerHTML
  let inputAt: number | null = null
  let isComposing = false
  let waiting: string | null = null

  // Some edits are made by script on keydown and fire no input event: the DOM itself is watched.
  const observer = new MutationObserver(tellEdit)
  observer.observe(root, {
    childList: true,
    characterData: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['href', 'src'],
  })

  // Ahead of the change: the observer is told before the `input` event comes.
  root.addEventListener(
    'beforeinput',
    (event) => {
      inputAt = performance.timeOrigin + event.timeStamp
    },
    options,
  )
  root.addEventListener(
    'compositionstart',
    () => {
      isComposing = true
    },
    options,
  )
  root.addEventListener('compositionend', endComposing, options)
  root.addEventListener('paste', pasteClean, options)

  function tellEdit(): void {
    const html = root.innerHTML
    if (html === known) return
    known = html
    // What the user wrote is newer than what waited for the composition's end.
    waiting = null
    onEdit(html, inputAt)
    inputAt = null
  }

  function show(html: string): void {
    if (isComposing) {
      waiting = html
      return
    }
    const clean = cleanToElement(html)
    keepSelection(root, () => morph(root, clean))
    observer.takeRecords()
    known = root.innerHTML
  }

  function endComposing(): void {
    isComposing = false
    tellEdit()
    if (waiting !== null) show(waiting)
    waiting = null
  }

  return {
    show,
    stop() {
      ending.abort()
      observer.disconnect()
    },
  }
}

/** Before medium-editor sees it: its own handler would put the clipboard's HTML into the page as it is. */
function pasteClean(event: ClipboardEvent): void {
  const html = event.clipboardData?.getData('text/html')
  if (!html) return
  event.preventDefault()
  event.stopImmediatePropagation()
  document.execCommand('insertHTML', false, cleanToHtml(html))
}
