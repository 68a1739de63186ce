// Dialogs of the document: the list of documents, and its links.

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { type DocumentList, documentPath, type ListedDocument } from '../../app/shared/document-api.ts'
import { deletedForMs, maxTitleLength } from '../../app/shared/page-messages.ts'
import { browserTimers } from '../../client/transports.ts'
import { Segments } from '../page/Controls.tsx'
import { type PageProps, useAttempt } from '../page/hooks.ts'
import { timeOfDay } from '../page/wording.ts'
import { channelFor, type DocumentOrder, documentOrders, findDocuments } from './document-names.ts'
import { addressOfDocument, askDocuments, inviteReaders, readOnlyAddress } from './document-requests.ts'
import '../styles/dialogs.css'

export interface DialogProps extends PageProps {
  readonly onClose: () => void
}

interface FrameProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Modal. The browser returns the focus to its previous place. */
function Dialog({ title, onClose, children }: FrameProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the Escape key closes it too.
    <dialog
      ref={dialog}
      className="dialog raised"
      aria-labelledby={heading}
      onClose={onClose}
      // Only a click on the backdrop has the dialog itself as its target.
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div className="dialog-content">
        <h2 id={heading}>{title}</h2>
        {children}
        <button
          type="button"
          className="dialog-close"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          ×
        </button>
      </div>
    </dialog>
  )
}

export function DocumentsDialog({ actions, start, onClose }: DialogProps) {
  const [list, setList] = useState<DocumentList | null>(null)
  const { failure, attempt } = useAttempt()
  const [wanted, setWanted] = useState('')
  const [order, setOrder] = useState<DocumentOrder>('change')

  const load = () => void attempt(async () => setList(await askDocuments()))
  // biome-ignore lint/correctness/useExhaustiveDependencies: once.
  useEffect(load, [])

  const found = findDocuments(list?.documents ?? [], wanted, order)
  const deleted = found.filter(isDeleted)
  const there = found.filter((one) => !isDeleted(one))
  const listOf = (documents: readonly ListedDocument[]) => (
    <ul className="document-list">
      {documents.map((document) => (
        <DocumentEntry
          key={document.channel}
          document={document}
          isOpen={document.channel === start.channel}
          onDelete={async (deleted) => {
            await actions.deleteDocument(document.channel, deleted)
            setList(await askDocuments())
          }}
        />
      ))}
    </ul>
  )
  return (
    <Dialog title="Documents" onClose={onClose}>
      {failure !== null && (
        <p role="alert">
          {failure}{' '}
          <button type="button" className="text-button" onClick={load}>
            Try again
          </button>
        </p>
      )}
      {list === null && failure === null && <p className="dialog-note">Loading…</p>}
      <div className="document-search">
        {/* Rendered from the start, so that it has the focus when the dialog opens. */}
        <input
          type="search"
          className="field"
          aria-label="Search documents"
          placeholder="Search"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
        <Segments
          label="Order"
          choices={Object.entries(documentOrders) as [DocumentOrder, string][]}
          chosen={order}
          onChoose={setOrder}
        />
      </div>
      <output className="visually-hidden">{list && wanted && formatCount(found.length)}</output>
      {list && found.length === 0 && (
        <p className="dialog-note">
          {wanted === '' ? 'There are no documents here yet.' : `No document title contains “${wanted}”.`}
        </p>
      )}
      <div className="document-lists">
        {listOf(there)}
        {deleted.length > 0 && (
          <>
            <h3>Deleted</h3>
            {listOf(deleted)}
          </>
        )}
      </div>
      {list && list.omitted > 0 && (
        <p className="dialog-note">
          {list.omitted} older documents are not listed; open them by their address.
        </p>
      )}
      {list?.mayCreate && (
        <NewDocument
          documents={list.documents}
          onCreate={(name, channel, isNew) => actions.createDocument(name, channel, isNew)}
        />
      )}
    </Dialog>
  )
}

const formatCount = (count: number) => (count === 1 ? '1 document found.' : `${count} documents found.`)

const isDeleted = ({ deletedAt }: ListedDocument) => deletedAt !== null

function detailsOf({ at, windows, deletedAt, isTooCostly }: ListedDocument): string {
  const now = browserTimers.now()
  const changed = at === null ? 'Nothing written yet' : `Changed ${timeOfDay(at, now)}`
  return [
    deletedAt === null ? changed : `Can be brought back until ${timeOfDay(deletedAt + deletedForMs, now)}`,
    isTooCostly && 'Too costly to read',
    windows > 0 && `${windows === 1 ? '1 window' : `${windows} windows`} open`,
  ]
    .filter(Boolean)
    .join(' · ')
}

interface EntryProps {
  readonly document: ListedDocument
  /** Open in this window. */
  readonly isOpen: boolean
  /** Rejects with an Error whose message can be displayed. */
  readonly onDelete: (deleted: boolean) => Promise<void>
}

