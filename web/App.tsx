// The page: header, the switch between views, notices, and the parts of the view that is shown.

import type { ReactNode } from 'react'
import type { PageStart } from '../server/wire/settings.ts'
import type { WindHistory } from '../server/wire/wind/history.ts'
import type { EditorProps } from './editor/Editor.tsx'
import { Overview } from './overview/Overview.tsx'
import type { Actions } from './page/actions.ts'
import { Header } from './page/Header.tsx'
import { FallNotice, Http1Notice, OutboxNotice, ViewNotice, WaitingNotice } from './page/Notices.tsx'
import { Sheet } from './page/Sheet.tsx'
import { useView } from './page/use-view.ts'
import { ViewSwitch } from './page/ViewSwitch.tsx'
import { type Part, partsOf } from './page/views.ts'
import type { Store } from './store/store.ts'
import './styles/page.css'
import { WindPanel } from './wind/WindPanel.tsx'

export interface AppProps {
  readonly store: Store
  readonly actions: Actions
  readonly start: PageStart
  /** `onReady` takes hold of the document's element and returns the way to let go of it. */
  readonly editor: EditorProps
  readonly history: Pick<WindHistory, 'since'>
}

interface PartShown {
  readonly label: string
  /** Id of the element that the link past the header leads to. */
  readonly target: string
  readonly render: (props: AppProps) => ReactNode
}

const parts: Readonly<Record<Part, PartShown>> = {
  document: {
    label: 'Document',
    target: 'document',
    render: ({ editor, start }) => <Sheet onReady={editor.onReady} mayWrite={start.mayWrite} />,
  },
  wind: {
    label: 'Wind',
    target: 'wind',
    render: ({ store, actions, history }) => <WindPanel store={store} actions={actions} history={history} />,
  },
  overview: {
    label: 'Overview',
    target: 'overview',
    render: ({ store, actions }) => <Overview store={store} actions={actions} />,
  },
}

/** Watches nothing but the view: each part watches what it shows, so that the wind never renders the editor. */
export function App(props: AppProps) {
  const { store, actions, start } = props
  const view = useView(store, ({ shown }) => shown.name)
  const [main, ...beside] = partsOf(view)
  return (
    <>
      <a className="skip" href={`#${parts[main].target}`}>
        Skip to the {parts[main].label.toLowerCase()}
      </a>
      <Header store={store} actions={actions} start={start} />
      <ViewSwitch store={store} actions={actions} />
      <div className="desk" data-view={view}>
        <main className="desk-main">
          <ViewNotice store={store} actions={actions} />
          <WaitingNotice store={store} />
          <FallNotice store={store} />
          <OutboxNotice store={store} />
          <Http1Notice store={store} actions={actions} />
          <div key={main} className={`desk-${main}`}>
            {parts[main].render(props)}
          </div>
        </main>
        {beside.map((part) => (
          <aside key={part} className={`desk-beside desk-${part}`} aria-label={parts[part].label}>
            {parts[part].render(props)}
          </aside>
        ))}
      </div>
    </>
  )
}
