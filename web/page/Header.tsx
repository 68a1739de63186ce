// The slim bar that stays in sight: name, link and mode, counts, another window, and a refusal when there is one.

import { modeFor } from '../../server/wire/modes.ts'
import type { PageStart } from '../../server/wire/settings.ts'
import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { Counts } from './Counts.tsx'
import { Mark } from './Icons.tsx'
import { LinkStatus } from './LinkStatus.tsx'
import { ModeMenu } from './ModeMenu.tsx'
import { RefusalNotice } from './Notices.tsx'
import { OpenWindow } from './OpenWindow.tsx'

interface HeaderProps {
  readonly store: Store
  readonly actions: Actions
  readonly start: PageStart
}

export function Header({ store, actions, start }: HeaderProps) {
  const defaultMode = modeFor(start.transport, start.http)?.name
  return (
    <header className="header">
      <div className="bar">
        <h1 className="brand">
          <Mark />
          Crosswind
        </h1>
        <div className="status">
          <LinkStatus store={store} actions={actions} />
          <ModeMenu store={store} actions={actions} defaultMode={defaultMode} />
        </div>
        <Counts store={store} mayWrite={start.mayWrite} />
        <OpenWindow store={store} actions={actions} />
      </div>
      <RefusalNotice store={store} actions={actions} />
    </header>
  )
}
