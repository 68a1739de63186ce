// Responses of the document endpoints.

export const documentsPath = '/d/'

/** The address of a channel's page. "." and ".." cannot end a path (WHATWG URL, 4.4). */
export function documentPath(channel: string): string {
  if (channel === '.' || channel === '..') return `/?channel=${channel}`
  return documentsPath + encodeURIComponent(channel)
}

export interface DocumentList {
  /** Last changed first, preceded by the main page while it is empty. */
  readonly documents: readonly ListedDocument[]
  /** Number of older documents that are not listed. */
  readonly omitted: number
  /** Number of documents whose text was not searched, for it takes long to read. 0 without a search. */
  readonly unsearched: number
  readonly mayCreate: boolean
}

export interface ListedDocument {
  readonly channel: string
  /** The document's title or, until it is named, its first heading; empty if it has neither. */
  readonly title: string
  /** Time of the last change, ms since the epoch; null before the first. */
  readonly at: number | null
  /** Number of windows open now. */
  readonly windows: number
  /** Whether the requester may change, delete and restore it. */
  readonly mayWrite: boolean
  /** Time of its deletion, ms since the epoch; null unless it is deleted. */
  readonly deletedAt: number | null
  /** Whether it takes the server too long to read, so that it is only relayed. */
  readonly isTooCostly: boolean
  /** The line of its text that a search found; null without a search, and if only its name was found. */
  readonly found: string | null
}

export interface InvitationAnswer {
  /** Relative to the server's address. */
  readonly link: string
  /** Ms since the epoch. */
  readonly expiresAt: number
}

/** Types as which a program may read and write a document; the first is the default. */
export const textTypes = ['text/plain', 'text/markdown', 'text/html'] as const
export type TextType = (typeof textTypes)[number]