/** Asks before deleting. */
function DocumentEntry({ document, isOpen, onDelete }: EntryProps) {
  const { channel, title, mayWrite } = document
  const [isAsking, setAsking] = useState(false)
  const { failure, attempt } = useAttempt()
  const opener = useRef<HTMLButtonElement>(null)
  const keep = useRef<HTMLButtonElement>(null)
  const name = title || channel

  function change(deleted: boolean): void {
    setAsking(false)
    void attempt(() => onDelete(deleted))
  }
  function ask(next: boolean): void {
    setAsking(next)
    // Waits until the buttons have changed.
    requestAnimationFrame(() => (next ? keep : opener).current?.focus())
  }

  return (
    <li className="document-entry">
      <a
        className="document-item"
        href={addressOfDocument(location.href, channel)}
        aria-current={isOpen ? 'page' : undefined}
      >
        <span className="document-name" translate="no">
          {name}
        </span>
        <span className="small">{detailsOf(document)}</span>
      </a>
      {mayWrite && document.at !== null && !isAsking && (
        <button
          ref={opener}
          type="button"
          className="text-button"
          aria-label={isDeleted(document) ? `Bring ${name} back` : `Delete ${name}`}
          onClick={() => (isDeleted(document) ? change(false) : ask(true))}
        >
          {isDeleted(document) ? 'Bring back' : 'Delete'}
        </button>
      )}
      {isAsking && (
        <fieldset className="document-question">
          <legend>
            Delete “<span translate="no">{name}</span>” for everyone? It can be brought back for a day.
          </legend>
          <button type="button" className="button" onClick={() => change(true)}>
            Delete
          </button>
          <button ref={keep} type="button" className="button" onClick={() => ask(false)}>
            Keep
          </button>
        </fieldset>
      )}
      {failure !== null && (
        <p className="small" role="alert">
          {failure}
        </p>
      )}
    </li>
  )
}

interface NewDocumentProps {
  readonly documents: readonly ListedDocument[]
  readonly onCreate: (name: string, channel: string, isNew: boolean) => Promise<void>
}

function NewDocument({ documents, onCreate }: NewDocumentProps) {
  const [name, setName] = useState('')
  const { failure, setFailure, attempt } = useAttempt()
  const [isBusy, setBusy] = useState(false)
  const channel = channelFor(name)
  const isNew = documents.every((document) => document.channel !== channel)
  const note = useId()

  async function create(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (channel === null) return setFailure('Give it a name with at least one letter or digit.')
    setBusy(true)
    await attempt(() => onCreate(name, channel, isNew))
    setBusy(false)
  }

  return (
    <form className="new-document" onSubmit={create}>
      <label>
        <span className="field-label">New document</span>
        <input
          className="field"
          placeholder="Its name"
          value={name}
          maxLength={maxTitleLength}
          aria-describedby={note}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <button type="submit" className="button" disabled={isBusy}>
        {isNew ? 'Create' : 'Open'}
      </button>
      <p id={note} className="small" role={failure === null ? undefined : 'alert'}>
        {failure ?? (channel === null ? ' ' : formatAddress(channel, isNew))}
      </p>
    </form>
  )
}

const formatAddress = (channel: string, isNew: boolean) =>
  isNew ? `Its address will be ${documentPath(channel)}` : 'There is already a document at this address.'

const periods = [
  { hours: 1, words: 'an hour' },
  { hours: 24, words: 'a day' },
  { hours: 168, words: 'a week' },
  { hours: 720, words: '30 days' },
]

export function ShareDialog({ start, onClose }: DialogProps) {
  const { channel, mayWrite, sessionEndsAt } = start
  const isOpen = sessionEndsAt === null
  const address = new URL(documentPath(channel), location.href).href
  return (
    <Dialog title="Share" onClose={onClose}>
      <CopyField
        label="Address of this document"
        text={address}
        note={
          isOpen
            ? 'Anyone who can reach this server can read and write there.'
            : 'Only people with an invitation can open it.'
        }
      />
      {isOpen ? (
        <CopyField
          label="Read-only link"
          text={readOnlyAddress(location.href, channel)}
          note="The window shows the document without a caret. Anyone who edits the address can write; run the server with access: invited to enforce it."
        />
      ) : (
        mayWrite && <ReadOnlyInvitation channel={channel} />
      )}
    </Dialog>
  )
}

function ReadOnlyInvitation({ channel }: { readonly channel: string }) {
  const [hours, setHours] = useState(24)
  const [made, setMade] = useState<{ link: string; expiresAt: number } | null>(null)
  const { failure, attempt } = useAttempt()
  const make = () =>
    attempt(async () => {
      const { link, expiresAt } = await inviteReaders(channel, hours)
      setMade({ link: new URL(link, location.href).href, expiresAt })
    })

  return (
    <>
      <div className="invitation">
        <label>
          <span className="field-label">Read-only invitation, for</span>
          <select
            className="field"
            value={hours}
            onChange={(event) => {
              setHours(Number(event.target.value))
              setMade(null)
            }}
          >
            {periods.map(({ hours, words }) => (
              <option key={hours} value={hours}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="button" onClick={make}>
          Make a link
        </button>
      </div>
      {failure !== null && <p role="alert">{failure}</p>}
      {made && (
        <CopyField
          label="Read-only link"
          text={made.link}
          note={`Until ${timeOfDay(made.expiresAt, browserTimers.now())}, any browser that opens it can read this document but cannot write.`}
        />
      )}
    </>
  )
}

interface CopyFieldProps {
  readonly label: string
  readonly text: string
  readonly note: string
}

function CopyField({ label, text, note }: CopyFieldProps) {
  const [isCopied, setCopied] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const described = useId()

  async function copy(): Promise<void> {
    field.current?.select()
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch {
      // Without permission, the selected text can still be copied by keyboard.
    }
  }

  return (
    <div className="copy-field">
      <label>
        <span className="field-label">{label}</span>
        <input
          ref={field}
          className="field"
          readOnly
          value={text}
          aria-describedby={described}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <button type="button" className="button" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
      <p id={described} className="small">
        {note}
      </p>
      <output className="visually-hidden">{isCopied && `${label}: copied.`}</output>
    </div>
  )
}
