// Unstored drafts of all windows in IndexedDB (W3C Indexed Database API 3.0).

import type { Draft } from '../server/wire/messages.ts'

/** A draft that the server has not stored. */
export interface UnstoredDraft {
  readonly draft: Draft
  /** The window's position in the log when it published the draft; null before the first connection. */
  readonly cursor: string | null
  /** Number of edits it contains; more than one after updates were merged. */
  readonly edits: number
}

export interface DraftRecord extends UnstoredDraft {
  readonly channel: string
  /** The window that wrote it. */
  readonly window: string
  /** Greater than the order of every record that the draft builds on. */
  readonly order: number
}

export interface DraftDatabase {
  /** Runs in one transaction, begun immediately if the database is open. Rejects without effect. */
  readonly change: (added: readonly DraftRecord[], removed: readonly string[]) => Promise<void>
  /** Drafts of one channel, or of all, by `order`. */
  readonly read: (channel: string | null) => Promise<readonly DraftRecord[]>
}

const storeName = 'drafts'

/**
 * Each call rejects while the browser denies the database; the next call tries to open it again.
 */
export function openDraftDatabase(factory: () => IDBFactory, name = 'crosswind'): DraftDatabase {
  let database: IDBDatabase | null = null
  let opening: Promise<IDBDatabase> | null = null

  function open(): Promise<IDBDatabase> {
    opening ??= request(factory).catch((error) => {
      opening = null
      throw error
    })
    return opening
  }

  async function request(factory: () => IDBFactory): Promise<IDBDatabase> {
    const asked = factory().open(name, 1)
    asked.onupgradeneeded = () => {
      const store = asked.result.createObjectStore(storeName, { keyPath: 'draft.id' })
      store.createIndex('channel', 'channel')
    }
    const opened = await answerTo(asked)
    database = opened
    // The user deleted the site's data, or a later version of the page needs another layout.
    const left = () => {
      database = null
      opening = null
    }
    opened.onclose = left
    opened.onversionchange = () => {
      opened.close()
      left()
    }
    return opened
  }

  /**
   * Runs `act` before returning if the database is open: a page that is ending gets no further
   * turn.
   */
  async function within<Result>(act: (opened: IDBDatabase) => Promise<Result>): Promise<Result> {
    return act(database ?? (await open()))
  }

  open().catch(() => undefined)

  return {
    change: (added, removed) =>
      within((opened) => {
        const transaction = opened.transaction(storeName, 'readwrite')
        const store = transaction.objectStore(storeName)
        for (const id of removed) store.delete(id)
        for (const record of added) store.put(record)
        const done = new Promise<void>((resolve, reject) => {
          transaction.oncomplete = () => resolve()
          transaction.onabort = () => reject(transaction.error)
        })
        transaction.commit()
        return done
      }),
    async read(channel) {
      const records: unknown[] = await within((opened) =>
        answerTo(opened.transaction(storeName).objectStore(storeName).index('channel').getAll(channel)),
      )
      return records.filter(isRecord).toSorted((one, other) => one.order - other.order)
    },
  }
}

function answerTo<Result>(asked: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error)
  })
}

/** A later version of the page may have written records of another shape. */
function isRecord(content: unknown): content is DraftRecord {
  const { draft, cursor, edits, window, order } = (content ?? {}) as Partial<
    Record<keyof DraftRecord, unknown>
  >
  const { id, channel, kind, from, at, body } = (draft ?? {}) as Partial<Record<keyof Draft, unknown>>
  const areTexts = [id, channel, kind, from, window].every((text) => typeof text === 'string')
  const areNumbers = [at, edits, order].every((number) => typeof number === 'number')
  const isCursor = cursor === null || typeof cursor === 'string'
  return areTexts && areNumbers && isCursor && typeof body === 'object' && body !== null
}
