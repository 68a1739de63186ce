// Whether an element can be seen: the window is shown, and the element is within what is scrolled to.

import type { Sight } from './drawing.ts'

export interface WatchedSight extends Sight {
  readonly stop: () => void
}

export function watchSight(element: Element): WatchedSight {
  const listeners = new Set<() => void>()
  let isWithin = true
  const isHidden = () => document.hidden || !isWithin

  function tell(): void {
    if (isHidden()) return
    for (const listener of listeners) listener()
  }

  const observer = new IntersectionObserver((entries) => {
    isWithin = entries.at(-1)?.isIntersecting ?? true
    tell()
  })
  observer.observe(element)
  document.addEventListener('visibilitychange', tell)

  return {
    isHidden,
    onSeen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      observer.disconnect()
      document.removeEventListener('visibilitychange', tell)
    },
  }
}
