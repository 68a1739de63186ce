// One POST for each message, through axios on XHR, one at a time so that their order holds.

import axios from 'axios'
import type { Draft } from '../../server/wire/envelope.ts'
import type { Stored } from '../../server/wire/frames.ts'
import { type OpenTransport, RefusedError } from './transport.ts'

const timeoutMs = 20_000

export function createXhrUplink(origin: string): OpenTransport {
  const ending = new AbortController()
  const client = axios.create({
    baseURL: origin,
    adapter: 'xhr',
    timeout: timeoutMs,
    signal: ending.signal,
    headers: { 'Content-Type': 'application/json' },
    // A draft is known to be plain data: no need to look at what it might be instead.
    transformRequest: (draft: Draft) => JSON.stringify(draft),
    // axios would wait for the cookie store before each request; the server checks the Origin instead.
    xsrfCookieName: '',
  })
  let last: Promise<unknown> = Promise.resolve()
  let isIdle = true

  async function post(draft: Draft): Promise<Stored> {
    try {
      const answer = await client.post<Stored>('/api/messages', draft)
      return answer.data
    } catch (error) {
      throw refusalIn(error) ?? error
    }
  }

  return {
    send(draft) {
      // With nothing under way the request leaves in this very turn.
      const sent = isIdle ? post(draft) : last.then(() => post(draft))
      isIdle = false
      const settled = sent
        .catch(() => null)
        .then(() => {
          if (last === settled) isIdle = true
        })
      last = settled
      return sent
    },
    close: () => ending.abort(),
  }
}

/** A 4xx is final; a 5xx or no answer at all is worth another try. */
function refusalIn(error: unknown): RefusedError | null {
  if (!axios.isAxiosError(error) || !error.response) return null
  const { status, data } = error.response
  if (status < 400 || status >= 500) return null
  return new RefusedError(data?.code ?? String(status), data?.message ?? `The server answered ${status}.`)
}
