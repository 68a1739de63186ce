// The sheet of paper that the document is written on: the editor, and its placeholder while it is empty.

import { useCallback } from 'react'
import { Editor, type EditorProps } from '../editor/Editor.tsx'
import { markWhileEmpty } from './placeholder.ts'

export function Sheet({ onReady }: EditorProps) {
  const begin = useCallback(
    (content: HTMLElement) => {
      const end = onReady(content)
      const stopMarking = markWhileEmpty(content)
      return () => {
        stopMarking()
        end()
      }
    },
    [onReady],
  )
  return (
    <div className="sheet">
      <Editor onReady={begin} />
    </div>
  )
}
