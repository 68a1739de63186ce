// The Yjs documents of an application, of any shape.

import { extname } from 'node:path'
import * as Y from 'yjs'
import type { Log } from '../log/log.ts'
import { isKind } from '../wire/messages.ts'
import { closeThreads, openLedger, openThreads } from './document-threads.ts'
import type { TaskLimits } from './document-worker.ts'
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
  return {
    /** For the log that the documents are in. */
    folds: { update: ledger.fold },
    guard: (log: Log) => ledger.guard(log),
    /** As stored. Rejects with a `Refusal` (422 `too-costly`) for a document in quarantine. */
    async read(log: Pick<Log, 'snapshot'>, channel: string): Promise<Y.Doc> {
      const { messages } = await log.snapshot(new Set([channel]))
      const updates = messages.filter((message) => isKind(message, 'update')).map(({ body }) => body.update)
      const { update } = await threads.documents.read(channel, 'join', updates)
      const doc = new Y.Doc()
      Y.applyUpdate(doc, Buffer.from(update, 'base64'))
      return doc
    },
    close: () => closeThreads(threads),
  }
}
