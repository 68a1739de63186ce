// Web Locks (W3C) as signs of life: held for as long as a window or a worker lives, free the moment it is gone,
// however it went. A port or a channel says nothing of that.

export type Locks = Pick<LockManager, 'request'>

/** Resolves when it is held; from then on for good. */
export function holdForLife(locks: Locks, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const held = () => {
      resolve()
      return new Promise<never>(() => undefined)
    }
    locks.request(name, held).catch(reject)
  })
}

/** Calls back when whoever held it is gone. `signal` takes the waiting back. */
export function onceFree(locks: Locks, name: string, signal: AbortSignal, onFree: () => void): void {
  // Shared: all who wait are told at once.
  locks.request(name, { mode: 'shared', signal }, onFree).catch((error) => {
    if (!signal.aborted) throw error
  })
}
