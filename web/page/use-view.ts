// Gives a component one part of the view, and a new render only when that part changes.

import { useSyncExternalStore } from 'react'
import type { Store, View } from '../store/store.ts'

/** `select` must return a primitive or a part that is in the view as it stands, never a new object. */
export function useView<Part>(store: Store, select: (view: View) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.view()))
}
