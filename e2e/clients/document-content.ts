// A text as a message that every document of the page takes.

import { Doc, encodeStateAsUpdate } from 'yjs'

/** UTF-16 units. */
const maxTitleLength = 80

/**
 * A title or, if it is longer, an update of about as many bytes by this Yjs client, whose texts all begin
 * alike: sent again, one adds nothing to the document.
 */
export function documentContent(text: string, yjsClient = text.length) {
  if (text.length <= maxTitleLength) return { kind: 'title', body: { title: text } } as const
  const doc = new Doc()
  doc.clientID = yjsClient
  // In base64, three bytes are four.
  doc.getText('text').insert(0, text.slice(0, (text.length * 3) / 4))
  return {
    kind: 'update',
    body: { update: Buffer.from(encodeStateAsUpdate(doc)).toString('base64') },
  } as const
}
