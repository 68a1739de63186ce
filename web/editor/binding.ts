// Binds a contenteditable element to the shared document's text, in both directions.

import { DrawnText, type DrawnTextParts } from './drawn-text.ts'
import { InputEvents } from './input-events.ts'
import { TextEditor } from './text-editor.ts'

export interface BindingParts extends DrawnTextParts {
  /** The local selection changed, including by local typing. */
  readonly onSelection?: () => void
}

/** Input events become changes of the text, and changes of the text are drawn. */
export class Binding {
  readonly drawn: DrawnText
  readonly editor: TextEditor
  readonly #ending = new AbortController()

  constructor(parts: BindingParts) {
    const { signal } = this.#ending
    this.drawn = new DrawnText(parts, () => this.editor.tellState())
    this.editor = new TextEditor(this.drawn, parts)
    const options = { capture: true, signal }
    document.addEventListener('selectionchange', () => this.editor.selectionChanged(), options)
    if (parts.mayWrite) new InputEvents(this.drawn, this.editor).listen(parts.root, signal)
  }

  stop(): void {
    this.#ending.abort()
    this.drawn.stop()
    this.editor.stop()
  }
}
