// Makes react-medium-editor 1.8.1, written for React 15, work with React 19: every oddity of it is here.

import MediumEditor, { type RunningButton } from 'medium-editor'
import { cloneElement, createRef } from 'react'
import library from 'react-medium-editor'

/**
 * The library's component with what React 19 took away from it replaced: `findDOMNode` by a ref, and
 * `componentWillReceiveProps` by never rendering again. Its `onChange` is not offered: some edits fire no
 * `input`, so whoever needs the content watches the element.
 */
export class MediumEditorReact extends library.default {
  static {
    // Its mere presence makes React warn. It could do nothing here: `shouldComponentUpdate` says no.
    Object.defineProperty(MediumEditorReact.prototype, 'componentWillReceiveProps', { value: undefined })
  }

  readonly #ref = createRef<HTMLElement>()

  /** The contenteditable element; null before mounting and after unmounting. */
  get element(): HTMLElement | null {
    return this.#ref.current
  }

  override componentDidMount(): void {
    const element = this.#ref.current
    if (!element?.parentElement) return
    // Its toolbar goes next to the document, not to the body's end, so that Tab leads from a selection to it.
    this.medium = new MediumEditor(element, {
      ...this.props.options,
      elementsContainer: element.parentElement,
    })
    const toolbar = this.medium.getExtensionByName('toolbar')?.getToolbarElement()
    toolbar?.setAttribute('role', 'toolbar')
    toolbar?.setAttribute('aria-label', 'Formatting')
  }

  /** Each render of the library saves and restores the selection as character counts, and loses the caret's place. */
  override shouldComponentUpdate(): boolean {
    return false
  }

  override render() {
    return cloneElement(super.render(), { ref: this.#ref })
  }
}

/** For the list button: what was a list item becomes a paragraph, where Chromium leaves text between paragraphs. */
export function toggleList(this: RunningButton, event: Event): void {
  event.preventDefault()
  event.stopPropagation()
  this.execAction('insertunorderedlist')
  if (!document.queryCommandState('insertUnorderedList')) document.execCommand('formatBlock', false, 'p')
}
