// The transport contract in the window, and acknowledgements that arrive as frames.

import {
  type AwarenessReport,
  type BeatReport,
  type Bye,
  type ByeCode,
  byeCodes,
  type DownFrame,
  type Draft,
  type Polling,
  type Refused,
  type Stored,
  type UpFrame,
} from '../../protocol/messages.ts'
import type { LinkMode, TransportMode, TransportName } from '../../protocol/modes.ts'
import type { RefusalCode } from '../../protocol/refusal.ts'
import { now } from '../browser-services.ts'
import { type Send, sendByXhr } from './send.ts'

/** Converts bytes to frames and drafts to acknowledgements. Never retries: the link does. */
export interface WebTransport {
  readonly name: TransportName
  /** `platform` defaults to the browser. */
  readonly open: (opening: Opening, platform?: Platform) => OpenTransport
  /**
   * One sentence saying what this browser lacks, or null. Absent if every browser supports the
   * transport.
   */
  readonly lacks?: () => string | null
}

/** Declares its own rows of the table, so that a bundle has no others. */
export interface ChosenTransport extends WebTransport {
  readonly modes: readonly TransportMode[]
}

export type Transports = Readonly<Record<TransportName, WebTransport>>

/** The transports over a platform; by default each over the browser's own. */
export function transportsOver(
  platform: Platform | undefined,
  transports: readonly WebTransport[],
): Transports {
  const over = ({ name, open }: WebTransport): [string, WebTransport] => [
    name,
    { name, open: (opening) => open(opening, platform) },
  ]
  return Object.fromEntries(transports.map(over)) as Transports
}

/** The base of all transports: the browser, or Node in tests and measurements. */
export interface Platform {
  readonly send: Send
  /** `error` events are `ErrorEvent`s if the platform knows why the stream failed (`HttpError`). */
  readonly openEvents: (address: string) => Pick<EventSource, 'addEventListener' | 'close'>
  readonly openSocket: (
    address: string,
  ) => Pick<WebSocket, 'addEventListener' | 'removeEventListener' | 'send' | 'close' | 'readyState'>
  readonly fetch: (address: string, request: RequestInit) => Promise<Response>
}

/** Sends credentials to both of the server's ports, whichever served the page. */
export const browser: Platform = {
  send: sendByXhr,
  openEvents: (address) => new EventSource(address, { withCredentials: true }),
  openSocket: (address) => new WebSocket(address),
  fetch: (address, request) => fetch(address, { ...request, credentials: 'include' }),
}

export interface Opening {
  /** Base address of the server's endpoints, such as `https://localhost:8443/api`. */
  readonly base: string
  readonly mode: LinkMode
  /** `window`, `key`, `opening`, `channels`, `cursor`. */
  readonly query: URLSearchParams
  readonly polling?: Polling | undefined
  /** `receivedAt` is taken before the bytes are parsed; ms since the epoch. */
  readonly onFrame: (frame: DownFrame, receivedAt: number) => void
  /** The stream ended on either side. Called exactly once, and never after `close()`. */
  readonly onClose: (closing: Closing) => void
}

export interface OpenTransport {
  /**
   * Sends messages in call order and resolves to the acknowledgement. Rejects with `RefusedError`
   * if refused for good, `BusyError` if to be resent later. After any other error the message may
   * or may not have arrived: resend it under the same id.
   */
  readonly send: (draft: Draft) => Promise<Stored>
  /** Whether messages sent in earlier turns reach the server even if the page ends now. */
  readonly outlivesPage?: boolean | undefined
  readonly beat: (beat: BeatReport) => void
  /**
   * Requests the server's time, stamped on departure; a `clock` frame may answer. Absent where a request
   * of its own does as well, or better: over another window's connection the stamp would be too early.
   */
  readonly askClock?: () => void
  /**
   * Gets no answer. A report may be skipped for a newer one of its window; the newest is always
   * sent.
   */
  readonly sendAwareness: (report: AwarenessReport) => void
  /** `isForGood`: the window is no longer shown; otherwise it is for a while, in case it comes back. */
  readonly close: (isForGood?: boolean) => void
}

