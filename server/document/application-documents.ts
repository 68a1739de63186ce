// The Yjs documents of an application, of any shape.

import { extname } from 'node:path'
import { scheduler } from 'node:timers/promises'
import * as Y from 'yjs'
import type { Log } from '../log/log.ts'
import { isKind } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import { closeThreads, openLedger, openThreads } from './document-threads.ts'
import { type TaskLimits, TooCostly } from './document-worker.ts'
import { keepMarkers } from './rich-text.ts'
import { anySchema } from './update-reader.ts'

/** Beside this module, in the sources as in the package. */
const tasks = new URL(`./yjs-tasks${extname(import.meta.filename)}`, import.meta.url)

interface DocumentRules {
  readonly limits: TaskLimits & { readonly documentBytes: number }
  /** Whether a Yjs client of the channel belongs to whoever wrote under it first. */
  readonly hasOwners: (channel: string) => boolean
}

/** Opens threads: to be closed. */
export function openDocuments({ limits, hasOwners }: DocumentRules) {
  const threads = openThreads(limits, tasks)
  const ledger = openLedger(threads, limits, { schema: anySchema, hasOwners })

  /** Rejects with a `Refusal` (422 `too-costly`). */
  async function partsOf(channel: string, update: string, items: number): Promise<readonly Uint8Array[]> {
    try {
      const parts = await threads.documents.run('partsOf', update, items, limits.documentSeconds)
      if (parts) return parts
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
    }
    const sentence = `The document "${channel}" takes too long to read for its size, and the application could do nothing else meanwhile. Clients can still open it; create another one, or raise limits.documentSeconds.`
    throw new Refusal('too-costly', sentence)
  }

  return {
    /** Of the log that the documents are in. */
    ledger,
    /**
     * As stored. Rejects with a `Refusal` (422 `too-costly`) for a document in quarantine, or one that
     * would take too much of the event loop's time.
     */
    async read(log: Pick<Log, 'snapshot'>, channel: string): Promise<Y.Doc> {
      const { messages } = await log.snapshot(new Set([channel]))
      const updates = messages.filter((message) => isKind(message, 'update')).map(({ body }) => body.update)
      const { update, items } = await threads.documents.read(channel, 'join', updates)
      const parts = await partsOf(channel, update, items)
      const doc = new Y.Doc()
      // Of a part of a document, more of them look superfluous.
      doc.on('afterTransaction', keepMarkers)
      for (const part of parts) {
        Y.applyUpdate(doc, part)
        await scheduler.yield()
      }
      doc.off('afterTransaction', keepMarkers)
      return doc
    },
    close: () => closeThreads(threads),
  }
}
