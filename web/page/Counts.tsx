// How many windows show this document, and whether everything typed here is stored.

import type { Store } from '../store/store.ts'
import { sentWords, windowsWords } from './count-words.ts'
import { useUnstored } from './use-unstored.ts'
import { useView } from './use-view.ts'

export function Counts({ store }: { store: Store }) {
  const windows = windowsWords(useView(store, (view) => view.windows))
  const state = useView(store, (view) => view.link.state)
  const unstored = useUnstored(store)
  return (
    <p className="counts">
      {windows && <span>{windows}</span>}
      <span className="sent" data-sent={unstored === 0}>
        {sentWords(unstored, state)}
      </span>
    </p>
  )
}
