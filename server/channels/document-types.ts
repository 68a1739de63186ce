// What the library does for channels whose types say that they are documents of Yjs.

import type { ChannelType, Fold, Gate, TypeOf } from './channel-type.ts'
import { updateBody } from './shapes.ts'

/** Joins updates, and checks them before they are stored. */
export interface DocumentRules extends Gate {
  readonly fold: Fold<'update'>
}

/**
 * The same types; those of documents also have updates. `documents`: null where nothing is stored. A
 * type stays the same at each call.
 */
export function withDocuments(typeOf: TypeOf, documents: DocumentRules | null): TypeOf {
  const made = new Map<ChannelType, ChannelType>()
  return (channel) => {
    const type = typeOf(channel)
    if (!type.yjs) return type
    const known = made.get(type) ?? documentType(type, documents)
    made.set(type, known)
    return known
  }
}

function documentType(type: ChannelType, documents: DocumentRules | null): ChannelType {
  const update = { body: updateBody, fold: documents?.fold }
  return { ...type, kinds: { ...type.kinds, update }, gate: documents ?? undefined }
}
