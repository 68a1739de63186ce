// Binds a contenteditable element to the shared document's text, in both directions.

import * as Y from 'yjs'
import {
  type Attributes,
  type Change,
  changeLines,
  changesOf,
  findIn,
  isEnded,
  type Line,
  lengthOf,
  linesOf,
  type Marks,
  mapPosition,
  rebase,
  safeLink,
  softBreak,
  startOfLine,
  type TextRange,
} from '../../server/document/rich-text.ts'
import { changesBetween } from '../../server/document/text-diff.ts'
import { withoutHalves } from '../../server/wire/graphemes.ts'
import type { Cancel } from '../../server/wire/time.ts'
import { inNextFrame } from '../frames.ts'
import type { EditorCommands, EditorState, Mark } from './commands.ts'
import {
  deleteText,
  type Edit,
  expandShorthand,
  formatText,
  hasMark,
  inBatches,
  indent,
  insertLines,
  insertText,
  linesIn,
  linesWithin,
  linkAround,
  marksAt,
  rangeOf,
  removeRange,
  runAt,
  runsIn,
  type Selected,
  splitLine,
  toggleBlock,
  toggleList,
  transpose,
  withLineEnd,
} from './edits.ts'
import { Rendering } from './rendering.ts'

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
  selection(): SelectedText | null
  /** What the selection contains, to copy it; empty for a caret. */
  selectedLines(): Line[]
  deleteSelected(): void
  /** Moves or copies text to a place in the DOM, and selects it there. */
  moveText(text: SelectedText, to: readonly [node: Node, offset: number], isCopy: boolean): void
  /** Rectangles of a range or caret given by absolute indices in the text; empty when not laid out. */
  rectsOf(from: number, to: number): DOMRect[]
  isComposing(): boolean
  /** Makes these the document's lines, as this window's user, who can undo it in one step. */
  replace(lines: readonly Line[]): void
  stop(): void
}

/** A selection that stays at its words while others edit. */
export interface SelectedText {
  readonly anchor: Y.RelativePosition
  readonly head: Y.RelativePosition
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
  #kept: { readonly selected: Selected; readonly selection: SelectedText | null } | null = null
  #cancelFrame: Cancel | null = null
  #isComposing = false
  /** Of a composition: the last one may come before the composition ends. */
  readonly #unread: MutationRecord[] = []
  #inputAt: number | null = null
  /** The first half of a surrogate pair, until the second one is typed. */
  #half = ''
  /** Marks chosen for what is typed next at this place. */
  #chosen: { readonly at: number; readonly marks: Marks } | null = null
  /** The selection before the change under way, for undo. */
  #before: SelectedText | null = null
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

