// The two threads of a server's documents, and the ledger that uses them.

import { processTimers } from '../../scripts/process.ts'
import { output } from '../output.ts'
import { DocumentWorker, type TaskLimits } from './document-worker.ts'
import { Ledger } from './ledger.ts'
import type { Schema } from './update-reader.ts'

/** One thread for documents, and one for what clients send, which must not delay the documents. */
export type DocumentThreads = ReturnType<typeof openThreads>

/** `tasks` is the threads' module. */
export function openThreads(limits: TaskLimits, tasks: URL) {
  const onQuarantined = (channel: string, error: Error) =>
    output.incident(
      'document-quarantined',
      `The document "${channel}" is only relayed: reading it ${error.message}`,
    )
  const open = () => new DocumentWorker({ tasks, limits, timers: processTimers, onQuarantined })
  return { documents: open(), sent: open() }
}

export function openLedger(
  { documents, sent }: DocumentThreads,
  { documentBytes, documentSeconds }: TaskLimits & { readonly documentBytes: number },
  rules: { readonly schema: Schema; readonly hasOwners?: (channel: string) => boolean },
): Ledger {
  return new Ledger({
    ...rules,
    documents,
    trials: sent,
    documentBytes,
    documentSeconds,
    now: processTimers.now,
    onFailure: (error) => output.incident('document-failed', 'A shared document could not be joined', error),
  })
}

export async function closeThreads(threads: DocumentThreads): Promise<void> {
  await Promise.all(Object.values(threads).map((thread) => thread.close()))
}
