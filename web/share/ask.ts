// A question to the server for what one member missed: a poll that is answered at once.

import type { PollAnswer } from '../../server/wire/frames.ts'
import { createHttp } from '../transports/http.ts'

const timeoutMs = 20_000

/** Rejects as axios does. */
export async function askServer(
  origin: string,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<PollAnswer> {
  const answer = await createHttp(origin, signal, timeoutMs).get<PollAnswer>(`/api/poll?${query}`)
  return answer.data
}
