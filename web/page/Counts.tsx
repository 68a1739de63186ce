// How many windows show this document, and where what was typed here is.

import type { Store } from '../store/store.ts'
import { storedWords, windowsWords } from './count-words.ts'
import { useOutbox } from './use-outbox.ts'
import { useView } from './use-view.ts'

interface CountsProps {
  readonly store: Store
  readonly mayWrite: boolean
}

export function Counts({ store, mayWrite }: CountsProps) {
  const windows = windowsWords(useView(store, (view) => view.windows))
  return (
    <p className="counts">
      {windows && <span>{windows}</span>}
      {mayWrite ? <Stored store={store} /> : <span className="reading-only">Reading only</span>}
    </p>
  )
}

function Stored({ store }: Pick<CountsProps, 'store'>) {
  const state = useView(store, (view) => view.link.state)
  const outbox = useOutbox(store)
  const isStored = outbox.unstored === 0 && !outbox.isFull
  return (
    <span className="stored" data-stored={isStored}>
      {storedWords(outbox, state)}
    </span>
  )
}
