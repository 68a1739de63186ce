// The shared document: mounted once, then left alone by React; its content belongs to whoever `onReady` hands it to.

import type { MediumEditorOptions } from 'medium-editor'
import { memo, useLayoutEffect, useRef } from 'react'
import { MediumEditorReact, toggleList } from './medium-editor-react.tsx'

export interface EditorProps {
  /** Called with the contenteditable element when medium-editor is attached; returns the way to clean up. */
  readonly onReady: (element: HTMLElement) => () => void
}

/** An empty paragraph rather than nothing, so that the first line typed is a paragraph like the others. */
const initialText = '<p><br></p>'

const options: MediumEditorOptions = {
  toolbar: {
    buttons: [
      { name: 'bold', aria: 'Bold', contentDefault: '<b>B</b>' },
      { name: 'italic', aria: 'Italic', contentDefault: '<i>I</i>' },
      { name: 'underline', aria: 'Underline', contentDefault: '<u>U</u>' },
      { name: 'h2', aria: 'Heading', contentDefault: 'H2' },
      { name: 'h3', aria: 'Subheading', contentDefault: 'H3' },
      { name: 'quote', aria: 'Quotation', contentDefault: icon('M3 4v4h3v1q0 2-2 3M9 4v4h3v1q0 2-2 3') },
      {
        name: 'unorderedlist',
        aria: 'List',
        contentDefault: icon('M3 4h0M3 8h0M3 12h0M6.5 4H14M6.5 8H14M6.5 12H14'),
        handleClick: toggleList,
      },
      {
        name: 'anchor',
        aria: 'Link',
        contentDefault: icon('M6.5 9.5l3-3M7 5l2-2a2.8 2.8 0 0 1 4 4l-2 2M9 11l-2 2a2.8 2.8 0 0 1-4-4l2-2'),
      },
    ],
  },
  anchor: { placeholderText: 'Address of the link', linkValidation: true },
  // Pasted content is cleaned before medium-editor sees it.
  paste: { forcePlainText: false, cleanPastedHTML: false },
  placeholder: false,
  autoLink: false,
  // With this medium-editor adds `rel="noopener noreferrer"` too.
  targetBlank: true,
  imageDragging: false,
  spellcheck: true,
}

/** Its props are to be constant; it renders once. */
export const Editor = memo(function Editor({ onReady }: EditorProps) {
  const editor = useRef<MediumEditorReact>(null)
  // A layout effect cleans up before medium-editor is destroyed; a passive one would clean up after.
  useLayoutEffect(() => {
    const element = editor.current?.element
    return element ? onReady(element) : undefined
  }, [onReady])
  return (
    <MediumEditorReact
      ref={editor}
      id="document"
      className="document"
      text={initialText}
      options={options}
      role="textbox"
      aria-multiline="true"
      aria-label="Shared document"
      aria-placeholder="Start writing. Every open window shows it at once."
      spellCheck
    />
  )
})

function icon(path: string): string {
  return `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`
}
