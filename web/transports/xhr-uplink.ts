// One POST for each message, through axios on XHR, one at a time so that their order holds.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Stored } from '../../server/wire/frames.ts'
import { askClock } from './ask-clock.ts'
import { asSendingError, createHttp } from './http.ts'
import { BusyError, type Opening, type OpenTransport } from './transport.ts'

const timeoutMs = 20_000

const json = { headers: { 'Content-Type': 'application/json' } }
// A draft is known to be plain data: no need to look at what it might be instead.
const beating = { ...json, transformRequest: (text: string) => text }
const posting = { ...json, transformRequest: (draft: Draft) => JSON.stringify(draft) }

export function createXhrUplink({
  origin,
  query,
  onFrame,
}: Pick<Opening, 'origin' | 'query' | 'onFrame'>): Required<OpenTransport> {
  const ending = new AbortController()
  const client = createHttp(origin, ending.signal, timeoutMs)
  let last: Promise<unknown> = Promise.resolve()
  let isIdle = true
  let busy: BusyError | null = null

  async function post(draft: Draft): Promise<Stored> {
    // Behind one that has to wait nothing may go ahead.
    if (busy) throw busy
    try {
      const answer = await client.post<Stored>('/api/messages', draft, posting)
      return answer.data
    } catch (error) {
      const why = asSendingError(error)
      if (why instanceof BusyError) busy = why
      throw why
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
          if (last !== settled) return
          isIdle = true
          busy = null
        })
      last = settled
      return sent
    },
    beat(windows) {
      const said = windows ? JSON.stringify({ windows }) : ''
      client.post(`/api/heartbeat?window=${query.get('window')}`, said, beating).catch(() => undefined)
    },
    askClock: () => askClock(client, onFrame),
    close: () => ending.abort(),
  }
}
