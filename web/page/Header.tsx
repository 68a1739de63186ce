// The sticky header, of constant height: whose page it is, its state, the people, and what can be done with it.

import { useState } from 'react'
import { DocumentControls } from '../documents/DocumentControls.tsx'
import { homeAddress } from '../documents/document-addresses.ts'
import { Title } from '../documents/Title.tsx'
import { Connection } from './Connection.tsx'
import type { PageProps } from './hooks.ts'
import { Mark } from './Icons.tsx'
import { People } from './People.tsx'

export function Header({ store, actions, start }: PageProps) {
  const [isRenaming, setRenaming] = useState(false)
  return (
    <header className="header">
      <div className="bar row">
        <a className="home" href={homeAddress(location.href)} aria-label="Crosswind, home">
          <Mark />
        </a>
        <Title
          store={store}
          actions={actions}
          start={start}
          isRenaming={isRenaming}
          onRenaming={setRenaming}
        />
        <Connection store={store} actions={actions} start={start} />
        <People store={store} actions={actions} />
        <DocumentControls store={store} actions={actions} start={start} onRename={() => setRenaming(true)} />
      </div>
    </header>
  )
}