export interface Closing {
  /**
   * `lost`: the connection broke or failed to open. `silent`: nothing was received for too long.
   * `unsupported`: this browser lacks the feature. `full`: other windows hold all connections of this mode.
   * `refused`: the server rejects this window. Others: the server's bye codes.
   */
  readonly code: 'lost' | 'unsupported' | 'full' | 'refused' | 'uninvited' | ByeCode
  /** For display. */
  readonly sentence: string
  readonly retryAfterMs: number | null
}

export const lost: Closing = {
  code: 'lost',
  sentence: 'The connection to the server was lost.',
  retryAfterMs: null,
}

/**
 * The server's codes (PROTOCOL.md, "Refusals"), a status without one, and the client's own. A newer server
 * may send others.
 */
export type RefusedCode = RefusalCode | `${number}` | 'outbox-full' | 'refused' | 'uninvited' | 'withdrawn'

export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly code: RefusedCode
  constructor(code: string, sentence: string) {
    super(sentence)
    this.code = code as RefusedCode
  }
}

/**
 * `code` is that of a `RefusedError`; absent where the reason is another, such as a lost connection, or a name that no
 * channel can have.
 */
export type ClientError = Error & { readonly code?: RefusedCode | undefined }

/** The server is overloaded; it accepted neither this draft nor any sent after it. */
export class BusyError extends Error {
  readonly retryAfterMs: number
  constructor(sentence: string, retryAfterMs: number) {
    super(sentence)
    this.retryAfterMs = retryAfterMs
  }
}

interface Unanswered extends PromiseWithResolvers<Stored> {
  readonly length: number
}

export function createAnswers() {
  const unanswered = new Map<string, Unanswered>()

  function take(id: string): Unanswered | undefined {
    const answer = unanswered.get(id)
    unanswered.delete(id)
    return answer
  }

  return {
    /** `length` of the sent text, in UTF-16 units. */
    expect({ id }: Draft, length: number): Promise<Stored> {
      // Two windows of one stream may send the same draft (a duplicated tab): one answer settles both.
      const known = unanswered.get(id)
      if (known) return known.promise
      const answer = Promise.withResolvers<Stored>()
      unanswered.set(id, { ...answer, length })
      return answer.promise
    },
    handle(frame: DownFrame): void {
      if (frame.type === 'stored') take(frame.id)?.resolve(frame)
      else if (frame.type === 'refused' && frame.id !== null) take(frame.id)?.reject(errorFor(frame))
    },
    /** After a frame exceeded the server's size limit. */
    refuseLargest(): void {
      const [largest] = [...unanswered].sort(([, one], [, other]) => other.length - one.length)
      const sentence = 'The message is too large.'
      if (largest) take(largest[0])?.reject(new RefusedError('too-large', sentence))
    },
    abandon(): void {
      for (const { reject } of unanswered.values())
        reject(new Error('The connection ended before the answer arrived.'))
      unanswered.clear()
    },
    size: () => unanswered.size,
  }
}

/** Sends frames over the open connection itself. `write` returns the text's length. */
export function framesUp({ expect }: Pick<Answers, 'expect'>, write: (frame: UpFrame) => number) {
  return {
    send: (draft: Draft) => expect(draft, write({ type: 'publish', message: draft })),
    beat: (beat?: BeatReport) => void write({ type: 'heartbeat', ...beat }),
    askClock: () => void write({ type: 'clock', at: now() }),
    sendAwareness: (report: AwarenessReport) => void write({ type: 'awareness', ...report }),
  }
}

type Answers = ReturnType<typeof createAnswers>

function errorFor({ code, message, retryAfterMs }: Refused): Error {
  return retryAfterMs === undefined ? new RefusedError(code, message) : new BusyError(message, retryAfterMs)
}

export function closingFrom(frame: DownFrame, unanswered: number): Closing | null {
  if (frame.type === 'bye' && frame.code in byeCodes) return closingOf(frame)
  if (frame.type !== 'refused' || frame.id !== null || unanswered > 0) return null
  const { code, message, retryAfterMs = null } = frame
  // A server that does not know a frame keeps the stream.
  if (code === 'bad-frame') return null
  const failure = retryAfterMs === null ? 'refused' : 'lost'
  return { code: code === 'draining' ? code : failure, sentence: message, retryAfterMs }
}

export const closingOf = ({ code, message: sentence, retryAfterMs }: Bye): Closing => ({
  code,
  sentence,
  retryAfterMs,
})
