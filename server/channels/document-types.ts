// Adds the gate, folding and ledger to channel types that declare Yjs documents.

import type { ChannelType, Fold, Gate } from './channel-type.ts'
import { updateBody } from './shapes.ts'

/** Joins updates, and checks them before they are stored. */
export interface DocumentRules extends Gate {
  readonly fold: Fold<'update'>
}

/** Gives a type of documents its updates, and their rules; `documents`: null where nothing is stored. */
export function withDocumentRules(type: ChannelType, documents: DocumentRules | null): ChannelType {
  if (!type.yjs) return type
  const update = { body: updateBody, fold: documents?.fold }
  return { ...type, kinds: { ...type.kinds, update }, gate: documents ?? undefined }
}
