// What a transport is on the window's side: it turns bytes into frames, and drafts into acknowledgements.
// No retry, no React: the link wraps it.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Beat, ByeCode, DownFrame, Stored } from '../../server/wire/frames.ts'
import type { Mode, TransportName } from '../../server/wire/modes.ts'
import type { Polling } from '../../server/wire/settings.ts'

export interface Opening {
  /** Origin of the listener, `https://localhost:8443`. */
  readonly origin: string
  readonly mode: Mode
  /** What the server asks of a joining window: `window`, `opening`, `channels`, `browser`, `cursor`. */
  readonly query: URLSearchParams
  readonly polling: Polling
  /** `receivedAt` is taken before anything else is done with the bytes; ms since the epoch. */
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void
  /** The stream is over, whoever ended it; comes exactly once, and never after `close()`. */
  readonly onClose: (closing: Closing) => void
}

export interface Closing {
  /**
   * `lost`: the connection broke or could not be made. `silent`: nothing was heard for too long. `unsupported`: this
   * browser cannot do it. `refused`: the server does not want this window as it is. The others are the server's farewells.
   */
  readonly code: 'lost' | 'unsupported' | 'refused' | 'uninvited' | ByeCode
  /** One sentence for people. */
  readonly sentence: string
  /** The server's wish; null when it had none. */
  readonly retryAfterMs: number | null
}

export interface OpenTransport {
  /**
   * Sends one message; resolves to its acknowledgement. Keeps the order of its calls.
   * Rejects with a `RefusedError` when the server refused it for good, with a `BusyError` when it is to be sent again
   * later, with anything else when it is not known whether it arrived: then it is to be sent again, with the same id.
   */
  readonly send: (draft: Draft) => Promise<Stored>
  /** Lets hear of this window. */
  readonly beat: (windows?: Beat['windows']) => void
  /**
   * Asks for the server's time, with a stamp of its own as it leaves; the answer comes as a `clock` frame, or never.
   * Missing where the connection is another's, so that a stamp of this window's would not be the moment of its leaving.
   */
  readonly askClock?: () => void
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

/** The server takes nothing more for the moment; all that was sent after it was not taken either. */
export class BusyError extends Error {
  readonly retryAfterMs: number
  constructor(sentence: string, retryAfterMs: number) {
    super(sentence)
    this.name = 'BusyError'
    this.retryAfterMs = retryAfterMs
  }
}

export const lost: Closing = {
  code: 'lost',
  sentence: 'The connection to the server was lost.',
  retryAfterMs: null,
}

/** This window's clock: ms since the epoch with fractions. `performance.now()` alone has another origin in every window. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}
