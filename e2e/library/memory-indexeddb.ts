// As much of IndexedDB as the client's drafts use, in memory, for tests in Node.

import type { TestContext } from 'node:test'

type Records = Map<unknown, unknown>
type Stores = Map<string, Records>

/** Databases without isolation: what overlaps is not serialized. */
export class MemoryIndexedDb {
  readonly #databases = new Map<string, Stores>()
  readonly #watchers = new Set<() => void>()

  /** As the global `indexedDB`, until the test ends. */
  install(t: TestContext): void {
    const open = (name: string) => this.#open(name)
    Object.defineProperty(globalThis, 'indexedDB', { value: { open }, configurable: true })
    t.after(() => Reflect.deleteProperty(globalThis, 'indexedDB'))
  }

  /** Resolves once this holds of the number of records in that store. */
  until(database: string, store: string, holds: (count: number) => boolean): Promise<void> {
    const count = () => this.#databases.get(database)?.get(store)?.size ?? 0
    return new Promise((resolve) => {
      const look = () => {
        if (!holds(count())) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
  }

  #open(name: string) {
    const known = this.#databases.get(name)
    const stores: Stores = known ?? new Map()
    this.#databases.set(name, stores)
    const result = {
      createObjectStore(store: string) {
        stores.set(store, new Map())
        return { createIndex: () => undefined }
      },
      transaction: () => this.#transaction(stores),
      close: () => undefined,
    }
    const request = {
      result,
      onupgradeneeded: null as ((event: { readonly oldVersion: number }) => void) | null,
      onsuccess: null as (() => void) | null,
    }
    queueMicrotask(() => {
      if (!known) request.onupgradeneeded?.({ oldVersion: 0 })
      request.onsuccess?.()
    })
    return request
  }

  #transaction(stores: Stores) {
    const transaction = {
      oncomplete: null as (() => void) | null,
      // Also done without it, once nothing more is asked.
      commit: () => undefined,
      objectStore(name: string) {
        const records: Records = stores.get(name) ?? new Map()
        return {
          get: (key: string) => answer(records.get(key)),
          put: (value: unknown, key = keyOf(value)) => answer(records.set(key, structuredClone(value))),
          delete: (key: string) => answer(records.delete(key)),
          index: () => ({ getAll: (channel?: string) => answer(inChannel(records, channel)) }),
        }
      },
    }
    setImmediate(() => {
      transaction.oncomplete?.()
      for (const look of this.#watchers) look()
    })
    return transaction
  }
}

const keyOf = (value: unknown) => (value as { readonly draft: { readonly id: string } }).draft.id

const inChannel = (records: Records, wanted?: string) =>
  [...records.values()].filter(
    (record) => wanted === undefined || (record as { readonly channel: string }).channel === wanted,
  )

function answer(result: unknown) {
  const request = { result, onsuccess: null as (() => void) | null }
  queueMicrotask(() => request.onsuccess?.())
  return request
}
