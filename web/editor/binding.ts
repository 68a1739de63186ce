// Binds a contenteditable element to the shared document's text, in both directions.

import * as Y from 'yjs'
import {
  type Attributes,
  type Change,
  changeLines,
  changesOf,
  deepestLevel,
  depthsOf,
  isEnded,
  type Line,
  lengthOf,
  linesOf,
  listOf,
  type Marks,
  mapPosition,
  mapRange,
  safeLink,
  softBreak,
  type TextRange,
} from '../../server/document/rich-text.ts'
import { changesBetween } from '../../server/document/text-diff.ts'
import type { Cancel } from '../../server/wire/time.ts'
import { inNextFrame } from '../link/browser-services.ts'
import type { EditorCommands, EditorState, Mark } from './commands.ts'
import { linesFrom, offsetIn, Rendering } from './rendering.ts'

export interface BindingParts {
  /** The contenteditable that medium-editor made. */
  readonly root: HTMLElement
  /** Of a document that others also change. */
  readonly text: Y.Text
  readonly mayWrite: boolean
  /** Before a local transaction: the time of the input event that caused it, ms since the epoch, or null. */
  readonly onInput?: (inputAt: number | null) => void
  /** After remote changes are in the DOM. */
  readonly onApplied?: () => void
  /** The local selection changed, also by local typing. */
  readonly onSelection?: () => void
}

export interface Binding {
  readonly commands: EditorCommands
  /** Of the transactions that this window's user makes; undo is bound to it. */
  readonly origin: unknown
  /** Null outside the editor. */
  selection(): { readonly anchor: Y.RelativePosition; readonly head: Y.RelativePosition } | null
  /** Rectangles of a range or caret given by absolute indices in the text; empty when not laid out. */
  rectsOf(from: number, to: number): DOMRect[]
  isComposing(): boolean
  /** Makes these the document's lines, as this window's user, who can undo it in one step. */
  replace(lines: readonly Line[]): void
  stop(): void
}

interface Selected {
  readonly anchor: number
  readonly head: number
}

const undoPauseMs = 500
/** UTF-16 units of one transaction, so that its update fits into a message. */
const mostInserted = 16_000

export function bindDocument(parts: BindingParts): Binding {
  return new DocumentBinding(parts)
}

/**
 * The model leads: input events become changes of the text, and the text's events are drawn. Only a composition
 * (IME) changes the DOM itself, and what else the browser does unasked; that is read back afterwards. Changes
 * that come during a composition are drawn when it ends.
 */
class DocumentBinding implements Binding {
  readonly origin = { name: 'this window’s user' }
  readonly commands: EditorCommands
  readonly #parts: BindingParts
  readonly #text: Y.Text
  readonly #doc: Y.Doc
  readonly #rendering: Rendering
  readonly #undo: Y.UndoManager
  readonly #ending = new AbortController()
  readonly #observer: MutationObserver
  readonly #stateListeners = new Set<() => void>()
  /** Changes of the text that are not drawn yet. */
  #pending: (readonly Change[])[] = []
  #hasRemote = false
  #hasLocal = false
  /** The selection before pending changes; `selected` is what it is in the lines that are drawn. */
  #kept: { readonly selected: Selected; readonly selection: ReturnType<Binding['selection']> } | null = null
  #cancelFrame: Cancel | null = null
  #isComposing = false
  /** Of a composition: the last one may come before the composition ends. */
  readonly #unread: MutationRecord[] = []
  #inputAt: number | null = null
  /** Marks chosen for what is typed next at this place. */
  #chosen: { readonly at: number; readonly marks: Marks } | null = null
  /** The selection before the change under way, for undo. */
  #before: ReturnType<Binding['selection']> = null
  #lastSelected: Selected | null = null

