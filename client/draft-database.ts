// Unstored drafts of all windows, and the key of their senders, in IndexedDB (W3C Indexed Database API 3.0).

import type { Draft } from '../protocol/messages.ts'
import { nothingPlanned } from '../protocol/time.ts'

/** A draft that the server has not stored. */
export interface UnstoredDraft {
  readonly draft: Draft
  /** Number of edits it contains; more than one after updates were merged. */
  readonly edits: number
  /** The user who wrote it, as the server named it; absent if it named none. */
  readonly user?: string | undefined
}

export interface DraftRecord extends UnstoredDraft {
  readonly channel: string
  /** The window that wrote it. */
  readonly window: string
  /** Greater than the order of every record that the draft builds on. */
  readonly order: number
}

export interface DraftDatabase {
  /**
   * The key that proves the senders of its drafts, shared by all its windows: at first the `proposed` one. It is
   * lost together with them, since nobody else could send them. Never rejects: while the browser denies the
   * database the key is `proposed`, and drafts are kept if the database has none by then. Call it first.
   */
  readonly key: (proposed: string) => Promise<string>
  /** Runs in one transaction, begun immediately if the database is open. Rejects without effect. */
  readonly change: (added: readonly DraftRecord[], removed: readonly string[]) => Promise<void>
  /** Drafts of one channel, or of all, by `order`. */
  readonly read: (channel?: string | undefined) => Promise<readonly DraftRecord[]>
  /** No call follows. */
  readonly close: () => void
  /** The user deleted it, or a later version of the page needs another layout. */
  onGone: () => void
}

/** Some browsers leave a request unanswered (WebKit bug 226547), and a page needs a key to open. */
const patienceMs = 3000

const storeName = 'drafts'
const keyStoreName = 'key'

/** A library's users have databases of their own; the page has one. */
export const databaseOf = (base: string, user: string) => `crosswind ${base} ${user}`

/**
 * Each call rejects while the browser denies the database, or if it has another key; the next call tries to open
 * it again.
 */
export function openDraftDatabase(factory: () => IDBFactory, name = 'crosswind'): DraftDatabase {
  let database: IDBDatabase | null = null
  let opening: Promise<IDBDatabase> | null = null
  let key: string | null = null

  function open(): Promise<IDBDatabase> {
    opening ??= request().catch((error) => {
      opening = null
      throw error
    })
    return opening
  }

  async function request(): Promise<IDBDatabase> {
    const opened = await oneByOne(name, () => openIn(factory(), name))
    const left = () => {
      database = null
      opening = null
      own.onGone()
      // Windows that open from now on take this one's key.
      open().catch(nothingPlanned)
    }
    opened.onclose = left
    opened.onversionchange = () => {
      opened.close()
      left()
    }
    // Another window may have made it anew, with another key, after the user had deleted it.
    if (key !== null && (await keyIn(opened, key)) !== key) {
      opened.close()
      throw new Error('The database has the key of other windows.')
    }
    database = opened
    return opened
  }

  /**
   * Runs `act` before returning if the database is open: a page that is ending gets no further
   * turn.
   */
  async function within<Result>(act: (opened: IDBDatabase) => Promise<Result>): Promise<Result> {
    return act(database ?? (await open()))
  }

  const own: DraftDatabase = {
    onGone: nothingPlanned,
    async key(proposed) {
      try {
        key = await within((opened) => keyIn(opened, proposed))
      } catch {
        key = proposed
        // The next call finds out whether it has this key.
        database?.close()
        database = null
        opening = null
      }
      return key
    },
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
    close: () => void opening?.then((opened) => opened.close(), nothingPlanned),
    async read(channel) {
      const records: unknown[] = await within((opened) =>
        answerTo(opened.transaction(storeName).objectStore(storeName).index('channel').getAll(channel)),
      )
      return records.filter(isRecord).toSorted((one, other) => one.order - other.order)
    },
  }
  return own
}

function openIn(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  const asked = factory.open(name, 2)
  const { promise, resolve, reject } = Promise.withResolvers<IDBDatabase>()
  const giveUp = (sentence: string) => {
    asked.onsuccess = () => asked.result.close()
    reject(new Error(sentence))
  }
  const timer = setTimeout(giveUp, patienceMs, 'The browser does not open the database.')
  asked.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion === 0) {
      const store = asked.result.createObjectStore(storeName, { keyPath: 'draft.id' })
      store.createIndex('channel', 'channel')
    }
    asked.result.createObjectStore(keyStoreName)
  }
  asked.onsuccess = () => resolve(asked.result)
  asked.onerror = () => reject(asked.error)
  asked.onblocked = () => giveUp('A frozen window has the database open in an older layout.')
  return promise.finally(() => clearTimeout(timer))
}

/**
 * While a page that Chromium has frozen in its back-forward cache opens a database, nobody else can. A page that
 * holds a lock is removed from the cache when another asks for it.
 */
function oneByOne<Result>(name: string, act: () => Promise<Result>): Promise<Result> {
  return navigator.locks ? navigator.locks.request(name, act) : act()
}

/** Adds the `proposed` key if it has none. */
async function keyIn(opened: IDBDatabase, proposed: string): Promise<string> {
  const store = opened.transaction(keyStoreName, 'readwrite').objectStore(keyStoreName)
  const known: unknown = await answerTo(store.get(keyStoreName))
  if (typeof known === 'string') return known
  await answerTo(store.put(proposed, keyStoreName))
  return proposed
}

function answerTo<Result>(asked: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error)
  })
}

/** A later version of the page may have written records of another shape. */
function isRecord(content: unknown): content is DraftRecord {
  const { draft, edits, window, order } = Object(content) as Partial<Record<keyof DraftRecord, unknown>>
  const { id, channel, kind, from, at, body } = Object(draft) as Partial<Record<keyof Draft, unknown>>
  const areTexts = [id, channel, kind, from, window].every((text) => typeof text === 'string')
  const areNumbers = [at, edits, order].every((number) => typeof number === 'number')
  return areTexts && areNumbers && typeof body === 'object' && body !== null
}
