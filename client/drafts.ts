// The library's door for drafts: messages that are not stored survive the page.

import type { Keeping } from './connect.ts'
import { keptPolicy } from './document-policy.ts'
import { databaseOf, openDraftDatabase } from './draft-database.ts'
import { DraftKeeper } from './draft-keeper.ts'
import { DraftStore } from './draft-store.ts'
import { newKey } from './names.ts'
import { Outbox, usualBounds } from './outbox.ts'
import { RefusedError } from './transports/transport.ts'

// For an outbox with rules of one's own.
export { documentPolicy, mergingPolicy } from './document-policy.ts'
export { type DraftDatabase, openDraftDatabase, type UnstoredDraft } from './draft-database.ts'
export { DraftKeeper } from './draft-keeper.ts'
export { DraftStore } from './draft-store.ts'
export {
  Outbox,
  type OutboxListener,
  type OutboxOptions,
  type OutboxPolicy,
  type OutboxState,
  plainPolicy,
  type SharedDrafts,
} from './outbox.ts'

export interface DraftsOptions {
  /**
   * Identifies the signed-in user, such as an id; one word for all where nobody signs in. A window sends
   * only drafts that windows of the same user left.
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

/** For `connect`: keeps unstored messages in IndexedDB, or none where the browser denies it. */
export function keptDrafts({ user, onRefused = (_, error) => reportError(error) }: DraftsOptions): Keeping {
  return {
    over(base) {
      const name = databaseOf(base, user)
      const open = () => openDraftDatabase(() => indexedDB, name)
      const database = open()
      return {
        key: database.key(newKey()),
        outbox(options, listener) {
          const { window, timers } = options
          const policy = keptPolicy({ window, bounds: usualBounds, random: Math.random })
          const outbox = new Outbox(options, policy, {
            ...listener,
            onRefused(draft, sentence, code) {
              const { id, channel, kind, from, body } = draft
              if (from === window) listener.onRefused(draft, sentence, code)
              // It is kept for that user, or was dropped by this one.
              else if (kind !== 'update' && code !== 'other-user' && code !== 'withdrawn') {
                const data = 'data' in body && kind === 'json' ? body.data : body
                const error = new RefusedError(code, sentence)
                queueMicrotask(() => onRefused({ id, channel, data }, error))
              }
            },
          })
          const news = new BroadcastChannel(name)
          const store = new DraftStore({
            window,
            timers,
            mayTake: true,
            isOwn: (one) => !outbox.isOthers(one),
            database,
            news,
            locks: navigator.locks ?? null,
            // Before messages that this window published meanwhile.
            onLeft: (drafts) => keeper.adopt(drafts, true),
          })
          const shared = { open, news }
          const keeper = new DraftKeeper(outbox, { window, timers, store, savesOnClose: true, shared })
          void store.look()
          return outbox
        },
      }
    },
  }
}
