// What a transport is on the window's side: it turns bytes into frames, and drafts into acknowledgements.
// No retry, no React: the link wraps it.

import type { Draft } from '../../server/wire/envelope.ts'
import type { ByeCode, DownFrame, Stored } from '../../server/wire/frames.ts'
import type { TransportName } from '../../server/wire/modes.ts'

export interface Opening {
  /** Origin of the listener, `https://localhost:8443`. */
  readonly origin: string
  /** What the server asks of a joining window: `window`, `channels`, `browser`, `cursor`. */
  readonly query: URLSearchParams
  /** `receivedAt` is taken before anything else is done with the bytes; ms since the epoch. */
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void
  /** The stream is over, whoever ended it; comes exactly once, and never after `close()`. */
  readonly onClose: (closing: Closing) => void
}

export interface Closing {
  /** `lost`: the connection broke or could not be made. `silent`: nothing was heard for too long. */
  readonly code: 'lost' | 'silent' | 'refused' | ByeCode
  /** One sentence for people. */
  readonly sentence: string
  /** The server's wish; null when it had none. */
  readonly retryAfterMs: number | null
}

export interface OpenTransport {
  /**
   * Sends one message; resolves to its acknowledgement. Keeps the order of its calls.
   * Rejects with a `RefusedError` when the server refused it for good, with anything else when it is not
   * known whether it arrived: then it is to be sent again, with the same id.
   */
  readonly send: (draft: Draft) => Promise<Stored>
  readonly close: () => void
}

export interface WebTransport {
  readonly name: TransportName
  readonly open: (opening: Opening) => OpenTransport
}

export class RefusedError extends Error {
  readonly code: string
  constructor(code: string, sentence: string) {
    super(sentence)
    this.name = 'RefusedError'
    this.code = code
  }
}

/** This window's clock: ms since the epoch with fractions. `performance.now()` alone has another origin in every window. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}
