// How many edits are still on their way, told only when they stay on their way for a while.

import { useEffect, useState } from 'react'
import type { Store } from '../store/store.ts'

/** An edit is usually stored within a few ms: to show each one would flicker and render twice for every key. */
const lingeringMs = 250

/** Number of edits not yet stored; 0 for those that were sent a moment ago. */
export function useUnstored(store: Store): number {
  const [unstored, setUnstored] = useState(() => store.view().unstored)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stopWatching = store.subscribe(onChange)
    onChange()
    return () => {
      stopWatching()
      clearTimeout(timer)
    }
    function onChange(): void {
      if (store.view().unstored === 0) {
        clearTimeout(timer)
        timer = undefined
        setUnstored(0)
      } else {
        timer ??= setTimeout(show, lingeringMs)
      }
    }
    function show(): void {
      timer = undefined
      setUnstored(store.view().unstored)
    }
  }, [store])
  return unstored
}
