// The addresses of documents, as a window sees them.

import { documentPath } from '../../app/shared/document-api.ts'

/** Keeps the mode and view, but not the reader's choice of read-only. */
export function addressOfDocument(href: string, channel: string): string {
  return addressWithout(['channel', 'read'], documentPath(channel), href)
}

/** The server's first page, with all its parts, in the same mode. */
export function homeAddress(href: string): string {
  return addressWithout(['channel', 'read', 'view'], '/', href)
}

function addressWithout(dropped: readonly string[], path: string, href: string): string {
  const address = new URL(path, href)
  for (const [name, value] of new URL(href).searchParams)
    if (!dropped.includes(name)) address.searchParams.append(name, value)
  return address.href
}

export type Rights = 'read' | 'write'

/**
 * To read, a window opens read-only by its own choice: anyone who removes `read` from the address can write.
 */
export function linkTo(origin: string, channel: string, may: Rights): string {
  const address = new URL(documentPath(channel), origin)
  if (may === 'read') address.searchParams.set('read', '')
  return address.href.replace(/=$/, '')
}
