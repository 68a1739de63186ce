// The shared text drawn in an editable: draws changes, reads back the DOM, keeps the selection.

import type * as Y from 'yjs'
import {
  type Change,
  changeLines,
  changesOf,
  findIn,
  isEnded,
  type Line,
  lengthOf,
  linesOf,
  mapPosition,
  rebase,
  startOfLine,
  type TextRange,
} from '../../app/document/rich-text.ts'
import { changesBetween } from '../../app/document/text-diff.ts'
import type { Cancel } from '../../protocol/time.ts'
import { inNextFrame } from '../frames.ts'
import { linesWithin, rangeOf, type Selected } from './edits.ts'
import { Layout } from './layout.ts'
import { Rendering } from './rendering.ts'
import { EditorSelection, type SelectedText } from './selection.ts'
import type { EditHistory } from './undo.ts'

export interface DrawnTextParts {
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
}

/**
 * The model leads: the text's events are drawn. The DOM changes first only in an IME composition, or
 * when the browser acts on its own; such changes are read back afterwards. Changes that arrive during
 * a composition are drawn when it ends.
 *
 * Positions are indices in the drawn lines, which are those of the text unless changes are pending.
 */
export class DrawnText {
  /** Time of the input event that makes the next change, ms since the epoch; null without one. */
  inputAt: number | null = null
  readonly #parts: DrawnTextParts
  readonly #text: Y.Text
  readonly #doc: Y.Doc
  readonly #history: EditHistory
  readonly #onState: () => void
  readonly #rendering: Rendering
  readonly #layout: Layout
  readonly #selection: EditorSelection
  readonly #observer: MutationObserver
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
  #lastSelected: Selected | null = null

