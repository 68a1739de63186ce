// The sheet: medium-editor, mounted once and never rendered again by React.

import MediumEditor, { type MediumEditorOptions } from 'medium-editor'
import { cloneElement, createRef, memo, useLayoutEffect, useRef, useState } from 'react'
import library from 'react-medium-editor'
import type { MountedEditor } from './commands.ts'
import { Toolbar, type ToolbarProps } from './Toolbar.tsx'

interface SheetProps {
  /** Takes over the mounted contenteditable element. */
  readonly onReady: (element: HTMLElement) => MountedEditor
  readonly mayWrite: boolean
  readonly onOpenWindow: () => void
}

/** Makes the first line typed a paragraph like the others. */
const initialText = '<p><br></p>'

/**
 * medium-editor keeps its keys for blocks: quotes, headings, lists. Its toolbar shows only at a
 * selection and runs the browser's commands; `Toolbar.tsx` is always visible and runs the mounted
 * editor's commands.
 */
const options: MediumEditorOptions = {
  toolbar: false,
  keyboardCommands: false,
  placeholder: false,
  autoLink: false,
  // The name keeps medium-editor from handling every drop, including text.
  extensions: { imageDragging: {} },
  spellcheck: true,
}

// `clipboard.ts` handles pasting. The library has no switch for its own handler.
MediumEditor.extensions.paste = MediumEditor.Extension

/** Renders its editor once; its props must be constant. */
export const Sheet = memo(function Sheet({ onReady, mayWrite, onOpenWindow }: SheetProps) {
  const medium = useRef<MediumEditorReact>(null)
  const [editor, setEditor] = useState<ToolbarProps['editor']>(null)
  // Layout effects clean up before medium-editor is destroyed, passive ones after.
  useLayoutEffect(() => {
    const root = medium.current?.element
    if (!root) return
    if (!mayWrite) {
      // Stays reachable and scrollable by keyboard.
      root.contentEditable = 'false'
      root.setAttribute('aria-readonly', 'true')
      root.setAttribute('aria-placeholder', 'Nothing has been written yet.')
      root.tabIndex = 0
    }
    const { commands, release } = onReady(root)
    setEditor({ root, commands })
    const stopMarking = markWhileEmpty(root)
    return () => {
      setEditor(null)
      stopMarking()
      release()
    }
  }, [onReady, mayWrite])
  return (
    <div className="sheet">
      {mayWrite && <Toolbar editor={editor} />}
      <MediumEditorReact
        ref={medium}
        id="document"
        className="document"
        text={initialText}
        options={options}
        role="textbox"
        aria-multiline="true"
        aria-label="Shared document"
        aria-placeholder="Write, or press / for headings, lists, code"
        spellCheck
        // A translation is for one person, the text for everyone.
        translate="no"
      />
      {mayWrite && (
        <p className="sheet-offer">
          <button type="button" className="text-button" onClick={onOpenWindow}>
            Open a second window
          </button>{' '}
          to watch every keystroke arrive there.
        </p>
      )}
    </div>
  )
})

/**
 * Adapts react-medium-editor 1.8.1, written for React 15, to newer ones: a ref replaces `findDOMNode`, and a
 * single render replaces `componentWillReceiveProps`. Omits `onChange`, since some edits fire no `input`.
 */
class MediumEditorReact extends library.default {
  static {
    // React warns if it exists. Updates are disabled, so it never runs.
    Object.defineProperty(MediumEditorReact.prototype, 'componentWillReceiveProps', { value: undefined })
  }

  readonly #ref = createRef<HTMLElement>()

  /** Null while unmounted. */
  get element(): HTMLElement | null {
    return this.#ref.current
  }

  override componentDidMount(): void {
    const element = this.#ref.current
    if (!element?.parentElement) return
    this.medium = new MediumEditor(element, {
      ...this.props.options,
      elementsContainer: element.parentElement,
    })
  }

  /** The library's rerender restores the selection from character counts and loses the caret. */
  override shouldComponentUpdate(): boolean {
    return false
  }

  override render() {
    return cloneElement(super.render(), { ref: this.#ref })
  }
}

/**
 * Sets `data-empty` on the parent, which the edit observer does not watch. medium-editor's own
 * placeholder serialises all content at every key and misses remote edits.
 */
function markWhileEmpty(content: HTMLElement): () => void {
  const mark = () => content.parentElement?.toggleAttribute('data-empty', isEmpty(content))
  const observer = new MutationObserver(mark)
  observer.observe(content, { childList: true, characterData: true, subtree: true })
  mark()
  return () => observer.disconnect()
}

/** Constant cost, however long the document. */
function isEmpty(content: HTMLElement): boolean {
  if (content.childNodes.length > 1) return false
  const only = content.firstElementChild
  return (
    content.textContent.trim() === '' &&
    (only === null || /^(P|DIV|BR)$/.test(only.tagName)) &&
    !content.querySelector('img')
  )
}
