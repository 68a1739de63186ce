// The button that opens another window, with a word about its mode when this one's has no room left.

import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { useHttp1Warning } from './use-http1-warning.ts'

interface OpenWindowProps {
  readonly store: Store
  readonly actions: Actions
}

export function OpenWindow({ store, actions }: OpenWindowProps) {
  const wayOut = useHttp1Warning(store)?.wayOut
  return (
    <div className="open-window">
      {wayOut && (
        <span className="open-note" id="open-note">
          The next one opens over HTTP/{wayOut.http}
        </span>
      )}
      <button
        type="button"
        className="button"
        aria-describedby={wayOut && 'open-note'}
        onClick={actions.openWindow}
      >
        Open another window
      </button>
    </div>
  )
}
