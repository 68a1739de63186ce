// One POST for each message, one at a time so that their order holds.

import type { Stored } from '../../server/wire/frames.ts'
import { BusyError, type Opening, type OpenTransport } from '../../web/transports/transport.ts'
import { asSendingError } from './answers.ts'
import { exchangeClocks } from './clock.ts'
import { type HttpClient, textOf } from './http.ts'

const headers = { 'content-type': 'application/json' }

type Poster = Pick<Required<OpenTransport>, 'send' | 'beat' | 'askClock'>

export function createPoster(
  http: HttpClient,
  { query, onFrame }: Pick<Opening, 'query' | 'onFrame'>,
): Poster {
  let last: Promise<unknown> = Promise.resolve()
  let busy: BusyError | null = null

  async function post(draft: unknown): Promise<Stored> {
    // Behind one that has to wait nothing may go ahead.
    if (busy) throw busy
    const { status, body } = await http.ask({
      method: 'POST',
      path: '/api/messages',
      headers,
      body: JSON.stringify(draft),
    })
    const answer = JSON.parse(await textOf(body))
    if (status === 200) return answer
    const error = asSendingError(status, answer)
    if (error instanceof BusyError) busy = error
    throw error
  }

  return {
    send(draft) {
      const sent = last.then(() => post(draft))
      const settled: Promise<unknown> = sent
        .catch(() => null)
        .then(() => {
          if (last === settled) busy = null
        })
      last = settled
      return sent
    },
    beat(windows) {
      const body = windows ? JSON.stringify({ windows }) : ''
      http.ask({ method: 'POST', path: `/api/heartbeat?window=${query.get('window')}`, headers, body }).then(
        (answer) => void answer.body.resume(),
        () => undefined,
      )
    },
    askClock() {
      exchangeClocks(http).then(
        ({ sentAt, receivedAt, answeredAt, returnedAt }) =>
          onFrame({ type: 'clock', sent: sentAt, received: receivedAt, at: answeredAt }, returnedAt),
        () => undefined,
      )
    },
  }
}
