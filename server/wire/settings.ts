// What the server tells a page about itself, inside the page (`<script type="application/json">`).

import type { Message } from './envelope.ts'
import type { HttpVersion, TransportName } from './modes.ts'

export interface PageSettings {
  readonly transport: TransportName
  readonly http: HttpVersion
  /** Port of each HTTP version's own listener. */
  readonly ports: Readonly<Record<HttpVersion, number>>
  readonly polling: Polling
  /** Whether the windows of one browser share a connection. */
  readonly share: 'none' | 'browser'
  readonly limits: PageLimits
}

export interface Polling {
  /** Pause from one poll's answer to the next poll. */
  readonly intervalMs: number
  /** How long the server may hold a long poll. */
  readonly holdMs: number
}

export interface PageLimits {
  readonly maxMessageBytes: number
  /** What a window keeps for the server while it cannot send. */
  readonly outboxMessages: number
  readonly outboxBytes: number
}

/** What only a page needs: where it begins, and what it may do. */
export interface PageStart extends PageSettings {
  /** The page's own channel. */
  readonly channel: string
  /** The cursor of `messages`: what comes after it is what this page does not have. */
  readonly cursor: string
  /** The newest of each kind on the page's channels. */
  readonly messages: readonly Message[]
  /** Whether this guest may write on the page's channel. */
  readonly mayWrite: boolean
  /** When this guest's session ends unless it is renewed, ms since the epoch; null where everybody may come in. */
  readonly sessionEndsAt: number | null
}
