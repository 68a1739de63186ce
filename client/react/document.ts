// The door for React with Yjs: a hook over the store of a document.

import { useMemo } from 'react'
import { type DocumentSnapshot, documentStore } from '../document-store.ts'
import { useStore, useStores } from './index.ts'

/** A document while the component is mounted; all components of one connection share it. */
export function useDocument(name: string): DocumentSnapshot {
  const stores = useStores()
  return useStore(useMemo(() => documentStore(stores, name), [stores, name]))
}
