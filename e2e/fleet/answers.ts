// What the server's answers mean to a client: refusals, farewells, and pauses.

import type { Readable } from 'node:stream'
import type { DownFrame, Refused } from '../../server/wire/frames.ts'
import { BusyError, type Closing, RefusedError } from '../../web/transports/transport.ts'
import { textOf } from './http.ts'

export async function asClosing(status: number, body: Readable): Promise<Closing> {
  const { code, message, retryAfterMs }: Refused = JSON.parse(await textOf(body))
  if (code === 'draining') return { code, sentence: message, retryAfterMs: retryAfterMs ?? null }
  const isFinal = status >= 400 && status < 500
  return {
    code: isFinal ? 'refused' : 'lost',
    sentence: `${code}: ${message}`,
    retryAfterMs: retryAfterMs ?? null,
  }
}

/** Why the stream is about to end; null for frames that say nothing about it. */
export function closingOf(frame: DownFrame): Closing | null {
  if (frame.type !== 'bye') return null
  return { code: frame.code, sentence: frame.message, retryAfterMs: frame.retryAfterMs }
}

/** A refused POST: a `BusyError` where another try is asked for, else a `RefusedError`. */
export function asSendingError(status: number, { code, message, retryAfterMs }: Refused): Error {
  if (status === 408 || status === 429 || status === 503) return new BusyError(message, retryAfterMs ?? 500)
  return new RefusedError(code, message)
}
