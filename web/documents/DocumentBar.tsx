// The document's title, editable in place, and the controls of the document.

import { type ComponentType, type FormEvent, useEffect, useRef, useState } from 'react'
import { documentPath } from '../../app/shared/document-api.ts'
import { maxTitleLength, titleFrom } from '../../app/shared/page-messages.ts'
import { LateCode } from '../late-code.ts'
import { Menu } from '../page/Controls.tsx'
import { type PageProps, useMayWrite, useView } from '../page/hooks.ts'
import { LineIcon } from '../page/Icons.tsx'
import { formatLength } from '../page/wording.ts'
import type { DialogProps } from './dialogs.tsx'
import { countsOf } from './text-counts.ts'

type DialogName = 'DocumentsDialog' | 'ShareDialog'

export const dialogsCode = new LateCode(() => import('./dialogs.tsx'))

export function DocumentBar({ store, actions, start }: PageProps) {
  const [isRenaming, setRenaming] = useState(false)
  const mayWrite = useMayWrite(store, start)
  const file = useRef<HTMLInputElement>(null)
  const [Dialog, setDialog] = useState<ComponentType<DialogProps> | null>(null)

  function download(extension: string): void {
    const link = document.createElement('a')
    link.href = `${documentPath(start.channel)}/export.${extension}`
    link.download = ''
    link.click()
  }

  async function show(name: DialogName): Promise<void> {
    try {
      const dialogs = await dialogsCode.load()
      setDialog(() => dialogs[name])
    } catch (error) {
      actions.notify((error as Error).message)
    }
  }

  const items: Readonly<Record<string, () => void>> = {
    'Documents…': () => show('DocumentsDialog'),
    'Share…': () => show('ShareDialog'),
    ...(mayWrite && { Rename: () => setRenaming(true), 'Import…': () => file.current?.click() }),
    'Export as HTML': () => download('html'),
    'Export as Markdown': () => download('md'),
    History: () => actions.chooseView('history'),
  }
  return (
    <section className="document-bar row" aria-label="Title and file">
      <Title store={store} actions={actions} start={start} isRenaming={isRenaming} onRenaming={setRenaming} />
      <div className="document-controls row">
        <button type="button" className="view-link wide-only" onClick={() => show('DocumentsDialog')}>
          Documents
        </button>
        <button type="button" className="view-link wide-only" onClick={() => show('ShareDialog')}>
          Share
        </button>
        <Menu
          label="File"
          className="menu"
          buttonClass="view-link row"
          listClass="menu-list raised"
          describedBy="counts-line"
          shown={
            <>
              File
              <LineIcon name="chevron" />
            </>
          }
        >
          {(close) => (
            <>
              {Object.entries(items).map(([words, choose]) => (
                <button
                  key={words}
                  type="button"
                  className="menu-item"
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
      </div>
      <input
        ref={file}
        type="file"
        hidden
        aria-label="File to import"
        accept=".html,.htm,.md,.markdown,.txt,text/html,text/markdown,text/plain"
        onChange={({ currentTarget }) => {
          for (const chosen of currentTarget.files ?? []) void actions.importFile(chosen)
          // Allows the same file to be chosen again.
          currentTarget.value = ''
        }}
      />
      {Dialog && <Dialog store={store} actions={actions} start={start} onClose={() => setDialog(null)} />}
    </section>
  )
}

interface TitleProps extends PageProps {
  readonly isRenaming: boolean
  readonly onRenaming: (isRenaming: boolean) => void
}

/** Shows the channel's name while the document has no title. */
function Title({ store, actions, start, isRenaming, onRenaming }: TitleProps) {
  const title = useView(store, (view) => view.title) || start.channel
  const mayWrite = useMayWrite(store, start)
  const field = useRef<HTMLInputElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isRenaming) field.current?.select()
  }, [isRenaming])

  function finish(next: string | null): void {
    onRenaming(false)
    if (next !== null && next !== title) actions.rename(next === start.channel ? '' : next)
  }
  function submit(event: FormEvent): void {
    event.preventDefault()
    finish(titleFrom(field.current?.value ?? ''))
    // Waits until the button exists again.
    requestAnimationFrame(() => opener.current?.focus())
  }

  if (!mayWrite)
    return (
      <h2 className="document-title" translate="no">
        {title}
      </h2>
    )
  if (!isRenaming)
    return (
      <h2 className="document-title" translate="no">
        <button
          ref={opener}
          type="button"
          className="title-button"
          title="Rename"
          aria-label={`${title}. Rename this document`}
          onClick={() => onRenaming(true)}
        >
          {title}
        </button>
      </h2>
    )
  return (
    <form className="document-title" onSubmit={submit}>
      <input
        ref={field}
        className="title-field"
        aria-label="Title of this document"
        defaultValue={title}
        maxLength={maxTitleLength}
        // biome-ignore lint/a11y/noAutofocus: it replaces the button that was pressed.
        autoFocus
        onBlur={(event) => finish(titleFrom(event.currentTarget.value))}
        onKeyDown={(event) => event.key === 'Escape' && finish(null)}
      />
    </form>
  )
}
