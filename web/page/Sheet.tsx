// The sheet of paper that the document is written on: the editor, and its placeholder while it is empty.

import { useCallback } from 'react'
import { Editor, type EditorProps } from '../editor/Editor.tsx'
import { markWhileEmpty } from './placeholder.ts'
import { makeReadOnly } from './read-only.ts'

interface SheetProps extends EditorProps {
  readonly mayWrite: boolean
}

export function Sheet({ onReady, mayWrite }: SheetProps) {
  const begin = useCallback(
    (content: HTMLElement) => {
      if (!mayWrite) makeReadOnly(content)
      const end = onReady(content)
      const stopMarking = markWhileEmpty(content)
      return () => {
        stopMarking()
        end()
      }
    },
    [onReady, mayWrite],
  )
  return (
    <div className="sheet">
      <Editor onReady={begin} />
    </div>
  )
}
