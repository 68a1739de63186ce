// Bodies of messages, by kind (PROTOCOL.md).

/** The body of each kind. Other layers add their own kinds by declaration merging. */
export interface Bodies {
  update: UpdateBody
  json: JsonBody
  change: ChangeBody
  erasure: ErasureBody
  revocation: RevocationBody
}

export type Kind = keyof Bodies

/** A message without a number. */
export interface Draft<K extends Kind = Kind> {
  /** Sender, "-", counter: `w3f9c-12`. */
  readonly id: string
  readonly channel: string
  readonly kind: K
  readonly from: string
  /**
   * Sender's clock, ms since the epoch, with fractions; `acceptedAt` is the same by the server's.
   */
  readonly at: number
  readonly body: Bodies[K]
  /** Sent to the clients that are connected now, and not stored. */
  readonly volatile?: true | undefined
}

export interface Message<K extends Kind = Kind> extends Draft<K> {
  /** Consecutive integers, assigned only by the log. */
  readonly seq: number
  readonly acceptedAt: number
}

/** A change of the shared document. */
export interface UpdateBody {
  /** Only in a message that the server created from a text: identifies a repeat. */
  readonly digest?: string
  /**
   * A Yjs update (version 1) in base64 (RFC 4648, 4). In a snapshot one update may hold the whole
   * document.
   */
  readonly update: string
  /** The sender's user, as the application names it: only in messages. */
  readonly user?: string
  /** Only in a snapshot: the document's Yjs clients by owner; see PROTOCOL.md. */
  readonly owners?: Readonly<Record<string, readonly number[]>>
}

/**
 * Only the log writes it. If the channel's previous message is not newer than `head`, the log
 * erases the channel.
 */
interface ErasureBody {
  /** The newest number on the channel. */
  readonly head: number
}

/** JSON, or bytes. */
interface Content {
  /** JSON. */
  readonly data?: unknown
  /** Instead of `data`: bytes in base64 (RFC 4648, 4). */
  readonly bytes?: string | undefined
  /** Digest of the content as sent, if the application has changed it: identifies a repeat. */
  readonly digest?: string | undefined
}

/** An application's own message, on a channel that it has declared for it. Without content, it was erased. */
interface JsonBody extends Content {
  /** The sender's user, as the application names it: only in messages. */
  readonly user?: string | undefined
  /** When the content was changed or erased, as the log reads it: the `acceptedAt` of the newest change. */
  readonly changedAt?: number | undefined
}

/** Changes an application's message, or erases it if it has no content. */
interface ChangeBody extends Content {
  /** The number of the message. */
  readonly seq: number
  /** The user who changed it. */
  readonly user?: string | undefined
}

/** Only an application's servers write it, on a channel that no client can name. */
interface RevocationBody {
  readonly revoked: readonly Revoked[]
}

/** Earlier permits of this user no longer count. */
export interface Revoked {
  readonly user: string
  /** The message's number and `acceptedAt`, if several were joined. */
  readonly seq?: number
  readonly at?: number
}
