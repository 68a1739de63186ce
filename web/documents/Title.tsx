// The document's title, edited in place.

import { type FormEvent, useEffect, useRef } from 'react'
import { maxTitleLength, titleFrom } from '../../app/shared/page-messages.ts'
import { type PageProps, useMayWrite, useView } from '../page/hooks.ts'
import { nameOf } from '../store.ts'

interface TitleProps extends PageProps {
  readonly isRenaming: boolean
  readonly onRenaming: (isRenaming: boolean) => void
}

/** While the document has no title, its first heading or the channel's name is shown. */
export function Title({ store, actions, start, isRenaming, onRenaming }: TitleProps) {
  const title = useView(store, (view) => nameOf(view, start.channel))
  const mayWrite = useMayWrite(store, start)
  const field = useRef<HTMLInputElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isRenaming) field.current?.select()
  }, [isRenaming])

  function finish(next: string | null): void {
    onRenaming(false)
    if (next === null || next === title) return
    const { heading } = store.view()
    actions.rename(next === (heading || start.channel) ? '' : next)
  }
  function submit(event: FormEvent): void {
    event.preventDefault()
    finish(titleFrom(field.current?.value ?? ''))
    // Waits until the button exists again.
    requestAnimationFrame(() => opener.current?.focus())
  }

  if (!mayWrite)
    return (
      <h1 className="document-title" translate="no">
        {title}
      </h1>
    )
  if (!isRenaming)
    return (
      <h1 className="document-title" translate="no">
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
      </h1>
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
