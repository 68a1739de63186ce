// People on the page: badges in the header, and a list with this window's own name.

import { type FormEvent, useEffect, useRef, useState } from 'react'
import { maxNameCharacters } from '../../app/shared/page-messages.ts'
import { initialsOf, type Person } from '../editor/presence.ts'
import { usePopup } from './Controls.tsx'
import { type CommonProps, useView } from './hooks.ts'

/** Number of badges in the header; the rest are a count. */
const maxBadges = 3

export function People({ store, actions }: CommonProps) {
  const people = useView(store, (view) => view.people)
  // Unknown while disconnected.
  const count = useView(store, (view) => (view.link.state === 'open' ? view.windows : null))
  const { isOpen, close, button, popup } = usePopup()
  const others = people.filter(({ isSelf }) => !isSelf)
  const badges = [...others, ...people.filter(({ isSelf }) => isSelf)].slice(0, maxBadges)
  const typing = others.filter(({ isTyping }) => isTyping)
  /** Windows that do not say who they are. */
  const unnamed = Math.max(0, (count ?? 0) - people.length)
  const all = people.length + unnamed

  return (
    <div className="people" {...popup}>
      <button {...button} className="people-button" aria-haspopup="dialog">
        <span className="people-badges" aria-hidden="true">
          {badges.map((person) => (
            <Badge key={person.window} person={person} />
          ))}
        </span>
        <span className="people-count">
          {all > badges.length && (
            <span className="people-more" aria-hidden="true">
              +{all - badges.length}
            </span>
          )}
          <span className="people-all" aria-hidden="true">
            {all}
          </span>
        </span>
        <span className="visually-hidden">
          {all === 1 ? 'Only you are here' : `${all} windows are here: who they are`}
          {typing.length > 0 && `, ${typing.length} typing`}
        </span>
      </button>
      {isOpen && (
        <div className="people-list raised" role="dialog" aria-label="Who is here">
          <ul>
            {people.map((person) => (
              <li key={person.window} data-typing={person.isTyping || undefined}>
                <Badge person={person} />
                {person.isSelf ? (
                  <OwnName name={person.name} onChoose={(name) => actions.chooseName(name)} onDone={close} />
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
      )}
    </div>
  )
}

function Badge({ person: { name, colour, isTyping } }: { readonly person: Person }) {
  return (
    <span
      className="people-badge"
      data-colour={colour}
      data-typing={isTyping || undefined}
      aria-hidden="true"
    >
      {initialsOf(name)}
    </span>
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
