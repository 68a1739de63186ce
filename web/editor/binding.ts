// Binds a contenteditable element to the shared document's text, in both directions.

import type * as Y from 'yjs'
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
} from '../../app/document/rich-text.ts'
import { changesBetween } from '../../app/document/text-diff.ts'
import { withoutHalves } from '../../protocol/graphemes.ts'
import type { Cancel } from '../../protocol/time.ts'
import { inNextFrame } from '../frames.ts'
import { type EditorCommands, type EditorState, type Mark, marks } from './commands.ts'
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
import { Layout } from './layout.ts'
import { Rendering } from './rendering.ts'
import { EditorSelection, type SelectedText } from './selection.ts'
import type { EditHistory } from './undo.ts'

export interface BindingParts {
  /** The contenteditable that medium-editor made. */
  readonly root: HTMLElement
  /** Text of a document that others also change. */
  readonly text: Y.Text
  /** History of that text; outlives the editor. */
  readonly history: EditHistory
  readonly mayWrite: boolean
  /**
   * Called before a local transaction, with the time of its input event, ms since the epoch, or
   * null.
   */
  readonly onInput?: (inputAt: number | null) => void
  /** Called after changes are in the DOM. */
  readonly onDrawn?: () => void
  /** The same for remote changes. */
  readonly onApplied?: () => void
  /** The local selection changed, including by local typing. */
  readonly onSelection?: () => void
}

/** Limit of one transaction in UTF-16 units, so that its update fits into a message. */
const maxInserted = 16_000

/**
 * The model leads: input events become changes of the text, and the text's events are drawn. The
 * DOM changes first only in an IME composition, or when the browser acts on its own; such changes
 * are read back afterwards. Changes that arrive during a composition are drawn when it ends.
 */
export class Binding {
  readonly commands: EditorCommands
  readonly #parts: BindingParts
  readonly #text: Y.Text
  readonly #doc: Y.Doc
  readonly #rendering: Rendering
  readonly #layout: Layout
  readonly #selection: EditorSelection
  readonly #history: EditHistory
  readonly #ending = new AbortController()
  readonly #observer: MutationObserver
  readonly #stateListeners = new Set<() => void>()
  /** Changes of the text that are not yet drawn. */
  #pending: (readonly Change[])[] = []
  #hasRemote = false
  #hasLocal = false
  /** The selection before pending changes; `selected` gives it in the drawn lines. */
  #kept: { readonly selected: Selected; readonly selection: SelectedText | null } | null = null
  #cancelFrame: Cancel | null = null
  #isComposing = false
  /** Records from a composition: the last may arrive before the composition ends. */
  readonly #unread: MutationRecord[] = []
  #inputAt: number | null = null
  /** The first half of a surrogate pair, until the second is typed. */
  #half = ''
  /** Marks chosen for the next text typed at this place. */
  #chosen: { readonly at: number; readonly marks: Marks } | null = null
  #lastSelected: Selected | null = null

  constructor(parts: BindingParts) {
    this.#parts = parts
    this.#text = parts.text
    if (!parts.text.doc) throw new Error('The text to bind does not belong to a document.')
    this.#doc = parts.text.doc
    this.#rendering = new Rendering(parts.root)
    this.#rendering.redraw(linesOf(parts.text))
    this.#layout = new Layout(this.#rendering)
    this.#selection = new EditorSelection(this.#rendering, parts.text)
    this.#history = parts.history
    this.#doc.on('beforeTransaction', this.#onTransaction)
    this.#text.observe(this.#onText)
    this.#observer = new MutationObserver((records) => this.#readBack(records))
    this.#observe()
    this.commands = this.#createCommands()
    this.#listen()
  }

  // Shown to other windows

  /** Null outside the editor. */
  selection(): SelectedText | null {
    const selected = this.#isComposing ? this.#lastSelected : this.#selection.read()
    return selected && this.#relative(selected)
  }

