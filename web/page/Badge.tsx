// A person's initials on their colour.

import { initialsOf, type Person } from '../editor/presence.ts'

export function Badge({ person: { name, colour, isTyping } }: { readonly person: Person }) {
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
