// Edits the shared text at the selection, as this window's user: typing, commands, undo.

import {
  type Attributes,
  type Change,
  findIn,
  type Line,
  type Marks,
  safeLink,
  softBreak,
  type TextRange,
} from '../../app/document/rich-text.ts'
import { type EditorCommands, type EditorState, type Mark, marks } from './commands.ts'
import type { DrawnText } from './drawn-text.ts'
import {
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
  linkTyped,
  marksAt,
  rangeOf,
  removeRange,
  runAt,
  runsIn,
  type Selected,
  slashBefore,
  splitLine,
  toggleBlock,
  toggleList,
  withLineEnd,
} from './edits.ts'
import type { SelectedText } from './selection.ts'
import type { EditHistory } from './undo.ts'

/** Limit of one transaction in UTF-16 units, so that its update fits into a message. */
const maxInserted = 16_000

type MakeEdit = (lines: readonly Line[], selected: Selected) => Edit | null

interface TextEditorParts {
  readonly history: EditHistory
  readonly mayWrite: boolean
  readonly onSelection?: () => void
}

/** Edits nothing during a composition, nor for a reader. */
export class TextEditor {
  readonly commands: EditorCommands
  readonly #drawn: DrawnText
  readonly #parts: TextEditorParts
  readonly #history: EditHistory
  readonly #stateListeners = new Set<() => void>()
  /** Marks chosen for the next text typed at this place. */
  #chosen: { readonly at: number; readonly marks: Marks } | null = null
  /** A slash was typed at the beginning of a line, to choose a block. */
  #hasSlash = false

  constructor(drawn: DrawnText, parts: TextEditorParts) {
    this.#drawn = drawn
    this.#parts = parts
    this.#history = parts.history
    this.commands = this.#createCommands()
  }

  stop(): void {
    this.#stateListeners.clear()
  }

  /**
   * Changes the text, in several transactions if the change is long, draws it, and applies the
   * edit's selection.
   */
  edit(makeEdit: MakeEdit): void {
    const drawn = this.#drawn
    if (!this.#mayEdit) return
    drawn.flush()
    const selected = drawn.selected()
    const edit = selected && makeEdit(drawn.lines, selected)
    if (!edit) return
    this.#change(edit.changes)
    const { nextMarks } = edit
    this.#chosen = nextMarks ? { at: edit.selected.head, marks: nextMarks } : null
    drawn.flush(edit.selected)
    drawn.reveal()
    this.tellSelection()
  }

  get #mayEdit(): boolean {
    return this.#parts.mayWrite && !this.#drawn.isComposing
  }