  selection(): SelectedText | null {
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
    for (const { place, start, line } of linesIn(rendering.lines, { from, to })) {
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
    const left =
      style.direction === 'rtl'
        ? rect.right - Number.parseFloat(style.paddingRight)
        : rect.left + Number.parseFloat(style.paddingLeft)
    return [new DOMRect(left, rect.top + Number.parseFloat(style.paddingTop), 0, height)]
  }

  selectedLines(): Line[] {
    const range = this.#range()
    return range && range.to > range.from ? linesWithin(this.#rendering.lines, range) : []
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

  /**
   * Draws pending changes. `after`: the selection then; without it the present one stays at its words. `changed`: lines
   * whose elements somebody else changed.
   */
  #flush(after?: Selected, changed?: TextRange): void {
    if (this.#isComposing) return
    if (this.#pending.length === 0 && !changed) {
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
    if (length !== this.#text.length) this.#rendering.redraw(linesOf(this.#text))
    else if (changed) this.#rendering.repair(lines, changed)
    else this.#keepScroll(lines)
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
    return selected?.anchor === selected?.head && selected
      ? findIn(this.#rendering.lines, selected.head).line
      : null
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
    this.#observer.observe(this.#parts.root, {
      childList: true,
      characterData: true,
      attributeFilter: ['align', 'href', 'src', 'start', 'style', 'value'],
      subtree: true,
    })
  }

  /** Takes over what the browser, or anybody else, changed in the DOM. */
  #readBack(records: readonly MutationRecord[]): void {
    this.#unread.push(...records)
    if (this.#isComposing || this.#unread.length === 0) return
    this.#takeOver(this.#unread.splice(0).map(({ target }) => target))
  }

  /** Makes changes of the text from the difference between the lines and what the DOM shows. */
  #takeOver(changed: readonly Node[]): void {
    if (!this.#parts.mayWrite) {
      this.#redraw()
      return
    }
    const rendering = this.#rendering
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = getSelection() ?? {}
    const ends =
      anchorNode && focusNode
        ? ([
            [anchorNode, anchorOffset],
            [focusNode, focusOffset],
          ] as const)
        : []
    const { from, to, lines, indices } = rendering.read(changed, ends)
    const [anchor = null, head = null] = indices
    let selected = anchor === null || head === null ? null : { anchor, head }
    const before = this.#lastSelected ?? selected
    const hint = selected && before && { before: rangeOf(before), after: rangeOf(selected) }
    const old = rendering.lines
    let changes = changesBetween(withEnd(old), [...old.slice(0, from), ...lines, ...old.slice(to)], hint)
    for (const others of this.#pending) {
      const moved = rebase(others, changes, false)
      changes = rebase(changes, others, true)
      if (selected)
        selected = { anchor: mapPosition(selected.anchor, moved), head: mapPosition(selected.head, moved) }
    }
    if (changes.length > 0) this.#transact(changes)
    this.#flush(selected ?? undefined, { from, to })
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
  #transact(changes: readonly Change[]): void {
    this.#before = this.selection()
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    this.#doc.transact(() => {
      // The last line gets its end with its first change. Pending changes say that there was another one.
      if (this.#pending.length === 0 && !isEnded(this.#rendering.lines.at(-1)))
        this.#text.insert(this.#text.length, '\n', {})
      this.#text.applyDelta([...changes])
    }, this.origin)
  }

  /** Changes the text, in several transactions if the change is long, draws it and selects what the edit says. */
  #edit(makeEdit: (lines: readonly Line[], selected: Selected) => Edit | null): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    const selected = this.#selected()
    const edit = selected && makeEdit(this.#rendering.lines, selected)
    if (!edit) return
    this.#apply(edit.changes)
    this.#chosen = null
    this.#flush(edit.selected)
    this.#reveal()
    this.#tellSelection()
  }

  #apply(changes: readonly Change[]): void {
    const batches = inBatches(changes, mostInserted)
    if (batches.length === 1) {
      this.#transact(changes)
      return
    }
    this.#asStep(() => {
      for (const batch of batches) this.#transact(batch)
    })
  }

  /** What `act` does is taken back by one undo, without what was typed around it. */
  #asStep(act: () => void): void {
    this.#undo.stopCapturing()
    this.#undo.captureTimeout = Number.POSITIVE_INFINITY
    act()
    this.#undo.captureTimeout = undoPauseMs
    this.#undo.stopCapturing()
  }

  replace(lines: readonly Line[]): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    this.#asStep(() => this.#apply(changesBetween(withEnd(this.#rendering.lines), lines)))
    this.#flush()
  }

  deleteSelected(): void {
    this.#asStep(() => this.#edit((lines, selected) => removeRange(lines, rangeOf(selected))))
  }

  moveText(text: SelectedText, to: readonly [node: Node, offset: number], isCopy: boolean): void {
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    const target = this.#rendering.indexOf(...to)
    const [anchor, head] = [this.#absolute(text.anchor), this.#absolute(text.head)]
    if (target === null || anchor === null || head === null) return
    const source = rangeOf({ anchor, head })
    if (!isCopy && target >= source.from && target <= source.to) return
    const { length } = this.#text
    const { from, to: end } = withLineEnd(this.#rendering.lines, source)
    this.#asStep(() => {
      this.#edit((lines) => insertLines(lines, { from: target, to: target }, linesWithin(lines, source)))
      const head = this.#selected()?.head ?? target
      const by = target <= from ? this.#text.length - length : 0
      if (!isCopy) this.#edit((lines) => removeRange(lines, { from: from + by, to: end + by }))
      const gone = isCopy || target <= from ? 0 : end - from
      this.#flush({ anchor: target - gone, head: head - gone })
    })
    this.#tellSelection()
  }

  // Changes

  #range(): TextRange | null {
    this.#flush()
    const selected = this.#selected()
    return selected && rangeOf(selected)
  }

  /** Of what is typed there: those that the user chose for that place, or those of the text around it. */
  #marksAt(index: number, replaces = false): Marks {
    return this.#chosen?.at === index ? this.#chosen.marks : marksAt(this.#rendering.lines, index, replaces)
  }

  /** A line of code is a line of the document. */
  #breakLine(range: TextRange): void {
    if (findIn(this.#rendering.lines, range.from).line.block !== 'pre') this.#type(range, softBreak)
    else this.#edit((lines) => splitLine(lines, range))
  }

  /** Text that is typed; a line's beginning such as `# ` formats the line, which undo takes back by itself. */
  #type(target: TextRange, text: string): void {
    this.#edit((lines) =>
      insertText(lines, target, text, this.#marksAt(target.from, target.to > target.from)),
    )
    this.#expandShorthand()
  }

  #expandShorthand(): void {
    const selected = this.#selected()
    if (!selected || selected.anchor !== selected.head) return
    const edit = expandShorthand(this.#rendering.lines, selected.head)
    if (edit) this.#asStep(() => this.#edit(() => edit))
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

  // Commands

  #createCommands(): EditorCommands {
    const inStep = (makeEdit: (lines: readonly Line[], selected: Selected) => Edit | null) =>
      this.#asStep(() => this.#edit(makeEdit))
    return {
      toggleMark: (mark) => this.#toggleMark(mark),
      setBlock: (block) => inStep((lines, selected) => toggleBlock(lines, selected, block)),
      toggleList: (kind) => inStep((lines, selected) => toggleList(lines, selected, kind)),
      indent: (by) => inStep((lines, selected) => indent(lines, selected, by)),
      setLink: (href) => this.#setLink(href),
      undo: () => this.#revert(() => this.#undo.undo()),
      redo: () => this.#revert(() => this.#undo.redo()),
      insert: (inserted) =>
        this.#asStep(() => this.#edit((lines, selected) => insertLines(lines, rangeOf(selected), inserted))),
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
    const { from, to } = rangeOf(selected)
    const { line, offset } = findIn(this.#rendering.lines, from)
    const runs =
      to > from ? runsIn(this.#rendering.lines, { from, to }) : [{ text: '', marks: this.#marksAt(from) }]
    const names = (['bold', 'italic', 'underline', 'strike', 'code', 'sub', 'super'] as const).filter(
      (mark) => runs.length > 0 && runs.every(({ marks }) => hasMark(marks, mark)),
    )
    const link = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link ?? null
    return { marks: new Set(names), block: line.block, link, canUndo, canRedo }
  }

  #format(range: TextRange, attributes: Attributes): void {
    this.#asStep(() => this.#edit((_lines, selected) => formatText(range, selected, attributes)))
  }

  #toggleMark(mark: Mark): void {
    const range = this.#range()
    if (!range || !this.#parts.mayWrite) return
    const isOn = this.#state().marks.has(mark)
    const key = mark === 'sub' || mark === 'super' ? 'script' : mark
    const value = isOn ? null : key === 'script' ? mark : true
    if (range.to > range.from) {
      this.#format(range, { [key]: value })
      return
    }
    const { [key]: _, ...marks } = this.#marksAt(range.from)
    this.#chosen = { at: range.from, marks: value === null ? marks : { ...marks, [key]: value } }
    this.#tellState()
  }

  #setLink(href: string | null): void {
    const link = href === null ? null : safeLink(href)
    const range = this.#range()
    if (!range || (href !== null && link === null)) return
    const there = range.to > range.from ? range : linkAround(this.#rendering.lines, range.from)
    if (there) this.#format(there, { link })
    else if (link !== null) {
      const shown = link.replace(/^(https?:\/\/|mailto:|tel:)/i, '')
      this.#edit((lines) => insertText(lines, range, shown, { ...this.#marksAt(range.from), link }))
    }
  }

  #revert(act: () => unknown): void {
    if (this.#isComposing || !this.#parts.mayWrite) return
    this.#flush()
    this.#before = this.selection()
    let restored: SelectedText | null = null
    const onPopped = ({ stackItem }: { stackItem: { meta: Map<unknown, unknown> } }) => {
      restored = (stackItem.meta.get('selection') as SelectedText | null) ?? null
    }
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    // TypeScript does not see that the listener assigns it.
    const found = () => restored as SelectedText | null
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
      this.commands.indent(event.shiftKey ? -1 : 1)
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
    if (inputType.startsWith('delete'))
      this.#edit((lines, selected) => deleteText(lines, selected, asked, inputType))
    else if (inputType === 'insertParagraph') this.#edit((lines) => splitLine(lines, range))
    else if (inputType === 'insertLineBreak') this.#breakLine(range)
    else if (inputType === 'insertTranspose' && inserted === '')
      this.#edit((lines, selected) => transpose(lines, selected.head))
    else if (/^insert(Text|ReplacementText|Transpose)$/.test(inputType)) {
      const text = withoutHalves(this.#half + inserted)
      // Some keyboards send the halves of a pair one after the other.
      this.#half = /[\uD800-\uDBFF]$/.exec(inserted)?.[0] ?? ''
      if (text !== '') this.#type(target, text.replaceAll(/\r?\n/g, softBreak))
    } else if (inputType.startsWith('insertFrom'))
      this.#edit((lines) => insertLines(lines, target, linesOfPlain(inserted)))
    else if (inputType === 'historyUndo') this.commands.undo()
    else if (inputType === 'historyRedo') this.commands.redo()
    else this.#formatAsked(inputType)
  }

  #formatAsked(inputType: string): void {
    const mark = markOfInput[inputType]
    if (mark) this.#toggleMark(mark)
    else if (inputType === 'formatIndent') this.commands.indent(1)
    else if (inputType === 'formatOutdent') this.commands.indent(-1)
    else if (inputType === 'insertOrderedList') this.commands.toggleList('ol')
    else if (inputType === 'insertUnorderedList') this.commands.toggleList('ul')
  }

  #onCompositionStart(): void {
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    const { lines } = this.#rendering
    const range = this.#range()
    if (range && findIn(lines, range.from).place !== findIn(lines, range.to).place)
      this.#edit(() => removeRange(lines, range))
    this.#lastSelected = this.#selected()
    this.#isComposing = true
  }

  #onCompositionEnd(): void {
    this.#isComposing = false
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    this.#expandShorthand()
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

function isSameSelected(one: Selected, other: Selected): boolean {
  return one.anchor === other.anchor && one.head === other.head
}

/** As the lines are when the last one has an end, which an editor's first change gives it. */
function withEnd(lines: readonly Line[]): readonly Line[] {
  if (isEnded(lines.at(-1))) return lines
  return changeLines(lines, [{ retain: startOfLine(lines, lines.length) - 1 }, { insert: '\n' }])
}

function linesOfPlain(text: string): Line[] {
  return text.split(/\r?\n/).map((line) => ({
    runs: line === '' ? [] : [{ text: line, marks: {} }],
    block: 'p',
    align: null,
  }))
}