  /** The relative positions of a selection in the drawn lines. */
  #relative({ anchor, head }: Selected): SelectedText {
    return this.#selection.relative({ anchor: this.#mapPending(anchor), head: this.#mapPending(head) })
  }

  /** As in `Layout`, by absolute indices in the text. */
  rectsOf(from: number, to: number, least?: number): DOMRect[] {
    this.#flush()
    return this.#layout.rectsOf(from, to, least)
  }

  /** The selected content, for copying; empty for a caret. */
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
    this.#stateListeners.clear()
  }

  // From the text to the DOM

  /**
   * Keeps the selection before others' changes, relative to the neighbouring characters, which may
   * be deleted and restored.
   */
  readonly #onTransaction = ({ origin }: Y.Transaction): void => {
    if (this.#pending.length > 0 || this.#isComposing || this.#history.isOwn(origin)) return
    const selected = this.#selection.read()
    this.#kept = selected && { selected, selection: this.#relative(selected) }
  }

  readonly #onText = (event: Y.YTextEvent, transaction: Y.Transaction): void => {
    const changes = changesOf(event)
    if (changes.length === 0) return
    this.#pending.push(changes)
    if (this.#history.isOwn(transaction.origin)) this.#hasLocal = true
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
   * Draws pending changes. `after`: the selection then; if omitted, the present one stays at its
   * text. `changed`: lines whose elements were changed from outside.
   */
  #flush(after?: Selected, changed?: TextRange): void {
    if (this.#isComposing) return
    if (this.#pending.length === 0 && !changed) {
      if (after) this.#select(after)
      return
    }
    const present = after ? null : this.#selection.read()
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
    if (kept) selected = this.#selection.absolute(kept.selection) ?? selected
    this.#kept = null
    const lineBefore = this.#lineOfCaret(present)
    for (const line of lines) length += lengthOf(line) + (isEnded(line) ? 1 : 0)
    if (length !== this.#text.length) this.#rendering.redraw(linesOf(this.#text))
    else if (changed) this.#rendering.repair(lines, changed)
    else this.#layout.show(lines, this.#hasRemote)
    this.#observer.takeRecords()
    if (selected) this.#select(selected)
    if (this.#hasRemote) {
      this.#hasRemote = false
      this.#parts.onApplied?.()
    }
    // Others' changes elsewhere do not affect the toolbar.
    if (this.#hasLocal || lineBefore === null || lineBefore !== this.#lineOfCaret(selected)) this.#tellState()
    this.#hasLocal = false
    this.#parts.onDrawn?.()
  }

  /** Null for a range, or for no selection. */
  #lineOfCaret(selected: Selected | null): Line | null {
    return selected?.anchor === selected?.head && selected
      ? findIn(this.#rendering.lines, selected.head).line
      : null
  }

  #select(selected: Selected): void {
    this.#lastSelected = selected
    this.#selection.select(selected)
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

  /** Reads back changes of the DOM by the browser or other code. */
  #readBack(records: readonly MutationRecord[]): void {
    this.#unread.push(...records)
    if (this.#isComposing || this.#unread.length === 0) return
    this.#takeOver(this.#unread.splice(0).map(({ target }) => target))
  }

  /** Turns the difference between the lines and the DOM into changes of the text. */
  #takeOver(changed: readonly Node[]): void {
    if (!this.#parts.mayWrite) {
      this.#redraw()
      return
    }
    const rendering = this.#rendering
    const { from, to, lines, indices } = rendering.read(changed, this.#selection.ends())
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

  /** Makes one change as this window's user. */
  #transact(changes: readonly Change[]): void {
    this.#history.beforeChange(this.selection())
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    this.#doc.transact(() => {
      // The first change ends the last line. Pending changes mean that there was one.
      if (this.#pending.length === 0 && !isEnded(this.#rendering.lines.at(-1)))
        this.#text.insert(this.#text.length, '\n', {})
      this.#text.applyDelta([...changes])
    }, this.#history.origin)
  }

  /**
   * Changes the text, in several transactions if the change is long, draws it, and applies the
   * edit's selection.
   */
  #edit(makeEdit: (lines: readonly Line[], selected: Selected) => Edit | null): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    const selected = this.#selection.read()
    const edit = selected && makeEdit(this.#rendering.lines, selected)
    if (!edit) return
    this.#apply(edit.changes)
    this.#chosen = null
    this.#flush(edit.selected)
    this.#reveal()
    this.#tellSelection()
  }

  #apply(changes: readonly Change[]): void {
    const batches = inBatches(changes, maxInserted)
    if (batches.length === 1) {
      this.#transact(changes)
      return
    }
    this.#history.asStep(() => {
      for (const batch of batches) this.#transact(batch)
    })
  }

  /** Replaces the document's lines as this window's user, who can undo it in one step. */
  replace(lines: readonly Line[]): void {
    if (!this.#parts.mayWrite || this.#isComposing) return
    this.#flush()
    this.#history.asStep(() => this.#apply(changesBetween(withEnd(this.#rendering.lines), lines)))
    this.#flush()
  }

  deleteSelected(): void {
    this.#history.asStep(() => this.#edit((lines, selected) => removeRange(lines, rangeOf(selected))))
  }

  /** Moves or copies text to a place in the DOM, and selects it there. */
  moveText(text: SelectedText, to: readonly [node: Node, offset: number], isCopy: boolean): void {
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    const target = this.#rendering.indexOf(...to)
    const selected = this.#selection.absolute(text)
    if (target === null || !selected) return
    const source = rangeOf(selected)
    if (!isCopy && target >= source.from && target <= source.to) return
    const { length } = this.#text
    const { from, to: end } = withLineEnd(this.#rendering.lines, source)
    this.#history.asStep(() => {
      this.#edit((lines) => insertLines(lines, { from: target, to: target }, linesWithin(lines, source)))
      const head = this.#selection.read()?.head ?? target
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
    const selected = this.#selection.read()
    return selected && rangeOf(selected)
  }

  /**
   * Marks for text typed there: those the user chose for that place, or those of the text around
   * it.
   */
  #marksAt(index: number, replaces = false): Marks {
    return this.#chosen?.at === index ? this.#chosen.marks : marksAt(this.#rendering.lines, index, replaces)
  }

  /** A line of code is a line of the document. */
  #breakLine(range: TextRange): void {
    if (findIn(this.#rendering.lines, range.from).line.block !== 'pre') this.#type(range, softBreak)
    else this.#edit((lines) => splitLine(lines, range))
  }

  /** Inserts typed text. A prefix such as `# ` formats the line; undo reverts that separately. */
  #type(target: TextRange, text: string): void {
    this.#edit((lines) =>
      insertText(lines, target, text, this.#marksAt(target.from, target.to > target.from)),
    )
    this.#expandShorthand()
  }

  #expandShorthand(): void {
    const selected = this.#selection.read()
    if (!selected || selected.anchor !== selected.head) return
    const edit = expandShorthand(this.#rendering.lines, selected.head)
    if (edit) this.#history.asStep(() => this.#edit(() => edit))
  }

  /** The range that the browser would change, counted in the text with pending changes. */
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
      this.#history.asStep(() => this.#edit(makeEdit))
    return {
      toggleMark: (mark) => this.#toggleMark(mark),
      setBlock: (block) => inStep((lines, selected) => toggleBlock(lines, selected, block)),
      toggleList: (kind) => inStep((lines, selected) => toggleList(lines, selected, kind)),
      indent: (by) => inStep((lines, selected) => indent(lines, selected, by)),
      setLink: (href) => this.#setLink(href),
      undo: () => this.#revert('undo'),
      redo: () => this.#revert('redo'),
      insert: (inserted) =>
        this.#history.asStep(() =>
          this.#edit((lines, selected) => insertLines(lines, rangeOf(selected), inserted)),
        ),
      state: () => this.#state(),
      onState: (listener) => {
        this.#stateListeners.add(listener)
        return () => this.#stateListeners.delete(listener)
      },
    }
  }

  #state(): EditorState {
    const { canUndo, canRedo } = this.#history
    const selected = this.#isComposing ? null : this.#selection.read()
    if (!selected) return { marks: new Set(), block: 'p', link: null, canUndo, canRedo }
    const { from, to } = rangeOf(selected)
    const { line, offset } = findIn(this.#rendering.lines, from)
    const runs =
      to > from ? runsIn(this.#rendering.lines, { from, to }) : [{ text: '', marks: this.#marksAt(from) }]
    const names = marks.filter((mark) => runs.length > 0 && runs.every((run) => hasMark(run.marks, mark)))
    const link = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link ?? null
    return { marks: new Set(names), block: line.block, link, canUndo, canRedo }
  }

  #format(range: TextRange, attributes: Attributes): void {
    this.#history.asStep(() => this.#edit((_lines, selected) => formatText(range, selected, attributes)))
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

  #revert(by: 'undo' | 'redo'): void {
    if (this.#isComposing || !this.#parts.mayWrite) return
    this.#flush()
    this.#history.beforeChange(this.selection())
    this.#parts.onInput?.(this.#inputAt)
    this.#inputAt = null
    this.#flush(this.#selection.absolute(this.#history.revert(by)) ?? undefined)
    this.#reveal()
    this.#tellState()
    this.#tellSelection()
  }

  // Events

  #listen(): void {
    const { root, mayWrite } = this.#parts
    const options = { capture: true, signal: this.#ending.signal }
    document.addEventListener('selectionchange', () => this.#onSelectionChange(), options)
    if (!mayWrite) return
    root.addEventListener('keydown', (event) => this.#onKeyDown(event), options)
    // medium-editor formats blocks on these keys.
    root.addEventListener(
      'keyup',
      (event) => ownKeys.has(event.key) && event.stopImmediatePropagation(),
      options,
    )
    root.addEventListener('focus', () => this.#selection.repeat(), options)
    root.addEventListener('beforeinput', (event) => this.#onBeforeInput(event), options)
    root.addEventListener('compositionstart', () => this.#onCompositionStart(), options)
    root.addEventListener('compositionend', () => this.#onCompositionEnd(), options)
  }

  #onSelectionChange(): void {
    if (this.#isComposing) return
    const selected = this.#selection.read()
    const last = this.#lastSelected
    if (selected?.anchor === last?.anchor && selected?.head === last?.head) return
    this.#lastSelected = selected
    if (this.#chosen && (selected?.head !== this.#chosen.at || selected.anchor !== this.#chosen.at))
      this.#chosen = null
    this.#tellState()
    this.#parts.onSelection?.()
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
    // Reads earlier changes by the browser.
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
      // Some keyboards send the halves of a pair separately.
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
    this.#lastSelected = this.#selection.read()
    this.#isComposing = true
  }

  #onCompositionEnd(): void {
    this.#isComposing = false
    this.#readBack(this.#observer.takeRecords())
    this.#flush()
    this.#expandShorthand()
    this.#tellSelection()
  }

  #reveal(): void {
    const selected = this.#selection.read()
    if (selected) this.#layout.reveal(selected.head)
  }

  #tellState(): void {
    for (const listener of this.#stateListeners) listener()
  }

  #tellSelection(): void {
    this.#lastSelected = this.#selection.read()
    this.#tellState()
    this.#parts.onSelection?.()
  }
}

/** Keys that medium-editor would otherwise handle itself. */
const ownKeys: ReadonlySet<string> = new Set(['Enter', 'Backspace', 'Delete'])

/** The mark for each input type. */
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

/** The lines with the last one ended, as an editor's first change does. */
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
