// Browser services: timers, names, Web Locks for liveness.

import type { Timers } from '../server/wire/time.ts'
import { now } from './transports/transport.ts'

export const browserTimers: Timers = {
  now,
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Eight letters and digits, about 41 random bits: unique in one browser. Each message carries a window's name twice. */
export function newName(prefix: string): string {
  const parts = crypto.getRandomValues(new Uint8Array(8))
  return prefix + Array.from(parts, (part) => (part % 36).toString(36)).join('')
}

/**
 * Web Locks (W3C) show liveness: the browser frees a lock when its window or worker ends, even by a crash.
 * Ports and broadcast channels report no such end.
 */
export type Locks = Pick<LockManager, 'request'>

/** Never releases the lock. */
export function holdForLife(locks: Locks, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const held = () => {
      resolve()
      return new Promise<never>(() => undefined)
    }
    locks.request(name, held).catch(reject)
  })
}

export function onceFree(locks: Locks, name: string, signal: AbortSignal, onFree: () => void): void {
  // A shared lock wakes all waiters at once.
  locks.request(name, { mode: 'shared', signal }, onFree).catch((error) => {
    if (!signal.aborted) throw error
  })
}
