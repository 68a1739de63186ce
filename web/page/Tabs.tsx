// The tabs of the page, as links: a view can be opened in another window.

import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { addressInView, tabs, type ViewName, viewNamed, viewsOfTab } from '../../app/shared/views.ts'
import { type CommonProps, type PageProps, useView } from './hooks.ts'

interface ViewLinkProps extends Pick<AnchorHTMLAttributes<HTMLAnchorElement>, 'className' | 'children'> {
  readonly name: ViewName
  readonly actions: CommonProps['actions']
  readonly isShown?: boolean
  readonly onChosen?: () => void
}

export function ViewLink({ name, actions, isShown, onChosen, ...given }: ViewLinkProps) {
  function choose(event: MouseEvent): void {
    // With these keys the browser opens another tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    onChosen?.()
    actions.chooseView(name)
  }
  return (
    <a
      {...given}
      href={addressInView(location.href, name)}
      aria-current={isShown ? 'page' : undefined}
      onClick={choose}
    />
  )
}

export function Tabs({ store, actions }: CommonProps) {
  const shown = useView(store, (view) => view.shown.name)
  return (
    <nav className="tabs row" aria-label="View">
      {tabs.map(({ name, tab }) => (
        <ViewLink
          key={name}
          className="tab"
          name={name}
          actions={actions}
          isShown={tab === viewNamed(shown).tab}
        >
          {tab}
        </ViewLink>
      ))}
    </nav>
  )
}

/** Above the lab's views. Reports may name any document: guests may not read them. */
export function LabTabs({ store, actions, start }: PageProps) {
  const shown = useView(store, (view) => view.shown.name)
  if (viewNamed(shown).tab !== 'Lab') return null
  return (
    <nav className="lab-tabs row" aria-label="Lab">
      {viewsOfTab(shown).map(({ name, label }) => (
        <ViewLink key={name} className="tab" name={name} actions={actions} isShown={name === shown}>
          {label}
        </ViewLink>
      ))}
      {start.sessionEndsAt === null && (
        <a className="tab" href="/lab">
          Reports
        </a>
      )}
    </nav>
  )
}