  constructor(parts: BindingParts) {
    this.#parts = parts
    this.#text = parts.text
    if (!parts.text.doc) throw new Error('The text to bind belongs to no document.')
    this.#doc = parts.text.doc
    // `#keepScroll` does it, also where the browser does not.
    parts.root.style.overflowAnchor = 'none'
    this.#rendering = new Rendering(parts.root)
    this.#rendering.redraw(linesOf(parts.text))
    this.#undo = new Y.UndoManager(parts.text, {
      trackedOrigins: new Set([this.origin]),
      captureTimeout: undoPauseMs,
    })
    this.#undo.on('stack-item-added', ({ stackItem }) => stackItem.meta.set('selection', this.#before))
    this.#doc.on('beforeTransaction', this.#onTransaction)
    this.#text.observe(this.#onText)
    this.#observer = new MutationObserver((records) => this.#readBack(records))
    this.#observe()
    this.commands = this.#createCommands()
    this.#listen()
  }

  // What others see

  selection(): ReturnType<Binding['selection']> {
    const selected = this.#isComposing ? this.#lastSelected : this.#selected()
    return selected && this.#relative(selected)
  }

  #relative({ anchor, head }: Selected) {
    const relative = (index: number) =>
      Y.createRelativePositionFromTypeIndex(this.#text, this.#mapPending(index), -1)
    const place = relative(anchor)
    return { anchor: place, head: anchor === head ? place : relative(head) }
  }

  rectsOf(from: number, to: number): DOMRect[] {
    this.#flush()
    const rendering = this.#rendering
    const rects: DOMRect[] = []
    const [first, last] = [rendering.find(from).place, rendering.find(to).place]
    for (let place = first; place <= last; place += 1) {
      const line = rendering.lines[place]
      const start = rendering.startOf(place)
      if (!line) break
      const [a, b] = [Math.max(from, start), Math.min(to, start + lengthOf(line))]
      const range = document.createRange()
      range.setStart(...rendering.positionOf(a))
      range.setEnd(...rendering.positionOf(b))
      const found = [...range.getClientRects()]
      if (found.length > 0) rects.push(...found)
      else rects.push(...this.#emptyRects(place))
    }
    return rects
  }

  /** A caret's rectangle where a range has none: in an empty line or beside an image. */
  #emptyRects(place: number): DOMRect[] {
    const host = this.#rendering.hostAt(place)
    const rect = host?.getBoundingClientRect()
    if (!host || !rect || rect.height === 0) return []
    const style = getComputedStyle(host)
    const height = Number.parseFloat(style.lineHeight) || rect.height
    const left = rect.left + Number.parseFloat(style.paddingLeft)
    return [new DOMRect(left, rect.top + Number.parseFloat(style.paddingTop), 0, height)]
  }

  isComposing(): boolean {
    return this.#isComposing
  }

  stop(): void {
    this.#cancelFrame?.()
    this.#cancelFrame = null
    this.#ending.abort()
    this.#observer.disconnect()
    this.#doc.off('beforeTransaction', this.#onTransaction)
    this.#text.unobserve(this.#onText)
    this.#undo.destroy()
    this.#stateListeners.clear()
  }

  // From the text to the DOM

  /** Of the selection, before others' changes: by its neighbours, who may be deleted and come back. */
  readonly #onTransaction = ({ origin }: Y.Transaction): void => {
    if (this.#pending.length > 0 || this.#isComposing || origin === this.origin || origin === this.#undo)
      return
    const selected = this.#selected()
    this.#kept = selected && { selected, selection: this.#relative(selected) }
  }

  readonly #onText = (event: Y.YTextEvent, transaction: Y.Transaction): void => {
    const changes = changesOf(event)
    if (changes.length === 0) return
    this.#pending.push(changes)
    if (transaction.origin === this.origin || transaction.origin === this.#undo) this.#hasLocal = true
    else {
      this.#hasRemote = true
      this.#flushLater()
    }
  }

  #flushLater(): void {
    if (this.#isComposing) return
    this.#cancelFrame ??= inNextFrame(() => {
      this.#cancelFrame = null
      this.#flush()
    })
  }

  /** Draws pending changes. `after`: the selection then; without it the present one stays at its words. */
  #flush(after?: Selected): void {
    if (this.#isComposing) return
    if (this.#pending.length === 0) {
      if (after) this.#select(after)
      return
    }
    const present = after ? null : this.#selected()
    let selected = after ?? present
    let lines = this.#rendering.lines
    let length = 0
    for (const changes of this.#pending) {
      lines = changeLines(lines, changes)
      if (selected && !after)
        selected = {
          anchor: mapPosition(selected.anchor, changes),
          head: mapPosition(selected.head, changes),
        }
    }
    this.#pending = []
    // Unless the user has selected something else meanwhile.
    const kept = present && this.#kept && isSameSelected(present, this.#kept.selected) ? this.#kept : null
    if (kept?.selection) {
      const anchor = this.#absolute(kept.selection.anchor)
      const isCaret = kept.selected.anchor === kept.selected.head
      const head = isCaret ? anchor : this.#absolute(kept.selection.head)
      if (anchor !== null && head !== null) selected = { anchor, head }
    }
    this.#kept = null
    const lineBefore = this.#lineOfCaret(present)
    for (const line of lines) length += lengthOf(line) + (isEnded(line) ? 1 : 0)
    if (length === this.#text.length) this.#keepScroll(lines)
    else this.#rendering.redraw(linesOf(this.#text))
    this.#observer.takeRecords()
    if (selected) this.#select(selected)
    if (this.#hasRemote) {
      this.#hasRemote = false
      this.#parts.onApplied?.()
    }
    // Others' changes elsewhere leave the toolbar as it is.
    if (this.#hasLocal || lineBefore === null || lineBefore !== this.#lineOfCaret(selected)) this.#tellState()
    this.#hasLocal = false
  }

  /** Null for a range, or for no selection. */
  #lineOfCaret(selected: Selected | null): Line | null {
    return selected?.anchor === selected?.head && selected ? this.#rendering.find(selected.head).line : null
  }

  /** Draws others' changes while the first visible line stays where it is on the screen. */
  #keepScroll(lines: readonly Line[]): void {
    const old = this.#rendering.lines
    let changed = 0
    while (changed < old.length && old[changed] === lines[changed]) changed += 1
    const changedHost = this.#hasRemote ? this.#rendering.hostAt(changed) : null
    const isBelow = !changedHost || changedHost.getBoundingClientRect().top >= innerHeight
    const seen = isBelow ? null : this.#firstVisible()
    this.#rendering.show(lines)
    if (!seen || changed > seen.place || !seen.host.isConnected) return
    const movedBy = seen.host.getBoundingClientRect().top - seen.top
    if (movedBy !== 0) seen.scroller.scrollBy({ top: movedBy, behavior: 'instant' })
  }

  /** Null while the document's beginning is visible. */
  #firstVisible(): { scroller: Element; host: HTMLElement; place: number; top: number } | null {
    const { root } = this.#parts
    const scroller = scrollerOf(root)
    const { top: edge } = visiblePart(scroller)
    if (root.getBoundingClientRect().top >= edge) return null
    const topOf = (place: number) => this.#rendering.hostAt(place)?.getBoundingClientRect().top ?? 0
    let [above, below] = [0, this.#rendering.lines.length]
    while (below - above > 1) {
      const middle = (above + below) >> 1
      if (topOf(middle) < edge) above = middle
      else below = middle
    }
    // The first whole line, if there is one: the one above it may be what others change.
    const place = Math.min(below, this.#rendering.lines.length - 1)
    const host = this.#rendering.hostAt(place)
    return host && { scroller, host, place, top: topOf(place) }
  }

  #selected(): Selected | null {
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = getSelection() ?? {}
    if (!anchorNode || !focusNode) return null
    const anchor = this.#rendering.indexOf(anchorNode, anchorOffset)
    if (anchor === null) return null
    if (anchorNode === focusNode && anchorOffset === focusOffset) return { anchor, head: anchor }
    const head = this.#rendering.indexOf(focusNode, focusOffset)
    return head === null ? null : { anchor, head }
  }

  #select({ anchor, head }: Selected): void {
    this.#lastSelected = { anchor, head }
    const selection = getSelection()
    const [anchorNode, anchorOffset] = this.#rendering.positionOf(anchor)
    const [headNode, headOffset] =
      anchor === head ? [anchorNode, anchorOffset] : this.#rendering.positionOf(head)
    const isThere =
      selection?.anchorNode === anchorNode &&
      selection.anchorOffset === anchorOffset &&
      selection.focusNode === headNode &&
      selection.focusOffset === headOffset
    // Chromium's own selection may differ from the one that it reports, except a caret in text.
    const isSure = anchor === head && anchorNode instanceof Text
    if (isThere && (isSure || document.activeElement !== this.#parts.root)) return
    selection?.setBaseAndExtent(anchorNode, anchorOffset, headNode, headOffset)
  }

  // From the DOM to the text

  #observe(): void {
    this.#observer.observe(this.#parts.root, { childList: true, characterData: true, subtree: true })
  }

  /** Takes over what the browser changed by itself. */
  #readBack(records: readonly MutationRecord[]): void {
    this.#unread.push(...records)
    if (this.#isComposing || this.#unread.length === 0) return
    this.#takeOver(this.#unread.splice(0))
    this.#flush()
  }

  #takeOver(records: readonly MutationRecord[]): void {
    const hosts = new Set<HTMLElement>()
    let isInLines = true
    for (const { target, addedNodes } of records) {
      // The removal of a node is a record of its own.
      if (!this.#parts.root.contains(target)) continue
      const host = this.#rendering.hostOf(target)
      if (!host?.isConnected || Array.from(addedNodes).some(isBlock)) isInLines = false
      else hosts.add(host)
    }
    if (!this.#parts.mayWrite) this.#redraw()
    else if (isInLines) for (const host of hosts) this.#takeOverLine(host)
    else this.#takeOverAll()
  }

  /** Makes a change of the text from the difference between a line and what its host shows. */
  #takeOverLine(host: HTMLElement): void {
    const rendering = this.#rendering
    const place = rendering.placeOf(host)
    const line = rendering.lines[place]
    if (!line) return
    const { focusNode, focusOffset = 0 } = getSelection() ?? {}
    const caret = focusNode && host.contains(focusNode) ? offsetIn(host, focusNode, focusOffset) : null
    const start = rendering.startOf(place)
    const change = difference(textOf(line), rendering.textOf(host), caret)
    const { from, removed } = change
    this.#takeOverText(change, start, caret, () => this.#marksAt(place, from, removed > 0))
    rendering.correct([host])
    this.#observer.takeRecords()
  }

  /** After a change of the structure: blocks that the browser made are lines, their kind is lost. */
  #takeOverAll(): void {
    const old = this.#rendering.lines.map(textOf).join('\n')
    const now = linesFrom(this.#parts.root).map(textOf).join('\n')
    this.#takeOverText(difference(old, now, null), 0, null, () => ({}))
    this.#redraw()
  }

  /** `start`: where the compared text begins. `caret`: where it is in the new one. Others' changes may be pending. */
  #takeOverText(
    { from, removed, inserted }: ReturnType<typeof difference>,
    start: number,
    caret: number | null,
    marks: () => Marks,
  ): void {
    const begin = this.#mapPending(start + from)
    // Without what others inserted there.
    let gone: TextRange[] = [{ from: start + from, to: start + from + removed }]
    for (const changes of this.#pending) gone = gone.flatMap((range) => mapRange(range, changes))
    if (removed > 0 || inserted !== '')
      this.#transact(() => {
        const attributes = { ...marks() }
        for (const range of gone.toReversed()) this.#text.delete(range.from, range.to - range.from)
        if (inserted !== '') this.#text.insert(begin, inserted, attributes)
      })
    let after: number | null = null
    if (caret !== null) {
      const offset = caret - from
      if (offset < 0) after = this.#mapPending(start + caret)
      else if (offset <= inserted.length) after = begin + offset
      else after = this.#mapPending(start + caret - inserted.length + removed)
    }
    this.#flush(after === null ? undefined : { anchor: after, head: after })
  }

  #redraw(): void {
    this.#pending = []
    this.#rendering.redraw(linesOf(this.#text))
    this.#observer.takeRecords()
  }

  #mapPending(index: number): number {
    let mapped = index
    for (const changes of this.#pending) mapped = mapPosition(mapped, changes)
    return mapped
  }

  /** One change by this window's user. */
  #transact(change: () => void): void {
    this.#before = this.selection()
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    this.#doc.transact(() => {
      // The last line gets its end with its first change. Pending changes say that there was another one.
      if (this.#pending.length === 0 && !isEnded(this.#rendering.lines.at(-1)))
        this.#text.insert(this.#text.length, '\n', {})
      change()
    }, this.origin)
  }

  /** Changes the text, draws it, and selects what `change` returns. */
  #edit(change: (text: Y.Text) => Selected | number): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    let after: Selected | number = 0
    this.#transact(() => {
      after = change(this.#text)
    })
    this.#chosen = null
    this.#flush(typeof after === 'number' ? { anchor: after, head: after } : after)
    this.#reveal()
    this.#tellSelection()
  }

  /** An edit that undo takes back by itself, without what was typed around it. */
  #asStep(change: (text: Y.Text) => Selected | number): void {
    this.#undo.stopCapturing()
    this.#edit(change)
    this.#undo.stopCapturing()
  }

  // Changes

  #range(): (TextRange & { isCollapsed: boolean }) | null {
    this.#flush()
    const selected = this.#selected()
    if (!selected) return null
    const { anchor, head } = selected
    return { from: Math.min(anchor, head), to: Math.max(anchor, head), isCollapsed: anchor === head }
  }

  /** Of what is typed there: those before the caret; at the beginning of a line those after it. */
  #marksAt(place: number, offset: number, replaces = false): Marks {
    const line = this.#rendering.lines[place]
    if (!line) return {}
    const index = this.#rendering.startOf(place) + offset
    if (this.#chosen?.at === index) return this.#chosen.marks
    const [before, after] = [runAt(line, offset - 1), runAt(line, offset)]
    const { image, ...marks } = ((replaces ? after : (before ?? after)) ?? before)?.marks ?? {}
    // A link grows only inside.
    if (marks.link !== undefined && (before?.marks.link !== after?.marks.link || !before)) {
      const { link, ...others } = marks
      return others
    }
    return marks
  }

  #insertText(from: number, to: number, inserted: string): void {
    this.#edit((text) => {
      const { place, offset } = this.#rendering.find(from)
      const marks = this.#marksAt(place, offset, to > from)
      this.#remove(from, to)
      text.insert(from, inserted, { ...marks })
      return from + inserted.length
    })
  }

  /** Deletes; where lines merge, the result is what the first one was, unless that was empty. */
  #remove(from: number, to: number): void {
    if (to <= from) return
    const [first, last] = [this.#rendering.find(from), this.#rendering.find(to)]
    this.#text.delete(from, to - from)
    if (first.place === last.place || lengthOf(first.line) === 0) return
    if (first.line.block === last.line.block && first.line.align === last.line.align) return
    this.#formatEnd(from + lengthOf(last.line) - last.offset, first.line)
  }

  #formatEnd(index: number, { block, align }: Pick<Line, 'block' | 'align'>): void {
    this.#text.format(index, 1, { block: block === 'p' ? null : block, align })
  }

  #split(from: number, to: number): void {
    this.#edit((text) => {
      const { place, line, offset } = this.#rendering.find(from)
      const next = this.#rendering.lines[place + 1]
      const list = listOf(line.block)
      const isEmpty = from === to && lengthOf(line) === 0
      if (isEmpty && (list || (isContinued(line.block) && next?.block !== line.block))) {
        const outer = list && list.level > 1 ? `${list.kind}${list.level - 1}` : 'p'
        this.#formatEnd(from, { block: outer, align: line.align })
        return from
      }
      const rest = to > from ? this.#rendering.find(to) : { place, line, offset }
      this.#remove(from, to)
      const isHeading = /^h[1-6]$/.test(line.block)
      const tail = lengthOf(rest.line) - rest.offset
      const head = isHeading && offset === 0 && tail > 0 ? { ...line, block: 'p' } : line
      text.insert(from, '\n', endAttributes(head))
      if (isHeading && tail === 0) this.#formatEnd(from + 1, { ...line, block: 'p' })
      return from + 1
    })
  }

  #backspace(from: number): void {
    const { place, line } = this.#rendering.find(from)
    if (line.block !== 'p')
      this.#edit(() => {
        this.#formatEnd(from + lengthOf(line), { block: 'p', align: line.align })
        return from
      })
    else if (place > 0)
      this.#edit(() => {
        this.#remove(from - 1, from)
        return from - 1
      })
  }

  #delete(inputType: string, range: TextRange, target: TextRange): void {
    let { from, to } = range
    if (from === to) {
      const isForward = inputType.endsWith('Forward')
      const isBackward = inputType.endsWith('Backward')
      const { line, offset } = this.#rendering.find(from)
      if (isBackward && offset === 0) {
        this.#backspace(from)
        return
      }
      const before = graphemeBefore(textOf(line).slice(0, offset))
      if (isForward && offset === lengthOf(line)) to = from + 1
      else if (inputType === 'deleteContentBackward' && isPictogram.test(before)) from -= before.length
      else if (target.to > target.from) ({ from, to } = target)
      else if (isForward) to = from + graphemeAfter(textOf(line).slice(offset)).length
      else if (isBackward) from -= before.length
    }
    const end = this.#rendering.startOf(this.#rendering.lines.length) - 1
    to = Math.min(to, end)
    if (to <= from) return
    this.#edit(() => {
      this.#remove(from, to)
      return from
    })
  }

  /** What the browser would change, counted in the text with pending changes. */
  #targetOf(event: InputEvent): TextRange | null {
    const [target] = event.getTargetRanges()
    if (!target) return null
    const from = this.#rendering.indexOf(target.startContainer, target.startOffset)
    const to = this.#rendering.indexOf(target.endContainer, target.endOffset)
    if (from === null || to === null) return null
    return { from: this.#mapPending(from), to: this.#mapPending(to) }
  }

  /** The lines that a selection touches, with where they begin. */
  #linesIn(from: number, to: number): { place: number; start: number; line: Line }[] {
    const [first, last] = [this.#rendering.find(from).place, this.#rendering.find(to).place]
    const found: { place: number; start: number; line: Line }[] = []
    let start = this.#rendering.startOf(first)
    for (let place = first; place <= last; place += 1) {
      const line = this.#rendering.lines[place]
      if (!line) break
      found.push({ place, start, line })
      start += lengthOf(line) + 1
    }
    return found
  }

  /** Gives the selected lines new blocks, as `change` says; null leaves a line as it is. */
  #setBlocks(change: (line: Line, place: number) => string | null): void {
    const selected = this.#selected()
    const range = this.#range()
    if (!selected || !range) return
    this.#asStep(() => {
      for (const { place, start, line } of this.#linesIn(range.from, range.to)) {
        const block = change(line, place)
        if (block === null || block === line.block) continue
        this.#formatEnd(start + lengthOf(line), { block, align: line.align })
      }
      return selected
    })
  }

  #format(from: number, to: number, attributes: Attributes): void {
    const selected = this.#selected()
    if (!selected) return
    this.#asStep((text) => {
      text.format(from, to - from, attributes)
      return selected
    })
  }

  // Commands

  #createCommands(): EditorCommands {
    return {
      toggleMark: (mark) => this.#toggleMark(mark),
      setBlock: (block) => {
        const range = this.#range()
        if (!range) return
        const isThere = this.#linesIn(range.from, range.to).every(({ line }) => line.block === block)
        this.#setBlocks(() => (isThere ? 'p' : block))
      },
      toggleList: (kind) => {
        const range = this.#range()
        if (!range) return
        const isThere = this.#linesIn(range.from, range.to).every(
          ({ line }) => listOf(line.block)?.kind === kind,
        )
        this.#setBlocks(({ block }) => (isThere ? 'p' : `${kind}${listOf(block)?.level ?? 1}`))
      },
      indent: (by) => this.#indent(by),
      setLink: (href) => this.#setLink(href),
      undo: () => this.#revert(() => this.#undo.undo()),
      redo: () => this.#revert(() => this.#undo.redo()),
      insert: (content) => this.#insertLines(linesFrom(content)),
      state: () => this.#state(),
      onState: (listener) => {
        this.#stateListeners.add(listener)
        return () => this.#stateListeners.delete(listener)
      },
    }
  }

  #state(): EditorState {
    const [canUndo, canRedo] = [this.#undo.undoStack.length > 0, this.#undo.redoStack.length > 0]
    const selected = this.#isComposing ? null : this.#selected()
    if (!selected) return { marks: new Set(), block: 'p', link: null, canUndo, canRedo }
    const [from, to] = [Math.min(selected.anchor, selected.head), Math.max(selected.anchor, selected.head)]
    const { place, line, offset } = this.#rendering.find(from)
    const runs = to > from ? this.#runsIn(from, to) : [{ text: '', marks: this.#marksAt(place, offset) }]
    const names = (['bold', 'italic', 'underline', 'strike', 'code', 'sub', 'super'] as const).filter(
      (mark) => runs.length > 0 && runs.every(({ marks }) => hasMark(marks, mark)),
    )
    const link = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link ?? null
    return { marks: new Set(names), block: line.block, link, canUndo, canRedo }
  }

  #runsIn(from: number, to: number): { text: string; marks: Marks }[] {
    return this.#linesIn(from, to).flatMap(({ start, line }) => {
      let at = start
      return line.runs.filter(({ text }) => {
        const begin = at
        at += text.length
        return begin < to && at > from
      })
    })
  }

  #toggleMark(mark: Mark): void {
    const range = this.#range()
    if (!range || !this.#parts.mayWrite) return
    const { from, to, isCollapsed } = range
    const isOn = this.#state().marks.has(mark)
    const key = mark === 'sub' || mark === 'super' ? 'script' : mark
    const value = isOn ? null : key === 'script' ? mark : true
    if (!isCollapsed) {
      this.#format(from, to, { [key]: value })
      return
    }
    const { place, offset } = this.#rendering.find(from)
    const { [key]: _, ...marks } = this.#marksAt(place, offset)
    this.#chosen = { at: from, marks: value === null ? marks : { ...marks, [key]: value } }
    this.#tellState()
  }

  #indent(by: 1 | -1): void {
    const { lines } = this.#rendering
    const depths = depthsOf(lines)
    let carriedFrom = 0
    this.#setBlocks((line, place) => {
      const list = listOf(line.block)
      const depth = depths[place] ?? 0
      if (!list) return null
      const most = Math.min(deepestLevel, (depths[place - 1] ?? 0) + 1 + carriedFrom)
      const next = depth + by
      if (next < 1) return 'p'
      if (next > most) return null
      carriedFrom = by === 1 ? 1 : 0
      return `${list.kind}${next}`
    })
  }

  #setLink(href: string | null): void {
    const link = href === null ? null : safeLink(href)
    const range = this.#range()
    if (!range || (href !== null && link === null)) return
    let { from, to } = range
    if (range.isCollapsed) {
      const { line, place, offset } = this.#rendering.find(from)
      const present = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link
      if (present === undefined) {
        if (link === null) return
        const shown = link.replace(/^(https?:\/\/|mailto:)/i, '')
        this.#edit((text) => {
          text.insert(from, shown, { ...this.#marksAt(place, offset), link })
          return from + shown.length
        })
        return
      }
      // The whole link that the caret is in.
      const start = this.#rendering.startOf(place)
      let [first, last] = [offset, offset]
      while (runAt(line, first - 1)?.marks.link === present) first -= 1
      while (runAt(line, last)?.marks.link === present) last += 1
      ;[from, to] = [start + first, start + last]
    }
    this.#format(from, to, { link })
  }

  #revert(act: () => unknown): void {
    if (this.#isComposing || !this.#parts.mayWrite) return
    this.#flush()
    this.#before = this.selection()
    let restored: ReturnType<Binding['selection']> = null
    const onPopped = ({ stackItem }: { stackItem: { meta: Map<unknown, unknown> } }) => {
      restored = (stackItem.meta.get('selection') as ReturnType<Binding['selection']>) ?? null
    }
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    // TypeScript does not see that the listener assigns it.
    const found = () => restored as ReturnType<Binding['selection']>
    this.#undo.on('stack-item-popped', onPopped)
    act()
    this.#undo.off('stack-item-popped', onPopped)
    const anchor = this.#absolute(found()?.anchor)
    const head = this.#absolute(found()?.head)
    if (anchor !== null && head !== null) this.#flush({ anchor, head })
    else this.#flush()
    this.#reveal()
    this.#tellState()
    this.#tellSelection()
  }

  #absolute(position: Y.RelativePosition | undefined): number | null {
    return position
      ? (Y.createAbsolutePositionFromRelativePosition(position, this.#doc)?.index ?? null)
      : null
  }

  /** In several transactions, if it is long. */
  replace(lines: readonly Line[]): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    const changes = changesBetween(this.#rendering.lines, lines)
    this.#undo.stopCapturing()
    this.#undo.captureTimeout = Number.POSITIVE_INFINITY
    let at = 0
    let batch: Change[] = []
    let size = 0
    const apply = () => {
      const start = at
      const some = batch
      this.#transact(() => this.#text.applyDelta([{ retain: start }, ...some]))
      for (const change of some) {
        if ('retain' in change) at += change.retain
        else if ('insert' in change) at += change.insert.length
      }
      batch = []
      size = 0
    }
    for (const change of changes) {
      if ('insert' in change) {
        const { insert, attributes = {} } = change
        for (let start = 0; start < insert.length; start += mostInserted) {
          if (size > 0 && size + mostInserted > 2 * mostInserted) apply()
          const piece = insert.slice(start, start + mostInserted)
          batch.push({ insert: piece, attributes: { ...attributes } })
          size += piece.length
        }
      } else batch.push(change)
    }
    if (batch.length > 0) apply()
    this.#undo.captureTimeout = undoPauseMs
    this.#undo.stopCapturing()
    this.#flush()
  }

  /** In several transactions, if it is long. */
  #insertLines(lines: readonly Line[]): void {
    const range = this.#range()
    const [firstLine] = lines
    if (!range || !firstLine || !this.#parts.mayWrite) return
    const { from, to } = range
    const { line: present, offset } = this.#rendering.find(from)
    const rest = this.#rendering.find(to)
    const tail = lengthOf(rest.line) - rest.offset
    const isBlank = lengthOf(present) === 0
    const takesFirst = isBlank || (offset === 0 && lines.length > 1)
    const pieces: { insert: string; attributes: Attributes }[] = []
    for (const [place, line] of lines.entries()) {
      if (place > 0) {
        const before = lines[place - 1] ?? line
        pieces.push({
          insert: '\n',
          attributes: endAttributes(place === 1 && !takesFirst ? present : before),
        })
      }
      for (const { text, marks } of line.runs)
        for (let start = 0; start < text.length; start += mostInserted)
          pieces.push({ insert: text.slice(start, start + mostInserted), attributes: { ...marks } })
    }
    const last = lines.at(-1) ?? firstLine
    let at = from
    this.#undo.stopCapturing()
    this.#undo.captureTimeout = Number.POSITIVE_INFINITY
    this.#edit(() => {
      this.#remove(from, to)
      if (tail === 0 && (lines.length > 1 || isBlank) && (last.block !== rest.line.block || to > from))
        this.#formatEnd(from, last)
      return from
    })
    while (pieces.length > 0) {
      const batch: typeof pieces = []
      let size = 0
      while (pieces[0] && (size === 0 || size + sizeOf(pieces[0]) <= mostInserted)) {
        size += sizeOf(pieces[0])
        batch.push(pieces.shift() as (typeof pieces)[number])
      }
      const start = at
      this.#transact(() => this.#text.applyDelta([{ retain: start }, ...batch]))
      for (const { insert } of batch) at += insert.length
    }
    this.#undo.captureTimeout = undoPauseMs
    this.#undo.stopCapturing()
    this.#flush({ anchor: at, head: at })
    this.#reveal()
    this.#tellSelection()
  }

  // Events

  #listen(): void {
    const { root, mayWrite } = this.#parts
    const options = { capture: true, signal: this.#ending.signal }
    document.addEventListener('selectionchange', () => this.#onSelectionChange(), options)
    if (!mayWrite) return
    root.addEventListener('keydown', (event) => this.#onKeyDown(event), options)
    // medium-editor formats blocks on these.
    root.addEventListener(
      'keyup',
      (event) => ownKeys.has(event.key) && event.stopImmediatePropagation(),
      options,
    )
    root.addEventListener('focus', () => this.#onFocus(), options)
    root.addEventListener('beforeinput', (event) => this.#onBeforeInput(event), options)
    root.addEventListener('compositionstart', () => this.#onCompositionStart(), options)
    root.addEventListener('compositionend', () => this.#onCompositionEnd(), options)
  }

  #onSelectionChange(): void {
    if (this.#isComposing) return
    const selected = this.#selected()
    const last = this.#lastSelected
    if (selected?.anchor === last?.anchor && selected?.head === last?.head) return
    this.#lastSelected = selected
    if (this.#chosen && (selected?.head !== this.#chosen.at || selected.anchor !== this.#chosen.at))
      this.#chosen = null
    this.#tellState()
    this.#parts.onSelection?.()
  }

  /** After `focus()` or Tab, Chromium keeps its caret at the root's start, not in the text that it reports. */
  #onFocus(): void {
    const selection = getSelection()
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = selection ?? {}
    if (anchorNode && focusNode && this.#parts.root.contains(anchorNode))
      selection?.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset)
  }

  #onKeyDown(event: KeyboardEvent): void {
    if (event.isComposing || this.#isComposing) return
    if (ownKeys.has(event.key)) event.stopImmediatePropagation()
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey
    const key = event.key.toLowerCase()
    if (event.key === 'Tab' && !isCommand && !event.altKey) {
      if (!/^[uo]l/.test(this.#state().block)) return
      event.preventDefault()
      event.stopImmediatePropagation()
      this.#noteInput(event)
      this.#indent(event.shiftKey ? -1 : 1)
    } else if (isCommand && !event.defaultPrevented && (key === 'z' || (key === 'y' && !event.shiftKey))) {
      event.preventDefault()
      event.stopImmediatePropagation()
      this.#noteInput(event)
      if (key === 'y' || event.shiftKey) this.commands.redo()
      else this.commands.undo()
    }
  }

  #noteInput({ timeStamp }: Event): void {
    this.#inputAt = performance.timeOrigin + timeStamp
  }

  #onBeforeInput(event: InputEvent): void {
    this.#noteInput(event)
    const { inputType } = event
    if (this.#isComposing || event.isComposing || /Composition/.test(inputType) || !event.cancelable) return
    event.preventDefault()
    const asked = this.#targetOf(event)
    // What the browser did before is to be read first.
    this.#readBack(this.#observer.takeRecords())
    const range = this.#range()
    if (!range) return
    const target = asked ?? range
    const inserted = event.data ?? event.dataTransfer?.getData('text/plain') ?? ''
    if (inputType.startsWith('delete')) this.#delete(inputType, range, target)
    else if (inputType === 'insertParagraph') this.#split(range.from, range.to)
    else if (inputType === 'insertLineBreak') this.#insertText(range.from, range.to, softBreak)
    else if (inputType === 'insertText' || inputType === 'insertReplacementText') {
      if (inserted !== '') this.#insertText(target.from, target.to, inserted.replaceAll(/\r?\n/g, softBreak))
    } else if (/^insertFrom|^insertTranspose/.test(inputType)) {
      if (inputType === 'insertFromDrop') this.#select({ anchor: target.from, head: target.to })
      this.#insertLines(linesOfPlain(inserted))
    } else if (inputType === 'historyUndo') this.commands.undo()
    else if (inputType === 'historyRedo') this.commands.redo()
    else this.#formatAsked(inputType)
  }

  #formatAsked(inputType: string): void {
    const mark = markOfInput[inputType]
    if (mark) this.#toggleMark(mark)
    else if (inputType === 'formatIndent') this.#indent(1)
    else if (inputType === 'formatOutdent') this.#indent(-1)
    else if (inputType === 'insertOrderedList') this.commands.toggleList('ol')
    else if (inputType === 'insertUnorderedList') this.commands.toggleList('ul')
  }

  #onCompositionStart(): void {
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    const range = this.#range()
    if (range && this.#rendering.find(range.from).place !== this.#rendering.find(range.to).place)
      this.#edit(() => {
        this.#remove(range.from, range.to)
        return range.from
      })
    this.#lastSelected = this.#selected()
    this.#isComposing = true
  }

  #onCompositionEnd(): void {
    this.#isComposing = false
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    this.#tellSelection()
  }

  /** Scrolls to the caret, which the browser does only for its own changes. */
  #reveal(): void {
    inNextFrame(() => {
      const selected = this.#isComposing ? null : this.#selected()
      const rect = selected && this.rectsOf(selected.head, selected.head).at(-1)
      if (!rect) return
      const scroller = scrollerOf(this.#parts.root)
      const { top, bottom } = visiblePart(scroller)
      const by = rect.bottom > bottom ? rect.bottom - bottom : Math.min(0, rect.top - top)
      if (by !== 0) scroller.scrollBy({ top: by, behavior: 'instant' })
    })
  }

  #tellState(): void {
    for (const listener of this.#stateListeners) listener()
  }

  #tellSelection(): void {
    this.#lastSelected = this.#selected()
    this.#tellState()
    this.#parts.onSelection?.()
  }
}

function scrollerOf(root: HTMLElement): Element {
  for (let element: Element | null = root; element; element = element.parentElement) {
    if (element === document.scrollingElement || element === document.body) break
    if (
      element.scrollHeight > element.clientHeight &&
      /auto|scroll/.test(getComputedStyle(element).overflowY)
    )
      return element
  }
  return document.scrollingElement ?? document.documentElement
}

/** Top and bottom of what a scroller shows, without its scroll padding. */
function visiblePart(scroller: Element): { top: number; bottom: number } {
  const style = getComputedStyle(scroller)
  const [above, below] = [
    Number.parseFloat(style.scrollPaddingTop),
    Number.parseFloat(style.scrollPaddingBottom),
  ]
  const rect =
    scroller === document.scrollingElement
      ? { top: 0, bottom: innerHeight }
      : scroller.getBoundingClientRect()
  return { top: rect.top + (above || 0), bottom: rect.bottom - (below || 0) }
}

/** Keys that medium-editor would act on by itself. */
const ownKeys: ReadonlySet<string> = new Set(['Enter', 'Backspace', 'Delete'])

const markOfInput: Readonly<Record<string, Mark>> = {
  formatBold: 'bold',
  formatItalic: 'italic',
  formatUnderline: 'underline',
  formatStrikeThrough: 'strike',
  formatSubscript: 'sub',
  formatSuperscript: 'super',
}

function hasMark(marks: Marks, mark: Mark): boolean {
  return mark === 'sub' || mark === 'super' ? marks.script === mark : marks[mark] === true
}

function isSameSelected(one: Selected, other: Selected): boolean {
  return one.anchor === other.anchor && one.head === other.head
}

function textOf(line: Line): string {
  return line.runs.map(({ text }) => text).join('')
}

function runAt(line: Line, offset: number) {
  if (offset < 0) return undefined
  let end = 0
  return line.runs.find(({ text }) => {
    end += text.length
    return offset < end
  })
}

/** Blocks of which several lines are one thing, so that an empty line at its end leaves it. */
function isContinued(block: string): boolean {
  return block === 'blockquote' || block === 'pre'
}

function endAttributes({ block, align }: Pick<Line, 'block' | 'align'>): Attributes {
  return { ...(block === 'p' ? {} : { block }), ...(align === null ? {} : { align }) }
}

function sizeOf({ insert, attributes }: { insert: string; attributes: Attributes }): number {
  return insert.length + JSON.stringify(attributes).length
}

function linesOfPlain(text: string): Line[] {
  return text.split(/\r?\n/).map((line) => ({
    runs: line === '' ? [] : [{ text: line, marks: {} }],
    block: 'p',
    align: null,
  }))
}

function isBlock(node: Node): boolean {
  return node instanceof HTMLElement && /^(p|div|h[1-6]|blockquote|pre|ul|ol|li)$/.test(node.localName)
}

/** The shortest change from `old` to `now`, behind the caret if it is known; it cuts no surrogate pair. */
function difference(
  old: string,
  now: string,
  caret: number | null,
): { from: number; removed: number; inserted: string } {
  const most = Math.min(old.length, now.length)
  let same = 0
  const mostBehind = Math.min(most, now.length - (caret ?? now.length))
  while (same < mostBehind && old[old.length - 1 - same] === now[now.length - 1 - same]) same += 1
  let from = 0
  while (from < most - same && old[from] === now[from]) from += 1
  if (/[\uD800-\uDBFF]/.test(now[from - 1] ?? '') && from > 0) from -= 1
  if (/[\uDC00-\uDFFF]/.test(now[now.length - same] ?? '') && same > 0) same -= 1
  return { from, removed: old.length - from - same, inserted: now.slice(from, now.length - same) }
}

const graphemes = new Intl.Segmenter()

function graphemeAfter(text: string): string {
  const [first] = graphemes.segment(text.slice(0, 100))
  return first?.segment ?? ''
}

function graphemeBefore(text: string): string {
  const end = text.slice(-100)
  return graphemes.segment(end).containing(end.length - 1)?.segment ?? ''
}

/** Firefox would delete a part of it. */
const isPictogram = /\p{Extended_Pictographic}/u
