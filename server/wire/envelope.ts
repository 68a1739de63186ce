// The envelope that everything travels in, the same in server, windows and lab.

import type { EditBody } from './edit.ts'
import type { OverviewBody } from './overview.ts'
import type { ReadingBody, SensorBody } from './reading.ts'

/** What each kind of message carries. A new kind is one line here and one schema in `hub/admission.ts`. */
export interface Bodies {
  edit: EditBody
  reading: ReadingBody
  sensor: SensorBody
  overview: OverviewBody
}

export type Kind = keyof Bodies

/** A message as its sender makes it: not numbered yet. */
export interface Draft<K extends Kind = Kind> {
  /** Sender's id and its own counter, `w3f9c-12`: unique, and in the sender's order. */
  readonly id: string
  readonly channel: string
  readonly kind: K
  /** The sender: a window's id, or a source's name. */
  readonly from: string
  /** The sender's clock, ms since the epoch, with fractions. */
  readonly at: number
  readonly body: Bodies[K]
}

/** A message as the log keeps and delivers it. */
export interface Message<K extends Kind = Kind> extends Draft<K> {
  /** Place in the log: whole, growing by one a message; given by the log and by nothing else. */
  readonly seq: number
  /** The server's clock when it took the message, ms since the epoch, with fractions. */
  readonly acceptedAt: number
}

/** Tells a message's kind apart, so that its body gets its type. */
export function isKind<K extends Kind>(message: Message, kind: K): message is Message<K> {
  return message.kind === kind
}