  #editAsStep(makeEdit: MakeEdit): void {
    this.#history.asStep(() => this.edit(makeEdit))
  }

  #change(changes: readonly Change[]): void {
    const batches = inBatches(changes, maxInserted)
    if (batches.length === 1) {
      this.#drawn.change(changes)
      return
    }
    this.#history.asStep(() => {
      for (const batch of batches) this.#drawn.change(batch)
    })
  }

  /** Replaces the document's lines as this window's user, who can undo it in one step. */
  replace(lines: readonly Line[]): void {
    if (!this.#mayEdit) return
    this.#drawn.flush()
    this.#history.asStep(() => this.#change(this.#drawn.changesTo(lines)))
    this.#drawn.flush()
  }

  // Typing and dragging

  /** Inserts typed text. What it ends, such as `# ` or `**bold**`, is formatted; undo reverts that separately. */
  type(target: TextRange, text: string): void {
    this.edit((lines) => insertText(lines, target, text, this.#marksAt(target.from, target.to > target.from)))
    this.expandShorthand()
    if (text !== '/' || this.#slash()?.words !== '') return
    this.#hasSlash = true
    this.tellState()
  }

  /** A line of code is a line of the document. */
  breakLine(range: TextRange): void {
    if (findIn(this.#drawn.lines, range.from).line.block !== 'pre') this.type(range, softBreak)
    else this.splitLine(range)
  }

  /** Ends the line, as Enter does; an address at its end becomes a link. */
  splitLine(range: TextRange): void {
    const link = range.from === range.to ? linkTyped(this.#drawn.lines, range.from) : null
    if (link) this.#editAsStep(() => link)
    this.edit((lines) => splitLine(lines, range))
  }

  expandShorthand(): void {
    const selected = this.#drawn.selected()
    if (!selected || selected.anchor !== selected.head) return
    const edit = expandShorthand(this.#drawn.lines, selected.head)
    if (edit) this.#editAsStep(() => edit)
  }

  deleteSelected(): void {
    this.#editAsStep((lines, selected) => removeRange(lines, rangeOf(selected)))
  }

  /** Moves or copies text to a place in the DOM, and selects it there. */
  moveText(text: SelectedText, to: readonly [node: Node, offset: number], isCopy: boolean): void {
    const drawn = this.#drawn
    drawn.readBack()
    drawn.flush()
    const target = drawn.indexOf(...to)
    const selected = drawn.absolute(text)
    if (target === null || !selected) return
    const source = rangeOf(selected)
    if (!isCopy && target >= source.from && target <= source.to) return
    const { length } = drawn
    const { from, to: end } = withLineEnd(drawn.lines, source)
    this.#history.asStep(() => {
      this.edit((lines) => insertLines(lines, { from: target, to: target }, linesWithin(lines, source)))
      const head = drawn.selected()?.head ?? target
      const by = target <= from ? drawn.length - length : 0
      if (!isCopy) this.edit((lines) => removeRange(lines, { from: from + by, to: end + by }))
      const gone = isCopy || target <= from ? 0 : end - from
      drawn.flush({ anchor: target - gone, head: head - gone })
    })
    this.tellSelection()
  }

  // Commands

  #createCommands(): EditorCommands {
    return {
      toggleMark: (mark) => this.#toggleMark(mark),
      setBlock: (block) => this.#editAsStep((lines, selected) => toggleBlock(lines, selected, block)),
      toggleList: (kind) => this.#editAsStep((lines, selected) => toggleList(lines, selected, kind)),
      indent: (by) => this.#editAsStep((lines, selected) => indent(lines, selected, by)),
      setLink: (href) => this.#setLink(href),
      endSlash: (run) => this.#endSlash(run),
      undo: () => this.#revert('undo'),
      redo: () => this.#revert('redo'),
      insert: (inserted) =>
        this.#editAsStep((lines, selected) => insertLines(lines, rangeOf(selected), inserted)),
      state: () => this.#state(),
      onState: (listener) => {
        this.#stateListeners.add(listener)
        return () => this.#stateListeners.delete(listener)
      },
    }
  }

  #state(): EditorState {
    const { canUndo, canRedo } = this.#history
    const { lines, isComposing } = this.#drawn
    const selected = isComposing ? null : this.#drawn.selected()
    if (!selected) return { marks: new Set(), block: 'p', link: null, slash: null, canUndo, canRedo }
    const { from, to } = rangeOf(selected)
    const { line, offset } = findIn(lines, from)
    const runs = to > from ? runsIn(lines, { from, to }) : [{ text: '', marks: this.#marksAt(from) }]
    const names = marks.filter((mark) => runs.length > 0 && runs.every((run) => hasMark(run.marks, mark)))
    const link = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link ?? null
    const slash = this.#hasSlash ? (this.#slash()?.words ?? null) : null
    return { marks: new Set(names), block: line.block, link, slash, canUndo, canRedo }
  }

  #slash() {
    const selected = this.#drawn.selected()
    return selected && slashBefore(this.#drawn.lines, selected)
  }

  #endSlash(run?: () => void): void {
    const range = this.#hasSlash ? this.#slash() : null
    this.#hasSlash = false
    this.#history.asStep(() => {
      if (range && run) this.edit((lines) => removeRange(lines, range))
      run?.()
    })
    this.tellState()
  }

  #format(range: TextRange, attributes: Attributes): void {
    this.#editAsStep((_lines, selected) => formatText(range, selected, attributes))
  }

  /**
   * Marks for text typed there: those the user chose for that place, or those of the text around
   * it.
   */
  #marksAt(index: number, replaces = false): Marks {
    return this.#chosen?.at === index ? this.#chosen.marks : marksAt(this.#drawn.lines, index, replaces)
  }

  #toggleMark(mark: Mark): void {
    const range = this.#drawn.range()
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
    this.tellState()
  }

  #setLink(href: string | null): void {
    const link = href === null ? null : safeLink(href)
    const range = this.#drawn.range()
    if (!range || (href !== null && link === null)) return
    const there = range.to > range.from ? range : linkAround(this.#drawn.lines, range.from)
    if (there) this.#format(there, { link })
    else if (link !== null) {
      const shown = link.replace(/^(https?:\/\/|mailto:|tel:)/i, '')
      this.edit((lines) => insertText(lines, range, shown, { ...this.#marksAt(range.from), link }))
    }
  }

  #revert(by: 'undo' | 'redo'): void {
    if (!this.#mayEdit) return
    this.#drawn.revert(by)
    this.#drawn.reveal()
    this.tellSelection()
  }

  // What the toolbar and other windows show

  /** The browser or the user may have moved the selection. */
  selectionChanged(): void {
    if (this.#drawn.isComposing || !this.#drawn.noteSelection()) return
    if (this.#chosen && !this.#isCaretAt(this.#chosen.at)) this.#chosen = null
    this.tellState()
    this.#parts.onSelection?.()
  }

  #isCaretAt(index: number): boolean {
    const selected = this.#drawn.selected()
    return selected?.anchor === index && selected.head === index
  }

  tellState(): void {
    // For good, once the caret has left it.
    if (this.#hasSlash && !this.#slash()) this.#hasSlash = false
    for (const listener of this.#stateListeners) listener()
  }

  tellSelection(): void {
    this.#drawn.noteSelection()
    this.tellState()
    this.#parts.onSelection?.()
  }
}
