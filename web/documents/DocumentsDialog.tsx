// The dialog that lists the documents, and makes new ones.

import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { type DocumentList, documentPath, type ListedDocument } from '../../app/shared/document-api.ts'
import { deletedForMs, maxTitleLength } from '../../app/shared/page-messages.ts'
import { wordsIn } from '../../app/shared/search.ts'
import { browserTimers } from '../../client/transports.ts'
import { Segments } from '../page/Controls.tsx'
import { useAttempt } from '../page/hooks.ts'
import { timeOfDay } from '../page/wording.ts'
import { Dialog, type DialogProps } from './Dialog.tsx'
import { addressOfDocument } from './document-addresses.ts'
import { channelFor, type DocumentOrder, documentOrders, inOrder, partsAt } from './document-names.ts'
import { askDocuments } from './document-requests.ts'

/** After a key, before the server is asked. */
const searchDelayMs = 250

export function DocumentsDialog({ actions, start, onClose }: DialogProps) {
  const [list, setList] = useState<DocumentList | null>(null)
  /** Without a search. */
  const [all, setAll] = useState<DocumentList | null>(null)
  const { failure, attempt } = useAttempt()
  const [wanted, setWanted] = useState('')
  const [order, setOrder] = useState<DocumentOrder>('change')

  /** Of the search whose answer is awaited: an earlier one's comes too late. */
  const asked = useRef('')
  async function ask(): Promise<void> {
    const words = wanted.trim()
    asked.current = words
    const answer = await askDocuments(words)
    if (words === '') setAll(answer)
    if (asked.current === words) setList(answer)
  }
  const load = () => void attempt(ask)
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each search.
  useEffect(() => browserTimers.later(load, wanted === '' ? 0 : searchDelayMs), [wanted])

  const words = wordsIn(wanted)
  const found = inOrder(list?.documents ?? [], order)
  const deleted = found.filter(isDeleted)
  const there = found.filter((one) => !isDeleted(one))
  const listOf = (documents: readonly ListedDocument[]) => (
    <ul className="document-list">
      {documents.map((document) => (
        <DocumentEntry
          key={document.channel}
          document={document}
          words={words}
          isOpen={document.channel === start.channel}
          onDelete={async (deleted) => {
            await actions.deleteDocument(document.channel, deleted)
            await ask()
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
          placeholder="Search names and texts"
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
          {wanted === '' ? 'There are no documents here yet.' : `No document contains “${wanted}”.`}
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
      {list && list.unsearched > 0 && (
        <p className="dialog-note">
          {formatUnsearched(list.unsearched)}{' '}
          <button type="button" className="text-button" onClick={load}>
            Search again
          </button>
        </p>
      )}
      {list && list.omitted > 0 && (
        <p className="dialog-note">
          {list.omitted} older documents are not listed; open them by their address.
        </p>
      )}
      {all?.mayCreate && (
        <NewDocument
          documents={all.documents}
          onCreate={(name, channel, isNew) => actions.createDocument(name, channel, isNew)}
        />
      )}
    </Dialog>
  )
}

const formatUnsearched = (count: number) =>
  `${count === 1 ? 'One text takes' : `${count} texts take`} long to read, and ${count === 1 ? 'was' : 'were'} not searched.`

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
  /** That were searched for. */
  readonly words: readonly string[]
  /** Open in this window. */
  readonly isOpen: boolean
  /** Rejects with an Error whose message can be displayed. */
  readonly onDelete: (deleted: boolean) => Promise<void>
}

/** Asks before deleting. */
function DocumentEntry({ document, words, isOpen, onDelete }: EntryProps) {
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
        {document.found !== null && (
          <span className="document-found small" translate="no">
            {partsAt(words, document.found).map((part, place) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no names.
              place % 2 === 1 ? <mark key={place}>{part}</mark> : part,
            )}
          </span>
        )}
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
