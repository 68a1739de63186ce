// Events of clipboard and drags: copied text keeps its formatting, and inserted content is cleaned.

import { type Line, safeLink } from '../../app/document/rich-text.ts'
import { importCode } from '../documents/import-code.ts'
import { LateCode } from '../late-code.ts'
import type { Binding } from './binding.ts'
import type { EditorCommands } from './commands.ts'
import type { SelectedText } from './selection.ts'

/** Loaded at the first focus. */
const contentCode = new LateCode(() => import('./clipboard-content.ts'))

const preloadContent = () => contentCode.preload()

/** Run before medium-editor's own. */
function listeners(root: HTMLElement) {
  const ending = new AbortController()
  return {
    listen<Type extends keyof HTMLElementEventMap>(
      type: Type,
      listener: (event: HTMLElementEventMap[Type]) => void,
    ): void {
      root.addEventListener(type, listener, { signal: ending.signal, capture: true })
    },
    stop: () => ending.abort(),
  }
}

interface Source {
  readonly root: HTMLElement
  readonly binding: Binding
  readonly mayWrite: boolean
}

/** Copies the text with its own formatting: the browser's copies include the page's styles. */
export function takeCopies({ root, binding, mayWrite }: Source): () => void {
  const { drawn, editor } = binding
  const { listen, stop } = listeners(root)
  let dragged: SelectedText | null = null

  /** Returns false until the code is loaded: until then, the browser copies by itself. */
  function fill(data: DataTransfer | null): boolean {
    const lines = drawn.selectedLines()
    const content = contentCode.loaded
    if (!data || !content || lines.length === 0) return false
    content.writeTo(data, lines)
    return true
  }

  // Preloads: an event's clipboard cannot wait.
  listen('focusin', preloadContent)
  listen('pointerdown', preloadContent)
  listen('copy', (event) => {
    if (fill(event.clipboardData)) event.preventDefault()
  })
  listen('dragstart', (event) => {
    dragged = drawn.selectedLines().length > 0 ? drawn.selection() : null
    fill(event.dataTransfer)
  })
  listen('dragend', () => {
    dragged = null
  })
  if (!mayWrite) return stop
  listen('cut', (event) => {
    if (!fill(event.clipboardData)) return
    event.preventDefault()
    editor.deleteSelected()
  })
  listen('drop', (event) => {
    const text = dragged
    dragged = null
    if (!text) return
    event.preventDefault()
    event.stopImmediatePropagation()
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY)
    const isCopy = /Mac/.test(navigator.platform) ? event.altKey : event.ctrlKey
    if (place) editor.moveText(text, [place.offsetNode, place.offset], isCopy)
  })
  return stop
}

interface Target {
  readonly root: HTMLElement
  readonly commands: EditorCommands
  /** Receives sentences about content that was not kept; empty if everything was. */
  readonly onPasted: (notes: readonly string[]) => void
  /** Nothing was inserted, because the code that cleans it could not be loaded. */
  readonly onFailed: () => void
}

/** Attach after the editor's own listeners, which prepare its content; precedes medium-editor's. */
export function takePastes({ root, commands, onPasted, onFailed }: Target): () => void {
  const { listen, stop } = listeners(root)
  let isDraggedFromHere = false

  async function take(event: Event, data: DataTransfer): Promise<void> {
    event.preventDefault()
    event.stopImmediatePropagation()
    // Readable only within the event.
    const markup = data.getData('text/html')
    const text = data.getData('text/plain')
    const files = [...data.files]
    const isText = data.types.some((type) => type === 'text/html' || type === 'text/plain')
    const address = linkAlone(text)
    if (address !== null && getSelection()?.isCollapsed === false) {
      commands.setLink(address)
      return
    }
    const place = selectedRange()
    // Immediately if possible.
    const content = contentCode.loaded ?? (await contentCode.load().catch(() => null))
    if (content === null) {
      onFailed()
      return
    }
    const isCode = commands.state().block === 'pre'
    const { lines, notes } =
      isText || files.length === 0 ? content.readText(markup, text, isCode) : await content.readFiles(files)
    if (lines.length > 0) insertAt(place, lines)
    onPasted(notes)
  }

  /** Text typed while the paste waited stays after it, and the caret after that. */
  function insertAt(place: Range | null, lines: readonly Line[]): void {
    const caret = selectedRange()
    if (!place || !caret || isSameRange(place, caret) || !root.contains(place.commonAncestorContainer)) {
      commands.insert(lines)
      return
    }
    select(place)
    commands.insert(lines)
    select(caret)
  }

  // Preloads, so that it is there offline.
  listen('focusin', preloadContent)
  listen('dragenter', () => importCode.preload())
  listen('paste', (event) => {
    if (event.clipboardData && !event.defaultPrevented) void take(event, event.clipboardData)
  })
  // The editor itself handles moving text within the document.
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
  return stop
}

/** Moves with its content. */
function selectedRange(): Range | null {
  const selection = getSelection()
  return selection?.rangeCount ? selection.getRangeAt(0).cloneRange() : null
}

function isSameRange(one: Range, other: Range): boolean {
  const start = Range.START_TO_START
  const end = Range.END_TO_END
  return one.compareBoundaryPoints(start, other) === 0 && one.compareBoundaryPoints(end, other) === 0
}

function select({ startContainer, startOffset, endContainer, endOffset }: Range): void {
  getSelection()?.setBaseAndExtent(startContainer, startOffset, endContainer, endOffset)
}

/** An address copied by itself becomes the link of the selected words. */
function linkAlone(text: string): string | null {
  const address = text.trim()
  return /^https?:\/\/\S+$/i.test(address) ? safeLink(address) : null
}
