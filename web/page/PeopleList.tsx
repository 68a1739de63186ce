// Who is on the page, with this window's own name, which can be changed.

import { type FormEvent, useEffect, useRef, useState } from 'react'
import { maxNameCharacters } from '../../app/shared/page-messages.ts'
import type { Person } from '../editor/presence.ts'
import { Badge } from './Badge.tsx'
import '../styles/people-list.css'

interface PeopleListProps {
  readonly people: readonly Person[]
  /** Number of windows that do not say who they are. */
  readonly unnamed: number
  readonly onName: (name: string) => void
  readonly onDone: () => void
}

export function PeopleList({ people, unnamed, onName, onDone }: PeopleListProps) {
  return (
    <div className="people-list raised" role="dialog" aria-label="Who is here">
      <ul>
        {people.map((person) => (
          <li key={person.window} data-typing={person.isTyping || undefined}>
            <Badge person={person} />
            {person.isSelf ? (
              <OwnName name={person.name} onChoose={onName} onDone={onDone} />
            ) : (
              <span className="people-name">
                <bdi translate="no">{person.name}</bdi>
              </span>
            )}
            <span className="people-state small">
              {person.isSelf ? 'you' : person.isTyping ? 'typing…' : ''}
            </span>
          </li>
        ))}
      </ul>
      {unnamed > 0 && (
        <p className="small">
          and {unnamed} {unnamed === 1 ? 'window' : 'windows'} without a name
        </p>
      )}
    </div>
  )
}

interface OwnNameProps {
  readonly name: string
  readonly onChoose: (name: string) => void
  readonly onDone: () => void
}

/** Saves the name when the field loses focus or is submitted. */
function OwnName({ name, onChoose, onDone }: OwnNameProps) {
  const field = useRef<HTMLInputElement>(null)
  const [draft, setDraft] = useState(name)
  useEffect(() => setDraft(name), [name])
  // A click would focus it and so keep the list open; by keyboard it is the first thing to do here.
  useEffect(() => field.current?.select(), [])
  function submit(event: FormEvent): void {
    event.preventDefault()
    onChoose(draft)
    onDone()
  }
  return (
    <form className="people-own" onSubmit={submit}>
      <input
        ref={field}
        className="field"
        aria-label="Your name"
        autoComplete="nickname"
        maxLength={maxNameCharacters}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={() => draft !== name && onChoose(draft)}
      />
    </form>
  )
}
