// Share, and the menu of all else that can be done with the document.

import { useEffect, useRef, useState } from 'react'
import { documentPath } from '../../app/shared/document-api.ts'
import { Menu } from '../page/Controls.tsx'
import { type PageProps, useLateCode, useMayWrite } from '../page/hooks.ts'
import { LineIcon } from '../page/Icons.tsx'
import { overlaysCode } from '../page/overlays-code.ts'
import { formatLength } from '../page/wording.ts'
import { countsOf } from './text-counts.ts'

type DialogName = 'DocumentsDialog' | 'ShareDialog'

interface ControlsProps extends PageProps {
  readonly onRename: () => void
}

export function DocumentControls({ store, actions, start, onRename }: ControlsProps) {
  const mayWrite = useMayWrite(store, start)
  const file = useRef<HTMLInputElement>(null)
  const [dialog, setDialog] = useState<DialogName | null>(null)
  const overlays = useLateCode(overlaysCode, dialog !== null, (sentence) => {
    setDialog(null)
    actions.notify(sentence)
  })
  const Dialog = dialog && overlays?.[dialog]

  function download(extension: string): void {
    const link = document.createElement('a')
    link.href = `${documentPath(start.channel)}/export.${extension}`
    link.download = ''
    link.click()
  }

  function importAll(files: Iterable<File>): void {
    for (const one of files) void actions.importFile(one)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: `importAll` never changes.
  useEffect(() => {
    if (!mayWrite) return
    // The text takes what is dropped on it; elsewhere the browser would leave the page for the file.
    function onDrag(event: DragEvent): void {
      const { type, dataTransfer } = event
      if (event.defaultPrevented || !dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      if (type === 'drop') importAll(dataTransfer.files)
    }
    const ending = new AbortController()
    for (const type of ['dragover', 'drop'] as const)
      addEventListener(type, onDrag, { signal: ending.signal })
    return () => ending.abort()
  }, [mayWrite])

  const items: readonly (readonly [words: string, choose: () => void])[] = [
    ['New window', actions.openWindow],
    ['Documents…', () => setDialog('DocumentsDialog')],
    ...(mayWrite
      ? ([
          ['Rename', onRename],
          ['Import…', () => file.current?.click()],
        ] as const)
      : []),
    ['Export as HTML', () => download('html')],
    ['Export as Markdown', () => download('md')],
    ['Print…', () => print()],
  ]
  return (
    <div className="document-controls row">
      <button
        type="button"
        className="button primary-button share-button row"
        onClick={() => setDialog('ShareDialog')}
      >
        <LineIcon name="share" />
        <span className="share-word">Share</span>
      </button>
      <Menu
        label="Document"
        className="menu"
        buttonClass="menu-button"
        listClass="menu-list raised"
        describedBy="counts-line"
        shown={
          <>
            <span className="visually-hidden">Menu</span>
            <LineIcon name="more" />
          </>
        }
      >
        {(close) => (
          <>
            {items.map(([words, choose]) => (
              <button
                key={words}
                type="button"
                className="menu-item"
                data-item={words}
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  close()
                  choose()
                }}
              >
                {words}
              </button>
            ))}
            {/* The menu's description, not an item. */}
            <p id="counts-line" className="menu-note small" aria-hidden="true">
              {formatLength(countsOf(actions.lines))}
            </p>
          </>
        )}
      </Menu>
      <input
        ref={file}
        type="file"
        hidden
        aria-label="File to import"
        accept=".html,.htm,.md,.markdown,.txt,text/html,text/markdown,text/plain"
        onChange={({ currentTarget }) => {
          importAll(currentTarget.files ?? [])
          // Allows the same file to be chosen again.
          currentTarget.value = ''
        }}
      />
      {Dialog && <Dialog store={store} actions={actions} start={start} onClose={() => setDialog(null)} />}
    </div>
  )
}
