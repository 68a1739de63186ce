// The door for documents in user interfaces: a Yjs document and its provider as a value that changes.

import * as Y from 'yjs'
import { type Opened, Shared, type Store, type Stores } from './stores.ts'
import { type ClientError, RefusedError } from './transports/transport.ts'
import { CrosswindProvider, type SaveState } from './yjs.ts'

export interface DocumentSnapshot {
  /** Null until a turn after the first subscription, and on a server; another one after the provider's `discarded`. */
  readonly doc: Y.Doc | null
  readonly provider: CrosswindProvider | null
  /** Whether the connection is open, and the document has what was stored. */
  readonly isSynced: boolean
  /** See `CrosswindProvider#saveState`. */
  readonly saveState: SaveState
  /** See `CrosswindProvider#mayWrite`. */
  readonly mayWrite: boolean | null
  /**
   * Why the newest changes were refused, the document cannot be read, or the application refuses this client;
   * null if none of these is so. A lost connection is no error.
   */
  readonly error: ClientError | null
}

const noDocument: DocumentSnapshot = {
  doc: null,
  provider: null,
  isSynced: false,
  saveState: 'saved',
  mayWrite: null,
  error: null,
}

class SharedDocument extends Shared<DocumentSnapshot> {
  readonly #name: string

  constructor(name: string) {
    super(noDocument)
    this.#name = name
  }

  protected begin(connection: Opened): void {
    const doc = new Y.Doc()
    // A provider of a given connection needs no address.
    const provider = new CrosswindProvider('', this.#name, doc, { connection })
    let failure: ClientError | null = null
    const show = () => {
      const { synced: isSynced, saveState, mayWrite, refused } = provider
      if (isSynced) failure = null
      this.change({ doc, provider, isSynced, saveState, mayWrite, error: refused ?? failure })
    }
    for (const event of ['status', 'sync', 'save-state', 'refused'] as const) provider.on(event, show)
    provider.on('connection-error', (error) => {
      // Otherwise the connection was lost, and will be opened again.
      if (error instanceof RefusedError || !provider.shouldConnect) failure = error
      show()
    })
    provider.on('discarded', () => {
      this.offs.length = 0
      this.begin(connection)
    })
    this.offs.push(() => provider.destroy())
    show()
  }
}

/**
 * The store of a document: all of one name share a `Y.Doc` and a `CrosswindProvider`, from the first
 * subscription to the last. Changes that are not stored by then are sent as long as the connection is open.
 */
export function documentStore<Declared>(stores: Stores<Declared>, name: string): Store<DocumentSnapshot> {
  return stores.share(JSON.stringify(['document', name]), noDocument, () => new SharedDocument(name))
}
