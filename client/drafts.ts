// The library's door for drafts: messages that are not stored survive the page.

import type { Bodies, Draft, Kind } from '../server/wire/messages.ts'
import type { Keeping } from './connect.ts'
import { DocumentOutbox } from './document-outbox.ts'
import { type DraftDatabase, databaseOf, openDraftDatabase, type UnstoredDraft } from './draft-database.ts'
import { DraftStore } from './draft-store.ts'
import { newKey } from './names.ts'
import type { OutboxListener, OutboxOptions } from './outbox.ts'
import { type OpenTransport, RefusedError } from './transports/transport.ts'

export interface DraftsOptions {
  /**
   * Who is signed in, such as an id; one word for all where nobody signs in. Only windows of the same
   * user send what another left.
   */
  readonly user: string
  /** Called if a message of a closed window is refused. Default: reports the error to `window`. */
  readonly onRefused?: (message: LeftMessage, error: RefusedError) => void
}

/** A message of a closed window. */
export interface LeftMessage {
  readonly id: string
  readonly channel: string
  readonly data: unknown
}

/** For `connect`: keeps what is not stored in IndexedDB. Where the browser denies it, nothing is kept. */
export function keptDrafts({ user, onRefused = (_, error) => reportError(error) }: DraftsOptions): Keeping {
  return {
    over(base) {
      const name = databaseOf(base, user)
      const database = openDraftDatabase(() => indexedDB, name)
      return {
        key: database.key(newKey()),
        outbox: (options, listener) => new KeptOutbox(options, listener, { name, database, onRefused }),
      }
    },
  }
}

interface Kept extends Pick<DraftsOptions, 'onRefused'> {
  readonly name: string
  readonly database: DraftDatabase
}

class KeptOutbox extends DocumentOutbox {
  readonly #store: DraftStore

  constructor(options: OutboxOptions, listener: OutboxListener, { name, database, onRefused }: Kept) {
    const { window, timers } = options
    const store = new DraftStore({
      window,
      timers,
      predecessor: null,
      mayTake: true,
      channel: null,
      database,
      news: new BroadcastChannel(name),
      locks: navigator.locks ?? null,
      onLeft: ({ drafts }) => this.adopt(drafts),
      onGone: () => this.saveAgain(),
    })
    super(
      { ...options, store, merging: null, random: Math.random },
      {
        ...listener,
        onRefused(draft, sentence, code) {
          if (draft.from === window) listener.onRefused(draft, sentence, code)
          else if (draft.kind !== 'update') {
            const { id, channel, body } = draft
            const data = 'data' in body && draft.kind === 'json' ? body.data : body
            const error = new RefusedError(code, sentence)
            queueMicrotask(() => onRefused?.({ id, channel, data }, error))
          }
        },
      },
    )
    this.#store = store
    void store.look()
  }

  /** As it is now: the application may change what it gave, and IndexedDB takes less than JSON does. */
  override publish<K extends Kind>(channel: string, kind: K, body: Bodies[K], cursor: string | null) {
    return super.publish(channel, kind, JSON.parse(JSON.stringify(body)), cursor)
  }

  /** Before what this window published meanwhile. */
  override adopt(left: readonly UnstoredDraft[]): void {
    const { window } = this.options
    const own = this.unstored().filter(({ draft, state }) => draft.from === window && state === 'waiting')
    for (const { draft } of own) this.queue.drafts.delete(draft.id)
    super.adopt(left)
    for (const queued of own) this.append(queued)
    this.queue.sendMore()
    this.changed()
  }

  override connect(send: OpenTransport['send'], mostUnderWay: number, onBroken: () => void): void {
    super.connect(send, mostUnderWay, onBroken)
    void this.#store.look()
  }

  /** Whoever waits for an answer gets it. */
  override refuse({ message, code }: RefusedError, isMeant: (draft: Draft) => boolean = () => true): void {
    for (const { draft } of this.unstored())
      if (draft.from === this.options.window && isMeant(draft)) this.listener.onRefused(draft, message, code)
  }

  /** What is left goes to another window. */
  override close(): void {
    this.flush()
    super.close()
    this.#store.close()
  }
}
