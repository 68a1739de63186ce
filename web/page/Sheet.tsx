// The sheet of paper that the document is written on: the editor, and its placeholder while it is empty.

import { useCallback, useRef } from 'react'
import { Editor, type EditorProps } from '../editor/Editor.tsx'
import { markWhileEmpty } from './placeholder.ts'

export function Sheet({ onReady }: EditorProps) {
  const sheet = useRef<HTMLDivElement>(null)
  const begin = useCallback(
    (content: HTMLElement) => {
      const end = onReady(content)
      const stopMarking = sheet.current && markWhileEmpty(content, sheet.current)
      return () => {
        stopMarking?.()
        end()
      }
    },
    [onReady],
  )
  return (
    <div ref={sheet} className="sheet">
      <Editor onReady={begin} />
    </div>
  )
}
