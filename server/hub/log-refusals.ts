// What the log turns a draft away for, as its sender is told.

import { LogClosed, TooManyChannels } from '../broker/log.ts'
import { Refusal } from '../refusal.ts'

/** A `Refusal` of the draft of that id; what is none of the sender's business, a full disk, say, as it is. */
export function refusalFor(error: unknown, id: string, retryAfterMs: number): unknown {
  if (error instanceof TooManyChannels) {
    const sentence = `${error.message} Write to one that is there, or raise limits.maxChannels.`
    return new Refusal(403, 'too-many-channels', sentence, id)
  }
  if (error instanceof LogClosed)
    return new Refusal(503, 'draining', 'The server is shutting down.', id, retryAfterMs)
  return error
}
