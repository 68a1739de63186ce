// The editable element's content: tells what the user changed, and shows what others did without moving the caret.

import { cleanToElement, cleanToHtml } from './clean.ts'
import { createFrame } from './frame.ts'
import { morph } from './morph.ts'
import { keepSelection } from './selection.ts'

export interface Content {
  /**
   * Cleans and shows the content with the next frame, which is when it can be seen at the earliest: until then
   * it would only take the processor from the windows that have not received it yet. Of several the newest is
   * shown. While a text is being composed (IME) it waits until that is done.
   */
  readonly show: (html: string, onShown?: () => void) => void
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
  let waiting: { html: string; onShown: (() => void) | undefined } | null = null
  const frame = createFrame(showWaiting)

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
  // What others wrote is to be there before the user's own change to it.
  for (const type of ['keydown', 'beforeinput', 'cut', 'paste', 'drop']) {
    root.addEventListener(type, frame.runNow, options)
  }
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
    // What the user wrote is newer than what waited, for a composition's end or a frame.
    waiting = null
    onEdit(html, inputAt)
    inputAt = null
  }

  function show(html: string, onShown?: () => void): void {
    waiting = { html, onShown }
    frame.plan()
  }

  function showWaiting(): void {
    if (waiting === null || isComposing) return
    const { html, onShown } = waiting
    waiting = null
    const clean = cleanToElement(html)
    keepSelection(root, () => morph(root, clean))
    observer.takeRecords()
    known = root.innerHTML
    onShown?.()
  }

  function endComposing(): void {
    isComposing = false
    tellEdit()
    showWaiting()
  }

  return {
    show,
    stop() {
      frame.runNow()
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
