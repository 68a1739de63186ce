// The library's door for sharing: the windows of a browser have one connection.

import type { Share } from '../protocol/modes.ts'
import type { Sharing } from './connect.ts'
import { databaseOf, openDraftDatabase } from './draft-database.ts'
import { newKey } from './names.ts'
import type { OpenWorker } from './share/reach-coordinator.ts'
import { shareHere, shareTransports } from './share/shared-client.ts'
import { limitToSlots } from './transports/slots.ts'

export { shareHere } from './share/shared-client.ts'

export interface SharingOptions {
  /** `auto` shares in modes of which a browser opens only a few streams, `none` never. Default: `browser`, always. */
  readonly share?: Share

  /**
   * Identifies the signed-in user, such as an id; one word for all where nobody signs in. Windows of
   * different users share no connection, which the server judges by the ticket of one window.
   */
  readonly user: string
  /** Starts `@crosswind/client/shared-worker`; without it one of the windows has the connection. */
  readonly worker?: OpenWorker
}

/** For `connect`: this window shares its connection, unless the browser lacks Web Locks. */
export function sharedConnection({ user, worker, share = 'browser' }: SharingOptions): Sharing {
  return {
    async key(base) {
      const database = openDraftDatabase(() => indexedDB, databaseOf(base, user))
      return database.key(newKey()).finally(database.close)
    },
    over: (transports, ending) => shareTransports(transports, shareHere(share), ending, worker),
  }
}

/**
 * For `connect`: limits how many windows of a browser open a stream over HTTP/1.1, so that
 * connections are left for requests. The others use another mode.
 */
export function limitedStreams({ key, over }: Sharing): Sharing {
  return { key, over: (transports, ending) => over(limitToSlots(transports), ending) }
}
