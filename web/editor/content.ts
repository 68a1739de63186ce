// The mirror's editable content: reports the user's changes, shows others', runs commands.

import imported from 'morphdom'
import { escapeHtml, readHtml, writeFragment, writeHtml } from '../../server/document/html.ts'
import { type Line, textOf as plainTextOf } from '../../server/document/rich-text.ts'
import { commonEnds } from '../../server/document/text-diff.ts'
import { inNextFrame } from '../frames.ts'
import { browserCommands, type EditorCommands, type Mark, marks } from './commands.ts'

// morphdom's types describe CommonJS; the bundle contains its ES module.
const morphdom = imported as unknown as typeof imported.default

/**
 * Receives the whole content after each user change; `inputAt` is the input event's time, ms since the
 * epoch.
 */
export type OnEdit = (html: string, inputAt: number | null) => void

export type Content = ReturnType<typeof bindContent>

export function bindContent(root: HTMLElement, onEdit: OnEdit) {
  const ending = new AbortController()
  const options = { signal: ending.signal, capture: true }
  let known = root.innerHTML
  let inputAt: number | null = null
  let isComposing = false
  let waiting: { html: string; onShown: (() => void) | undefined } | null = null
  let cancelFrame: (() => void) | null = null

  // Some scripted edits on keydown fire no input event.
  const observer = new MutationObserver(reportEdit)
  observer.observe(root, {
    childList: true,
    characterData: true,
    subtree: true,
    attributeFilter: ['href', 'src'],
  })

  const listen = <Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (event: HTMLElementEventMap[Type]) => void,
  ) => root.addEventListener(type, listener, options)

  // Not `input`, which fires after the observer.
  listen('beforeinput', ({ timeStamp }) => {
    inputAt = performance.timeOrigin + timeStamp
  })
  // The user's change must include pending content.
  for (const type of ['keydown', 'beforeinput', 'cut', 'paste', 'drop'] as const) listen(type, runFrame)
  listen('compositionstart', () => {
    isComposing = true
  })
  listen('compositionend', () => {
    isComposing = false
    reportEdit()
    showWaiting()
  })

  function reportEdit(): void {
    const html = root.innerHTML
    if (html === known) return
    known = html
    // The user's content is newer than the pending one.
    waiting = null
    onEdit(html, inputAt)
    inputAt = null
  }

  function runFrame(): void {
    if (cancelFrame === null) return
    cancelFrame()
    cancelFrame = null
    showWaiting()
  }

  function showWaiting(): void {
    if (waiting === null || isComposing) return
    const { html, onShown } = waiting
    waiting = null
    const clean = cleanContent(html)
    keepSelection(root, () => morphdom(root, clean, { childrenOnly: true }))
    observer.takeRecords()
    known = root.innerHTML
    onShown?.()
  }

  return {
    /**
     * Cleans and shows the newest content in the next frame: earlier work would be invisible and delay other
     * windows' delivery. Waits for the end of an IME composition.
     */
    show(html: string, onShown?: () => void): void {
      waiting = { html, onShown }
      if (cancelFrame !== null) return
      cancelFrame = inNextFrame(runFrame)
    },
    /** Shows pending content, releases the element, returns its content. */
    stop(): string {
      runFrame()
      ending.abort()
      observer.disconnect()
      return root.innerHTML
    },
  }
}

/**
 * Other windows' HTML reduced to what a document can contain: none of their other markup enters the
 * page.
 */
function cleanContent(html: string): HTMLElement {
  const inert = document.implementation.createHTMLDocument().createElement('div')
  inert.innerHTML = forPage(writeHtml, readHtml(html, { isOwn: true }).lines)
  // Denies opened pages access to this window.
  for (const link of inert.querySelectorAll('a'))
    Object.assign(link, { target: '_blank', rel: 'noopener noreferrer' })
  return inert
}

/**
 * Omits line feeds between blocks, which would show, and styles, which the page's policy forbids.
 */
function forPage(write: (lines: readonly Line[]) => string, lines: readonly Line[]): string {
  return write(lines)
    .replaceAll(/(?<=<\/(?:p|h[1-6]|blockquote|pre|ul|ol)>)\n(?=<(?:p|h[1-6]|blockquote|pre|ul|ol)\b)/g, '')
    .replaceAll(/ style="text-align: (\w+)"/g, ' align="$1"')
}

/**
 * Keeps the selection at the same text, in its direction; `change` may replace anything inside
 * `root`.
 */
function keepSelection(root: HTMLElement, change: () => void): void {
  const selection = getSelection()
  const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = selection ?? {}
  if (!anchorNode || !focusNode || !root.contains(anchorNode) || !root.contains(focusNode)) {
    change()
    return
  }
  const all = root.textContent
  const findAnchor = placeIn(root, all, anchorNode, anchorOffset)
  const findFocus = placeIn(root, all, focusNode, focusOffset)
  change()
  const [from, fromOffset] = findAnchor()
  const [to, toOffset] = findFocus()
  const isThere =
    selection?.anchorNode === from &&
    selection.anchorOffset === fromOffset &&
    selection.focusNode === to &&
    selection.focusOffset === toOffset
  if (!isThere) selection?.setBaseAndExtent(from, fromOffset, to, toOffset)
}

