// Who waits for which acknowledgement, where these come down a stream of frames.

import type { Draft } from '../../server/wire/envelope.ts'
import { byeCodes, type DownFrame, type Refused, type Stored } from '../../server/wire/frames.ts'
import { BusyError, type Closing, RefusedError } from './transport.ts'

export interface Answers {
  /** `length` of what is sent, in UTF-16 units. */
  readonly expect: (draft: Draft, length: number) => Promise<Stored>
  /** Takes `stored` and `refused` frames, passes over all others. */
  readonly take: (frame: DownFrame) => void
  /** A frame was beyond what the server reads at all: the largest was it. */
  readonly refuseLargest: () => void
  /** Nobody will answer any more. */
  readonly abandon: () => void
  readonly size: () => number
}

interface Waiting {
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
  readonly length: number
}

export function createAnswers(): Answers {
  const waiting = new Map<string, Waiting>()

  function refuse(id: string, error: Error): void {
    waiting.get(id)?.reject(error)
    waiting.delete(id)
  }

  return {
    expect: ({ id }, length) =>
      new Promise((resolve, reject) => waiting.set(id, { resolve, reject, length })),
    take(frame) {
      if (frame.type === 'stored') {
        waiting.get(frame.id)?.resolve(frame)
        waiting.delete(frame.id)
      } else if (frame.type === 'refused' && frame.id !== null) {
        refuse(frame.id, errorFor(frame))
      }
    },
    refuseLargest() {
      const [largest] = [...waiting].sort(([, one], [, other]) => other.length - one.length)
      const sentence = 'The message is larger than the server takes.'
      if (largest) refuse(largest[0], new RefusedError('too-large', sentence))
    },
    abandon() {
      for (const { reject } of waiting.values())
        reject(new Error('The connection ended before the answer came.'))
      waiting.clear()
    },
    size: () => waiting.size,
  }
}

function errorFor({ code, message, retryAfterMs }: Refused): Error {
  return retryAfterMs === undefined ? new RefusedError(code, message) : new BusyError(message, retryAfterMs)
}

/** Why the server is about to close; null for frames that say nothing about it. */
export function closingFrom(frame: DownFrame, unanswered: number): Closing | null {
  if (frame.type === 'bye' && frame.code in byeCodes) {
    return { code: frame.code, sentence: frame.message, retryAfterMs: frame.retryAfterMs }
  }
  if (frame.type !== 'refused' || frame.id !== null || unanswered > 0) return null
  const { code, message, retryAfterMs = null } = frame
  // A server that does not know a question goes on without it.
  if (code === 'bad-frame') return null
  if (code === 'draining') return { code, sentence: message, retryAfterMs }
  return { code: retryAfterMs === null ? 'refused' : 'lost', sentence: message, retryAfterMs }
}
