// The life of a document in the log: deleted, restored, erased a day later, or spared if it is empty.

import { Refusal } from '../../protocol/refusal.ts'
import type { ChannelType, Content } from '../../server/index.ts'
import { deletedForMs, emptyForMs, hasContent } from '../shared/page-messages.ts'

/** Delay before a window retries its changes to a deleted document, which may be restored. */
const deletedMs = 5000

export function documentDeleted(channel: string): Refusal {
  const sentence = `The document "${channel}" was deleted. Restore it first (a message of the kind "deletion" with {"deleted":false}), or write to another one.`
  return new Refusal('document-deleted', sentence, null, deletedMs)
}

function notThere(channel: string): Refusal {
  const sentence = `The log has no document "${channel}": it was never written, or was erased a day after its deletion.`
  return new Refusal('not-found', sentence)
}

/** The part of a channel's declaration, beside its kinds, that makes it a document. */
export const documentLife = {
  /** A deleted document accepts nothing until it is restored; a missing one cannot be deleted. */
  refuse({ channel, kind }, { kinds, newest }) {
    if (kind === 'deletion') return kinds.length === 0 ? notThere(channel) : null
    return newest('deletion')?.body.deleted ? documentDeleted(channel) : null
  },
  expiry(content) {
    const deletion = content.newest('deletion')
    return {
      at: deletion?.body.deleted ? deletion.acceptedAt + deletedForMs : null,
      spareAt: isEmpty(content) ? lastChangeOf(content) + emptyForMs : null,
    }
  },
} satisfies Partial<ChannelType>

/** Updates are folded: a document with any has content. */
function isEmpty({ kinds, newest }: Content): boolean {
  return kinds.every((kind) => {
    const message = kind === 'update' ? undefined : newest(kind)
    return message !== undefined && !hasContent(message)
  })
}

const lastChangeOf = ({ kinds, newest }: Content) =>
  Math.max(...kinds.map((kind) => newest(kind)?.acceptedAt ?? 0))
