// People on the page: badges in the header, as a button that opens a list.

import { Badge } from './Badge.tsx'
import { usePopup } from './Controls.tsx'
import { type CommonProps, useLateCode, useView } from './hooks.ts'
import { overlaysCode } from './overlays-code.ts'

/** Number of badges in the header; the rest are a count. */
const maxBadges = 3

export function People({ store, actions }: CommonProps) {
  const people = useView(store, (view) => view.people)
  // Unknown while disconnected.
  const count = useView(store, (view) => (view.link.state === 'open' ? view.windows : null))
  const { isOpen, setOpen, close, button, popup } = usePopup()
  const list = useLateCode(overlaysCode, isOpen, (sentence) => {
    setOpen(false)
    actions.notify(sentence)
  })
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
      {isOpen && list && (
        <list.PeopleList
          people={people}
          unnamed={unnamed}
          onName={(name) => actions.chooseName(name)}
          onDone={close}
        />
      )}
    </div>
  )
}
