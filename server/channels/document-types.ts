// Adds the gate, folding and ledger to channel types that declare Yjs documents.

import { updateBody } from '../shapes.ts'
import type { ChannelType, Fold, Gate } from './channel-type.ts'

/** Joins updates, and checks them before they are stored. */
export interface DocumentRules extends Gate {
  readonly fold: Fold<'update'>
}

/** Adds updates to a type of documents. `documents`: null where nothing is stored. */
export function withUpdates(type: ChannelType, documents: DocumentRules | null): ChannelType {
  if (!type.yjs) return type
  const update = { body: updateBody, fold: documents?.fold }
  return { ...type, kinds: { ...type.kinds, update }, gate: documents ?? undefined }
}
