// A server's documents: two threads that read and write them, and the ledger that checks updates.

import { extname } from 'node:path'
import { scheduler } from 'node:timers/promises'
import * as Y from 'yjs'
import { keepMarkers } from '../../protocol/format-markers.ts'
import { isKind } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import type { Log } from '../log/log.ts'
import { output } from '../output.ts'
import { DocumentWorker, type TaskLimits, TooCostly } from './document-worker.ts'
import { Ledger } from './ledger.ts'
import { anySchema, type Schema } from './update-reader.ts'

/** Found beside this module, in the sources and in the package. */
const yjsTasks = new URL(`./yjs-tasks${extname(import.meta.filename)}`, import.meta.url)

interface DocumentRules {
  readonly timers: Timers
  readonly limits: TaskLimits & { readonly documentBytes: number }
  /** Content that a document may have; by default any. */
  readonly schema?: Schema | undefined
  /** The threads' module. */
  readonly tasks?: URL | undefined
  /** Whether a Yjs client of the channel belongs to whoever wrote under it first; by default each does. */
  readonly hasOwners?: (channel: string) => boolean
}

/** Opens the threads; close them after use. */
export class DocumentThreads {
  readonly documents: DocumentWorker
  /** For clients' updates, which must not delay the documents. */
  readonly sent: DocumentWorker
  /** The ledger of the log that the documents are in. */
  readonly ledger: Ledger
  readonly #documentSeconds: number

  constructor({ timers, limits, schema = anySchema, tasks = yjsTasks, hasOwners }: DocumentRules) {
    const { documentBytes, documentSeconds } = limits
    const open = () => new DocumentWorker({ tasks, limits, timers, onQuarantined })
    this.documents = open()
    this.sent = open()
    this.#documentSeconds = documentSeconds
    this.ledger = new Ledger({
      schema,
      hasOwners,
      documents: this.documents,
      trials: this.sent,
      documentBytes,
      documentSeconds,
      now: timers.now,
      onFailure: (error) =>
        output.incident('document-failed', 'A shared document could not be joined', error),
    })
  }

  /**
   * A document as stored, of any shape. Rejects with a `Refusal` (422 `too-costly`) for one in
   * quarantine, or one that would take too much of the event loop's time.
   */
  async read(log: Pick<Log, 'snapshot'>, channel: string): Promise<Y.Doc> {
    const { messages } = await log.snapshot(new Set([channel]))
    const updates = messages.filter((message) => isKind(message, 'update')).map(({ body }) => body.update)
    const { update, items } = await this.documents.read(channel, 'join', updates)
    const parts = await this.#partsOf(channel, update, items)
    const doc = new Y.Doc()
    // While only a part is applied, Yjs would delete format markers that the rest needs.
    doc.on('afterTransaction', keepMarkers)
    for (const part of parts) {
      Y.applyUpdate(doc, part)
      await scheduler.yield()
    }
    doc.off('afterTransaction', keepMarkers)
    return doc
  }

  async close(): Promise<void> {
    await Promise.all([this.documents.close(), this.sent.close()])
  }

  async #partsOf(channel: string, update: string, items: number): Promise<readonly Uint8Array[]> {
    try {
      const parts = await this.documents.run('partsOf', update, items, this.#documentSeconds)
      if (parts) return parts
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
    }
    const sentence = `The document "${channel}" takes too long to read for its size, and the application could do nothing else meanwhile. Clients can still open it; create another one, or raise limits.documentSeconds.`
    throw new Refusal('too-costly', sentence)
  }
}

function onQuarantined(channel: string, error: Error): void {
  output.incident(
    'document-quarantined',
    `The document "${channel}" is only relayed: reading it ${error.message}`,
  )
}
