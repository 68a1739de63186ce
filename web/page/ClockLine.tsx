// How far this window's clock is from the server's: a quiet line below the list of modes.

import type { Store } from '../store/store.ts'
import { clockWords } from './clock-words.ts'
import { useView } from './use-view.ts'

/** No item of the menu that it stands in: what describes the menu is read out with it. */
export const clockLineId = 'clock-line'

export function ClockLine({ store }: { readonly store: Store }) {
  const clock = useView(store, (view) => view.link.clock)
  return (
    <p id={clockLineId} className="mode-heading" aria-hidden="true">
      {clockWords(clock)}
    </p>
  )
}
