// What is pasted and dropped into the text: takes it from the event, has it cleaned, inserts it.

import { safeLink } from '../../server/document/rich-text.ts'
import type { EditorCommands } from './commands.ts'
import { linesFrom } from './rendering.ts'

type Cleaning = typeof import('./foreign-content.ts')

let cleaning: Cleaning | null = null

/** Knows what other programs write; only a writer needs it. */
async function loadCleaning(): Promise<Cleaning> {
  cleaning ??= await import('./foreign-content.ts')
  return cleaning
}

interface Target {
  readonly root: HTMLElement
  readonly commands: EditorCommands
  /** Receives the names of what could not be kept; empty when everything was. */
  readonly onPasted: (unkept: readonly string[]) => void
  /** Nothing was inserted: what cleans it could not be loaded. */
  readonly onFailed: () => void
}

/** Attach after the editor's own listeners, which prepare its content; precedes medium-editor's. */
export function takePastes({ root, commands, onPasted, onFailed }: Target): () => void {
  const ending = new AbortController()
  const options = { signal: ending.signal, capture: true }
  let isDraggedFromHere = false

  async function take(event: Event, data: DataTransfer): Promise<void> {
    event.preventDefault()
    event.stopImmediatePropagation()
    // Only within the event.
    const [html, text] = [data.getData('text/html'), data.getData('text/plain')]
    const files = [...data.files]
    const isText = data.types.some((type) => type === 'text/html' || type === 'text/plain')
    const address = linkAlone(text)
    if (address !== null && getSelection()?.isCollapsed === false) {
      commands.setLink(address)
      return
    }
    const place = selectedRange()
    // At once where possible.
    const clean = cleaning ?? (await loadCleaning().catch(() => null))
    if (clean === null) {
      onFailed()
      return
    }
    const { content, unkept } =
      isText || files.length === 0
        ? clean.cleanText({ html, text }, commands.state().block)
        : await clean.cleanFiles(files)
    if (content.hasChildNodes()) insertAt(place, content)
    onPasted(unkept)
  }

  /** What was typed while the paste waited stays behind it, and the caret behind that. */
  function insertAt(place: Range | null, content: DocumentFragment): void {
    const caret = selectedRange()
    if (!place || !caret || isSameRange(place, caret) || !root.contains(place.commonAncestorContainer)) {
      commands.insert(linesFrom(content))
      return
    }
    select(place)
    commands.insert(linesFrom(content))
    select(caret)
  }

  const listen = <Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (event: HTMLElementEventMap[Type]) => void,
  ) => root.addEventListener(type, listener, options)

  // Before it is needed, so that it is there offline.
  listen('focusin', () => void loadCleaning().catch(() => undefined))
  listen('paste', (event) => {
    if (event.clipboardData && !event.defaultPrevented) void take(event, event.clipboardData)
  })
  // Moving text within the document is the editor's own business.
  listen('dragstart', () => {
    isDraggedFromHere = true
  })
  listen('dragend', () => {
    isDraggedFromHere = false
  })
  listen('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
  })
  listen('drop', (event) => {
    if (!event.dataTransfer || isDraggedFromHere || event.defaultPrevented) return
    root.focus()
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY)
    if (place && root.contains(place.offsetNode)) getSelection()?.collapse(place.offsetNode, place.offset)
    void take(event, event.dataTransfer)
  })
  return () => ending.abort()
}

/** Moves with what it encloses. */
function selectedRange(): Range | null {
  const selection = getSelection()
  return selection?.rangeCount ? selection.getRangeAt(0).cloneRange() : null
}

function isSameRange(one: Range, other: Range): boolean {
  const [start, end] = [Range.START_TO_START, Range.END_TO_END]
  return one.compareBoundaryPoints(start, other) === 0 && one.compareBoundaryPoints(end, other) === 0
}

function select({ startContainer, startOffset, endContainer, endOffset }: Range): void {
  getSelection()?.setBaseAndExtent(startContainer, startOffset, endContainer, endOffset)
}

/** An address copied alone becomes the link of the selected words. */
function linkAlone(text: string): string | null {
  const address = text.trim()
  return /^https?:\/\/\S+$/i.test(address) ? safeLink(address) : null
}
