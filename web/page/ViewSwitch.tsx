// The switch between views: links, so that any of them opens in another window as well.

import type { MouseEvent } from 'react'
import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { useView } from './use-view.ts'
import { addressInView } from './view-address.ts'
import { type ViewName, views } from './views.ts'

interface ViewSwitchProps {
  readonly store: Store
  readonly actions: Actions
}

export function ViewSwitch({ store, actions }: ViewSwitchProps) {
  const shown = useView(store, (view) => view.shown.name)
  function choose(event: MouseEvent, name: ViewName): void {
    // With these the person asks the browser for another tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    actions.chooseView(name)
  }
  return (
    <nav className="views" aria-label="View">
      {views.map(({ name, label }) => (
        <a
          key={name}
          className="view-link"
          href={addressInView(location.href, name)}
          aria-current={name === shown ? 'page' : undefined}
          onClick={(event) => choose(event, name)}
        >
          {label}
        </a>
      ))}
    </nav>
  )
}
