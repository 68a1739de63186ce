// The door for documents in user interfaces: a Yjs document and its provider as a value that changes.

import * as Y from 'yjs'
import { type Opened, Shared, type Store, type Stores } from './stores.ts'
import { CrosswindProvider } from './yjs.ts'

export interface DocumentSnapshot {
  /** Null until a turn after the first subscription, and on a server. */
  readonly doc: Y.Doc | null
  readonly provider: CrosswindProvider | null
  /** Whether the connection is open, and the document has what was stored. */
  readonly isSynced: boolean
  /** Whether all changes are stored. */
  readonly isSaved: boolean
  /** Why the newest changes were refused, or the document cannot be read; null if all is well. */
  readonly error: unknown
}

const noDocument: DocumentSnapshot = {
  doc: null,
  provider: null,
  isSynced: false,
  isSaved: true,
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
    provider.on('sync', (isSynced) => this.change({ isSynced }))
    provider.on('saved', (isSaved) => this.change(isSaved ? { isSaved, error: null } : { isSaved }))
    provider.on('refused', (error) => this.fail(error))
    provider.on('connection-error', (error) => this.fail(error))
    this.offs.push(() => provider.destroy())
    this.change({ doc, provider, isSynced: provider.synced })
  }
}

/**
 * The store of a document: all of one name share a `Y.Doc` and a `CrosswindProvider`, from the first
 * subscription to the last. Changes that are not stored by then are sent as long as the connection is open.
 */
export function documentStore<Declared>(stores: Stores<Declared>, name: string): Store<DocumentSnapshot> {
  return stores.share(JSON.stringify(['document', name]), noDocument, () => new SharedDocument(name))
}