/** Returns a function that finds the place again after a change. `all`: the content's text. */
function placeIn(root: HTMLElement, all: string, node: Node, offset: number): () => [Node, number] {
  const text = textOf(node)
  // Offset in the whole content, in case the node disappears.
  const before = document.createRange()
  before.setStart(root, 0)
  before.setEnd(node, offset)
  const offsetInAll = before.toString().length
  return () => {
    if (!root.contains(node)) return atOffset(root, mapOffset(all, root.textContent, offsetInAll))
    const now = textOf(node)
    if (text !== null && now !== null) return [node, mapOffset(text, now, offset)]
    return [node, Math.min(offset, node.childNodes.length)]
  }
}

/**
 * Maps an offset to the changed text, as if one range had been replaced. Offsets before it stay, behind it
 * shift, inside it move to its start; an insertion at the offset goes behind it. UTF-16 units, as in the
 * DOM.
 */
function mapOffset(before: string, after: string, offset: number): number {
  const { start, end } = commonEnds(before, after)
  if (offset <= start) return offset
  return offset >= before.length - end ? offset + after.length - before.length : start
}

/** The text node at an offset of the whole content, or the content's end. */
function atOffset(root: HTMLElement, offset: number): [Node, number] {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  let left = offset
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const { length } = textOf(node) ?? ''
    if (left <= length) return [node, left]
    left -= length
  }
  return [root, root.childNodes.length]
}

/** Null unless it is a text node. */
function textOf(node: Node): string | null {
  return node.nodeType === Node.TEXT_NODE ? node.nodeValue : null
}

/**
 * Runs the browser's own commands, which work on the HTML that the mirror sends. Marks, blocks and
 * links that they lack are changed in the elements directly.
 */
export function contentCommands(root: HTMLElement): EditorCommands {
  const listeners = new Set<() => void>()

  function execute(command: string, value?: string): void {
    document.execCommand(command, false, value)
    for (const listener of listeners) listener()
  }

  /** The innermost element at the selection's start that matches, inside the document. */
  function enclosing(selector: string): HTMLElement | null {
    const node = getSelection()?.anchorNode
    const element = node instanceof Element ? node : node?.parentElement
    const found = element?.closest<HTMLElement>(selector)
    return found && found !== root && root.contains(found) ? found : null
  }

  const isMarked = (mark: Mark) =>
    mark === 'code'
      ? enclosing('code') !== null && enclosing('pre') === null
      : document.queryCommandState(browserCommands[mark])

  function toggleCode(): void {
    const code = enclosing('code')
    const selection = getSelection()
    if (code) code.replaceWith(...code.childNodes)
    else if (selection && !selection.isCollapsed) {
      // No browser command does this.
      const range = selection.getRangeAt(0)
      const wrapper = document.createElement('code')
      wrapper.append(range.extractContents())
      range.insertNode(wrapper)
      selection.selectAllChildren(wrapper)
    }
    for (const listener of listeners) listener()
  }

  function blockShown(): string {
    const item = enclosing('li')
    if (!item) return enclosing('h1, h2, h3, h4, h5, h6, blockquote, pre')?.localName ?? 'p'
    let level = 0
    for (let list = item.parentElement; list && list !== root; list = list.parentElement)
      if (list.matches('ul, ol')) level += 1
    return `${item.parentElement?.localName ?? 'ul'}${Math.min(level, 6)}`
  }

  return {
    toggleMark(mark) {
      if (mark === 'code') toggleCode()
      else execute(browserCommands[mark])
    },
    setBlock(block) {
      const shown = blockShown()
      if (shown !== 'blockquote' || block === 'blockquote') {
        execute('formatBlock', shown === block ? 'p' : block)
        if (shown !== 'blockquote') return
      }
      // Firefox wraps the quoted paragraph, which only `outdent` unwraps.
      if (enclosing('blockquote')) execute('outdent')
      if (block !== 'blockquote' && block !== blockShown()) execute('formatBlock', block)
    },
    toggleList(kind) {
      execute(kind === 'ul' ? 'insertUnorderedList' : 'insertOrderedList')
      // Chromium leaves a former item's text without an element.
      if (!enclosing('li') && blockShown() === 'p') execute('formatBlock', 'p')
    },
    indent(by) {
      // Elsewhere it would make quotes, in Chromium with a style that the page's policy forbids.
      if (enclosing('li')) execute(by === 1 ? 'indent' : 'outdent')
    },
    setLink(href) {
      const link = enclosing('a')
      // Firefox would nest the links.
      if (link && href !== null) link.setAttribute('href', href)
      else if (href !== null) execute('createLink', href)
      else {
        if (link && getSelection()?.isCollapsed) getSelection()?.selectAllChildren(link)
        execute('unlink')
      }
    },
    undo: () => execute('undo'),
    redo: () => execute('redo'),
    insert(lines) {
      // Code within code is merged into its text.
      const isCode = enclosing('pre') && lines.every(({ block }) => block === 'pre')
      execute('insertHTML', isCode ? escapeHtml(plainTextOf(lines)) : forPage(writeFragment, lines))
    },
    state: () => ({
      marks: new Set(marks.filter(isMarked)),
      block: blockShown(),
      link: enclosing('a')?.getAttribute('href') ?? null,
      canUndo: document.queryCommandEnabled('undo'),
      canRedo: document.queryCommandEnabled('redo'),
    }),
    onState(listener) {
      listeners.add(listener)
      document.addEventListener('selectionchange', listener)
      root.addEventListener('input', listener)
      return () => {
        listeners.delete(listener)
        document.removeEventListener('selectionchange', listener)
        root.removeEventListener('input', listener)
      }
    },
  }
}
