// The document's title, editable in place, and the controls of the document.

import { type ComponentType, type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { documentPath } from '../../server/wire/document-api.ts'
import { mostTitleLength, titleFrom } from '../../server/wire/messages.ts'
import { indexAfterKey, type PageProps, useMayWrite, useView } from '../page/hooks.ts'
import { LineIcon } from '../page/Icons.tsx'
import type { DialogProps } from './dialogs.tsx'

type DialogName = 'DocumentsDialog' | 'ShareDialog'

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
      const dialogs = await import('./dialogs.tsx')
      setDialog(() => dialogs[name])
    } catch {
      actions.notify(
        'This could not be loaded: the server did not answer. Try again once the connection is back.',
      )
    }
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
          items={[
            { words: 'Documents…', onChoose: () => show('DocumentsDialog') },
            { words: 'Share…', onChoose: () => show('ShareDialog') },
            ...(mayWrite
              ? [
                  { words: 'Rename', onChoose: () => setRenaming(true) },
                  { words: 'Import…', onChoose: () => file.current?.click() },
                ]
              : []),
            { words: 'Export as HTML', onChoose: () => download('html') },
            { words: 'Export as Markdown', onChoose: () => download('md') },
            { words: 'History', onChoose: () => actions.chooseView('history') },
            { words: 'Lab reports', onChoose: () => open('/lab') },
          ]}
        />
      </div>
      <input
        ref={file}
        type="file"
        hidden
        aria-label="File to import"
        accept=".html,.htm,.md,.markdown,.txt,text/html,text/markdown,text/plain"
        onChange={({ currentTarget }) => {
          for (const chosen of currentTarget.files ?? []) void actions.importFile(chosen)
          // The same file can be chosen again.
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

/** The channel's name while the document has no title. */
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
    // After the button is there again.
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
        maxLength={mostTitleLength}
        // biome-ignore lint/a11y/noAutofocus: it replaces the button that was pressed.
        autoFocus
        onBlur={(event) => finish(titleFrom(event.currentTarget.value))}
        onKeyDown={(event) => event.key === 'Escape' && finish(null)}
      />
    </form>
  )
}

interface MenuProps {
  readonly label: string
  readonly items: readonly { readonly words: string; readonly onChoose: () => void }[]
}

/** WAI-ARIA Authoring Practices, "Menu Button Pattern". */
function Menu({ label, items }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isOpen) menu.current?.querySelector('button')?.focus()
  }, [isOpen])

  function close(): void {
    setOpen(false)
    button.current?.focus()
  }
  function moveByKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') close()
    const all = [...event.currentTarget.querySelectorAll('button')]
    const next = indexAfterKey(
      event.key,
      all.indexOf(document.activeElement as HTMLButtonElement),
      all.length,
    )
    if (next === null) return
    event.preventDefault()
    all[next]?.focus()
  }

  return (
    <div className="menu">
      <button
        ref={button}
        type="button"
        className="view-link row"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        // Pressing would move the focus, in Safari to nothing: the menu would close before the click.
        onMouseDown={(event) => event.preventDefault()}
        onClick={isOpen ? close : () => setOpen(true)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return
          event.preventDefault()
          setOpen(true)
        }}
      >
        {label}
        <LineIcon name="chevron" />
      </button>
      {isOpen && (
        <div
          ref={menu}
          className="menu-list"
          role="menu"
          aria-label={label}
          tabIndex={-1}
          onKeyDown={moveByKey}
          onMouseDown={(event) => event.preventDefault()}
          onBlur={(event) => event.currentTarget.contains(event.relatedTarget) || setOpen(false)}
        >
          {items.map(({ words, onChoose }) => (
            <button
              key={words}
              type="button"
              className="menu-item"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close()
                onChoose()
              }}
            >
              {words}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