  /** `onState`: a change was drawn that may affect what the toolbar shows. */
  constructor(parts: DrawnTextParts, onState: () => void) {
    const { root, text, history } = parts
    if (!text.doc) throw new Error('The text to bind does not belong to a document.')
    this.#parts = parts
    this.#text = text
    this.#doc = text.doc
    this.#history = history
    this.#onState = onState
    this.#rendering = new Rendering(root)
    this.#rendering.redraw(linesOf(text))
    this.#layout = new Layout(this.#rendering)
    this.#selection = new EditorSelection(this.#rendering, text)
    this.#doc.on('beforeTransaction', this.#onTransaction)
    text.observe(this.#onText)
    this.#observer = new MutationObserver((records) => this.#readRecords(records))
    this.#observer.observe(root, {
      childList: true,
      characterData: true,
      attributeFilter: ['align', 'href', 'src', 'start', 'style', 'value'],
      subtree: true,
    })
  }

  stop(): void {
    this.#cancelFrame?.()
    this.#cancelFrame = null
    this.#observer.disconnect()
    this.#doc.off('beforeTransaction', this.#onTransaction)
    this.#text.unobserve(this.#onText)
  }

  get lines(): readonly Line[] {
    return this.#rendering.lines
  }

  /** Length of the text, with pending changes. */
  get length(): number {
    return this.#text.length
  }

  // Selection

  /** Null outside the editor. */
  selected(): Selected | null {
    return this.#selection.read()
  }

  /** What is selected after pending changes; null outside the editor. */
  range(): TextRange | null {
    this.flush()
    const selected = this.#selection.read()
    return selected && rangeOf(selected)
  }

  /** The selected content, for copying; empty for a caret. */
  selectedLines(): Line[] {
    const range = this.range()
    return range && range.to > range.from ? linesWithin(this.lines, range) : []
  }

  /** The selection at its text, to show it to other windows; null outside the editor. */
  selection(): SelectedText | null {
    const selected = this.#isComposing ? this.#lastSelected : this.#selection.read()
    return selected && this.#relative(selected)
  }

  /** Null if the text no longer has that place. */
  absolute(text: SelectedText | null): Selected | null {
    return this.#selection.absolute(text)
  }

  /** Remembers the selection. Returns whether it differs from the one remembered before. */
  noteSelection(): boolean {
    const selected = this.#selection.read()
    const last = this.#lastSelected
    this.#lastSelected = selected
    return selected?.anchor !== last?.anchor || selected?.head !== last?.head
  }

  /** Restores the selection after the editable got the focus. */
  repeatSelection(): void {
    this.#selection.repeat()
  }

  #select(selected: Selected): void {
    this.#lastSelected = selected
    this.#selection.select(selected)
  }

  /** The relative positions of a selection in the drawn lines. */
  #relative({ anchor, head }: Selected): SelectedText {
    return this.#selection.relative({ anchor: this.#mapPending(anchor), head: this.#mapPending(head) })
  }

  // Places

  /** Null outside the document. */
  indexOf(node: Node, offset: number): number | null {
    return this.#rendering.indexOf(node, offset)
  }

  /** A range of the DOM, counted in the text with pending changes; null outside the document. */
  rangeInText({ startContainer, startOffset, endContainer, endOffset }: StaticRange): TextRange | null {
    const from = this.#rendering.indexOf(startContainer, startOffset)
    const to = this.#rendering.indexOf(endContainer, endOffset)
    if (from === null || to === null) return null
    return { from: this.#mapPending(from), to: this.#mapPending(to) }
  }

  /** As in `Layout`, by absolute indices in the text. */
  rectsOf(from: number, to: number, least?: number): DOMRect[] {
    this.flush()
    return this.#layout.rectsOf(from, to, least)
  }

  /** Scrolls to the head of the selection. */
  reveal(): void {
    const selected = this.#selection.read()
    if (selected) this.#layout.reveal(selected.head)
  }

  #mapPending(index: number): number {
    let mapped = index
    for (const changes of this.#pending) mapped = mapPosition(mapped, changes)
    return mapped
  }

  // From the text to the DOM

  /**
   * Keeps the selection from before others' changes, relative to the neighbouring characters, which may
   * be deleted and restored.
   */
  readonly #onTransaction = ({ origin }: Y.Transaction): void => {
    if (this.#pending.length > 0 || this.#isComposing || this.#history.isOwn(origin)) return
    this.#keep(this.#selection.read())
  }

  #keep(selected: Selected | null): void {
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
      this.flush()
    })
  }

  /** Draws pending changes. `after`: the selection then; if omitted, the present one stays at its text. */
  flush(after?: Selected): void {
    if (this.#isComposing) return
    if (this.#pending.length > 0) this.#draw(after)
    else if (after) this.#select(after)
  }

  /** `changed`: lines whose elements were changed from outside. */
  #draw(after?: Selected, changed?: TextRange): void {
    const present = after ? null : this.#selection.read()
    let selected = after ?? present
    let lines = this.#rendering.lines
    let length = 0
    for (const changes of this.#pending) {
      lines = changeLines(lines, changes)
      if (selected && !after) selected = mapSelected(selected, changes)
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
    if (this.#hasLocal || lineBefore === null || lineBefore !== this.#lineOfCaret(selected)) this.#onState()
    this.#hasLocal = false
    this.#parts.onDrawn?.()
  }

  /** Null for a range, or for no selection. */
  #lineOfCaret(selected: Selected | null): Line | null {
    return selected?.anchor === selected?.head && selected
      ? findIn(this.#rendering.lines, selected.head).line
      : null
  }

  // From the DOM to the text

  /** Reads back changes of the DOM of which the browser has not notified yet. */
  readBack(): void {
    this.#readRecords(this.#observer.takeRecords())
  }

  get isComposing(): boolean {
    return this.#isComposing
  }

  /** From now on the browser changes the DOM, and nothing is drawn or read. */
  beginComposition(): void {
    this.noteSelection()
    this.#keep(this.#lastSelected)
    this.#isComposing = true
  }

  endComposition(): void {
    this.#isComposing = false
    this.readBack()
    this.flush()
  }

  #readRecords(records: readonly MutationRecord[]): void {
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
    const { from, to, lines, indices } = this.#rendering.read(changed, this.#selection.ends())
    const [anchor = null, head = null] = indices
    let selected = anchor === null || head === null ? null : { anchor, head }
    const before = this.#lastSelected ?? selected
    const hint = selected && before && { before: rangeOf(before), after: rangeOf(selected) }
    const old = this.#rendering.lines
    const read = [...old.slice(0, from), ...lines, ...old.slice(to)]
    let changes = changesBetween(withEnd(old), read, hint)
    for (const others of this.#pending) {
      const moved = rebase(others, changes, false)
      changes = rebase(changes, others, true)
      if (selected) selected = mapSelected(selected, moved)
    }
    // Text that was deleted and restored is other text to `rebase`, and the same to a kept selection.
    const kept = this.#pending.length > 0 ? this.#kept : null
    const now = kept && this.#selection.absolute(kept.selection)
    if (kept && now) {
      const rebased = this.#mapPending(rangeOf(kept.selected).from)
      const by = rangeOf(now).from - rebased
      const moved = moveInsertion(changes, rebased, by)
      if (moved) {
        changes = moved
        selected = selected && { anchor: selected.anchor + by, head: selected.head + by }
      }
    }
    if (changes.length > 0) this.change(changes)
    this.#draw(selected ?? undefined, { from, to })
  }

  #redraw(): void {
    this.#pending = []
    this.#rendering.redraw(linesOf(this.#text))
    this.#observer.takeRecords()
  }

  // Changes as this window's user

  /** Makes one change of the text, which `flush` draws. */
  change(changes: readonly Change[]): void {
    this.#beforeChange()
    this.#doc.transact(() => {
      // The first change ends the last line. Pending changes mean that there was one.
      if (this.#pending.length === 0 && !isEnded(this.#rendering.lines.at(-1)))
        this.#text.insert(this.#text.length, '\n', {})
      this.#text.applyDelta([...changes])
    }, this.#history.origin)
  }

  /** Returns what `change` needs to make the lines those given. */
  changesTo(lines: readonly Line[]): Change[] {
    return changesBetween(withEnd(this.#rendering.lines), lines)
  }

  /** Draws the text before or after this user's change, with the selection from then. */
  revert(by: 'undo' | 'redo'): void {
    this.flush()
    this.#beforeChange()
    this.flush(this.#selection.absolute(this.#history.revert(by)) ?? undefined)
  }

  #beforeChange(): void {
    this.#history.beforeChange(this.selection())
    this.#parts.onInput?.(this.inputAt)
    this.inputAt = null
  }
}

const mapSelected = ({ anchor, head }: Selected, changes: readonly Change[]): Selected => ({
  anchor: mapPosition(anchor, changes),
  head: mapPosition(head, changes),
})

/** Null unless the changes are an insertion at `index` alone. */
function moveInsertion(changes: readonly Change[], index: number, by: number): Change[] | null {
  const inserted: Change[] = []
  let at = 0
  for (const change of changes) {
    if ('insert' in change) inserted.push(change)
    else if ('delete' in change || change.attributes || inserted.length > 0) return null
    else at += change.retain
  }
  return at === index ? [{ retain: index + by }, ...inserted] : null
}

function isSameSelected(one: Selected, other: Selected): boolean {
  return one.anchor === other.anchor && one.head === other.head
}

/** The lines with the last one ended, as an editor's first change does. */
function withEnd(lines: readonly Line[]): readonly Line[] {
  if (isEnded(lines.at(-1))) return lines
  return changeLines(lines, [{ retain: startOfLine(lines, lines.length) - 1 }, { insert: '\n' }])
}
