// The page: header, notices, the document, and the wind beside it.

import type { PageStart } from '../server/wire/settings.ts'
import type { EditorProps } from './editor/Editor.tsx'
import type { Actions } from './page/actions.ts'
import { Header } from './page/Header.tsx'
import { FallNotice, Http1Notice, OutboxNotice, WaitingNotice } from './page/Notices.tsx'
import { Sheet } from './page/Sheet.tsx'
import type { Store } from './store/store.ts'
import './styles/page.css'
import { WindPanel } from './wind/WindPanel.tsx'

export interface AppProps {
  readonly store: Store
  readonly actions: Actions
  readonly start: PageStart
  /** `onReady` takes hold of the document's element and returns the way to let go of it. */
  readonly editor: EditorProps
}

/** Holds no state and watches nothing: each part watches what it shows, so that the wind never renders the editor. */
export function App({ store, actions, start, editor }: AppProps) {
  return (
    <>
      <a className="skip" href="#document">
        Skip to the document
      </a>
      <Header store={store} actions={actions} start={start} />
      <div className="desk">
        <main className="desk-document">
          <WaitingNotice store={store} />
          <FallNotice store={store} />
          <OutboxNotice store={store} />
          <Http1Notice store={store} actions={actions} />
          <Sheet onReady={editor.onReady} mayWrite={start.mayWrite} />
        </main>
        <aside className="desk-wind" aria-label="Wind">
          <WindPanel store={store} />
        </aside>
      </div>
    </>
  )
}
