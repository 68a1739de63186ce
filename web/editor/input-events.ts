// The browser's input events in an editable, as edits: keys, beforeinput, compositions.

import { findIn, type Line, softBreak } from '../../app/document/rich-text.ts'
import { withoutHalves } from '../../protocol/graphemes.ts'
import type { Mark } from './commands.ts'
import type { DrawnText } from './drawn-text.ts'
import { deleteText, insertLines, removeRange, transpose } from './edits.ts'
import type { TextEditor } from './text-editor.ts'

export class InputEvents {
  readonly #drawn: DrawnText
  readonly #editor: TextEditor
  /** The first half of a surrogate pair, until the second is typed. */
  #half = ''

  constructor(drawn: DrawnText, editor: TextEditor) {
    this.#drawn = drawn
    this.#editor = editor
  }

  /** Listens until `signal` aborts. */
  listen(root: HTMLElement, signal: AbortSignal): void {
    const options = { capture: true, signal }
    root.addEventListener('keydown', (event) => this.#onKeyDown(event), options)
    // medium-editor formats blocks on these keys.
    root.addEventListener(
      'keyup',
      (event) => ownKeys.has(event.key) && event.stopImmediatePropagation(),
      options,
    )
    root.addEventListener('focus', () => this.#drawn.repeatSelection(), options)
    root.addEventListener('beforeinput', (event) => this.#onBeforeInput(event), options)
    root.addEventListener('compositionstart', () => this.#onCompositionStart(), options)
    root.addEventListener('compositionend', () => this.#onCompositionEnd(), options)
  }

  #onKeyDown(event: KeyboardEvent): void {
    if (event.isComposing || this.#drawn.isComposing) return
    if (ownKeys.has(event.key)) event.stopImmediatePropagation()
    const { commands } = this.#editor
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey
    const key = event.key.toLowerCase()
    if (event.key === 'Tab' && !isCommand && !event.altKey) {
      if (!/^[uo]l/.test(commands.state().block)) return
      this.#takeKey(event)
      commands.indent(event.shiftKey ? -1 : 1)
    } else if (isCommand && !event.defaultPrevented && (key === 'z' || (key === 'y' && !event.shiftKey))) {
      this.#takeKey(event)
      if (key === 'y' || event.shiftKey) commands.redo()
      else commands.undo()
    }
  }

  #takeKey(event: KeyboardEvent): void {
    event.preventDefault()
    event.stopImmediatePropagation()
    this.#noteTime(event)
  }

  #noteTime({ timeStamp }: Event): void {
    this.#drawn.inputAt = performance.timeOrigin + timeStamp
  }

  #onBeforeInput(event: InputEvent): void {
    this.#noteTime(event)
    const { inputType } = event
    const isComposing = this.#drawn.isComposing || event.isComposing || /Composition/.test(inputType)
    if (isComposing || !event.cancelable) return
    event.preventDefault()
    // The range that the browser would change.
    const [given] = event.getTargetRanges()
    const asked = given ? this.#drawn.rangeInText(given) : null
    // Reads earlier changes by the browser.
    this.#drawn.readBack()
    const range = this.#drawn.range()
    if (!range) return
    const editor = this.#editor
    const target = asked ?? range
    const inserted = event.data ?? event.dataTransfer?.getData('text/plain') ?? ''
    if (inputType.startsWith('delete'))
      editor.edit((lines, selected) => deleteText(lines, selected, asked, inputType))
    else if (inputType === 'insertParagraph') editor.splitLine(range)
    else if (inputType === 'insertLineBreak') editor.breakLine(range)
    else if (inputType === 'insertTranspose' && inserted === '')
      editor.edit((lines, selected) => transpose(lines, selected.head))
    else if (/^insert(Text|ReplacementText|Transpose)$/.test(inputType)) {
      const text = withoutHalves(this.#half + inserted)
      // Some keyboards send the halves of a pair separately.
      this.#half = /[\uD800-\uDBFF]$/.exec(inserted)?.[0] ?? ''
      if (text !== '') editor.type(target, text.replaceAll(/\r?\n/g, softBreak))
    } else if (inputType.startsWith('insertFrom'))
      editor.edit((lines) => insertLines(lines, target, linesOfPlain(inserted)))
    else this.#runCommand(inputType)
  }

  #runCommand(inputType: string): void {
    const { commands } = this.#editor
    const mark = markOfInput[inputType]
    if (mark) commands.toggleMark(mark)
    else if (inputType === 'historyUndo') commands.undo()
    else if (inputType === 'historyRedo') commands.redo()
    else if (inputType === 'formatIndent') commands.indent(1)
    else if (inputType === 'formatOutdent') commands.indent(-1)
    else if (inputType === 'insertOrderedList') commands.toggleList('ol')
    else if (inputType === 'insertUnorderedList') commands.toggleList('ul')
  }

  #onCompositionStart(): void {
    const drawn = this.#drawn
    drawn.readBack()
    drawn.flush()
    const { lines } = drawn
    const range = drawn.range()
    if (range && findIn(lines, range.from).place !== findIn(lines, range.to).place)
      this.#editor.edit(() => removeRange(lines, range))
    drawn.beginComposition()
  }

  #onCompositionEnd(): void {
    this.#drawn.endComposition()
    this.#editor.expandShorthand()
    this.#editor.tellSelection()
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

function linesOfPlain(text: string): Line[] {
  return text.split(/\r?\n/).map((line) => ({
    runs: line === '' ? [] : [{ text: line, marks: {} }],
    block: 'p',
    align: null,
  }))
}
