// Browser services: timers, names, Web Locks for liveness, lifecycle and network events.

import type { Timers } from '../protocol/time.ts'

export const browserTimers: Timers = {
  now,
  later(run, delayMs) {
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

/** Resolves after that time, or as soon as `signal` is aborted. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, signal.aborted ? 0 : delayMs)
    signal.addEventListener('abort', end)
  })
}

/**
 * Eight letters and digits, about 41 random bits: unique within one browser. Each message carries a
 * window's name twice.
 */
export function newName(prefix: string): string {
  const parts = crypto.getRandomValues(new Uint8Array(8))
  return prefix + Array.from(parts, (part) => (part % 36).toString(36)).join('')
}

/**
 * Web Locks (W3C) show liveness: the browser frees a lock when its window or worker ends, even by a crash.
 * Ports and broadcast channels report no such end.
 */
export type Locks = Pick<LockManager, 'request'>

/** Releases the lock once `ending` is aborted; rejects if that was before. */
export function holdForLife(
  locks: Locks,
  name: string,
  ending: AbortSignal,
  mode: LockMode = 'exclusive',
): Promise<void> {
  return new Promise((resolve, reject) => {
    const held = () => {
      resolve()
      return new Promise((end) => ending.addEventListener('abort', end))
    }
    locks.request(name, { mode, signal: ending }, held).catch(reject)
  })
}

export function onceFree(locks: Locks, name: string, signal: AbortSignal, onFree: () => void): void {
  // A shared lock wakes all waiters at once.
  locks.request(name, { mode: 'shared', signal }, onFree).catch((error) => {
    if (!signal.aborted) throw error
  })
}

/** After `restored` (from the back-forward cache) no connection is alive. */
export type WakeUp = 'online' | 'visible' | 'resumed' | 'restored'

/** A link's reaction to page lifecycle and network events. */
export interface Sleeper {
  wake(by: WakeUp): void
  offline(): void
  /** The page was hidden. */
  rest(): void
  /** The page is ending, or entering the back-forward cache: saves and sends what it has. */
  hide(): void
  readonly outbox: { flush(): void }
}

/**
 * Page Lifecycle (WICG), `pageshow`/`pagehide` (HTML 7.4.6) and `online` (HTML 8.10.1) events for a link,
 * until `signal` is aborted.
 */
export function watchWakeUps(
  document: EventTarget & Pick<Document, 'visibilityState'>,
  window: EventTarget,
  link: Sleeper,
  signal: AbortSignal,
): void {
  const on = (target: EventTarget, type: string, listener: (event: Event) => void) =>
    target.addEventListener(type, listener, { signal })
  if (document.visibilityState !== 'visible') link.rest()
  on(window, 'online', () => link.wake('online'))
  on(window, 'offline', () => link.offline())
  on(document, 'visibilitychange', () => {
    if (document.visibilityState === 'visible') link.wake('visible')
    else {
      // On phones, often the last event that a page receives.
      link.outbox.flush()
      link.rest()
    }
  })
  on(document, 'freeze', () => link.outbox.flush())
  on(document, 'resume', () => link.wake('resumed'))
  on(window, 'pageshow', (event) => {
    if ((event as PageTransitionEvent).persisted) link.wake('restored')
  })
  on(window, 'pagehide', () => link.hide())
}

/** Ms since the epoch, with fractions. `performance.now()` alone has another origin in every window. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}
