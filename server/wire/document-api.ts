// What the document endpoints answer.

export const documentsPath = '/d/'

/** The address of a channel's page. "." and ".." cannot end a path (WHATWG URL, 4.4). */
export function documentPath(channel: string): string {
  if (channel === '.' || channel === '..') return `/?channel=${channel}`
  return documentsPath + encodeURIComponent(channel)
}

export interface DocumentList {
  /** Last changed first, after the main page if nothing is in it yet. */
  readonly documents: readonly ListedDocument[]
  /** Older ones that are not listed. */
  readonly omitted: number
  readonly mayCreate: boolean
}

export interface ListedDocument {
  readonly channel: string
  /** Empty until somebody names it. */
  readonly title: string
  /** Time of the last change, ms since the epoch; null before the first. */
  readonly at: number | null
  /** Open now. */
  readonly windows: number
  /** Whether who asks may change it, delete it, and bring it back. */
  readonly mayWrite: boolean
  /** Time of its deletion, ms since the epoch; null unless it is deleted. */
  readonly deletedAt: number | null
  /** It takes the server too long to read: it is only relayed. */
  readonly isTooCostly: boolean
}

/** A portion of a document's history. */
export interface HistoryPortion {
  /** In the first portion: everything before the first update; null when the log has that too, or has nothing. */
  readonly base: HistoryUpdate | null
  readonly updates: readonly HistoryUpdate[]
  /** Ask for the next portion after it; null when there is none. */
  readonly next: string | null
}

export interface HistoryUpdate {
  readonly seq: number
  readonly from: string
  /** Server's clock, ms since the epoch. */
  readonly acceptedAt: number
  /** A Yjs update in base64. */
  readonly update: string
}

export interface InvitationAnswer {
  /** Relative to the server's address. */
  readonly link: string
  /** Ms since the epoch. */
  readonly expiresAt: number
}

/** What a program may read and write a document as; the first without asking. */
export const textTypes = ['text/plain', 'text/markdown', 'text/html'] as const
export type TextType = (typeof textTypes)[number]
