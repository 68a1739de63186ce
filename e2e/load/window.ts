// A load window: receives bytes, and publishes when it is the author's.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Browser } from './browser.ts'

export interface WindowOpening {
  readonly browser: Browser
  /** `window`, `channels` and `browser`, as a page names them. */
  readonly query: URLSearchParams
  readonly polling: { readonly intervalMs: number; readonly holdMs: number }
  readonly onBytes: (bytes: Buffer) => void
  /** It ended though nobody closed it, or a message was refused. */
  readonly onFailure: (why: string) => void
}

export interface LoadWindow {
  /** Sends at once and waits for nothing. */
  readonly publish: (draft: Draft<'edit'>) => void
  readonly close: () => void
}

/** Resolves when the server has answered; rejects when it refused. */
export type OpenWindow = (opening: WindowOpening) => Promise<LoadWindow>
