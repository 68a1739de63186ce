// What is still on its way, told only when it stays on its way for a while.

import { useEffect, useState } from 'react'
import type { OutboxView, Store } from '../store/store.ts'

/** An edit is usually stored within a few ms: to show each one would flicker and render twice for every key. */
const lingeringMs = 250

/** The outbox as it is to be shown: for what was sent a moment ago it stays as it was before. */
export function useOutbox(store: Store): OutboxView {
  const [outbox, setOutbox] = useState(() => store.view().outbox)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stopWatching = store.subscribe(onChange)
    onChange()
    return () => {
      stopWatching()
      clearTimeout(timer)
    }
    function onChange(): void {
      const { unstored, isFull } = store.view().outbox
      if (unstored > 0 || isFull) timer ??= setTimeout(show, lingeringMs)
      else show()
    }
    function show(): void {
      clearTimeout(timer)
      timer = undefined
      // The same object while nothing has changed, so that the wind's readings render nothing here.
      const { outbox: now } = store.view()
      setOutbox((shown) => (now.unstored === 0 && shown.unstored === 0 && !shown.isFull ? shown : now))
    }
  }, [store])
  return outbox
}
