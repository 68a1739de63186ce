// The guest's session: renewed while it runs, and asked for when a stream ended for want of it.

import axios from 'axios'
import type { Timers } from '../../server/wire/time.ts'

/** What the server says of a session. */
export interface Session {
  /** Ms since the epoch; null where everybody is invited. */
  readonly expiresAt: number | null
}

/** Gives the session a new end; null when there is none any more. Rejects when the server could not be asked. */
export async function renewSession(): Promise<Session | null> {
  const answer = await axios.post<Session>('/api/session', undefined, {
    adapter: 'xhr',
    timeout: 20_000,
    withCredentials: true,
    xsrfCookieName: '',
    validateStatus: (status) => status < 300 || status === 401,
  })
  return answer.status === 401 ? null : answer.data
}

const soonestMs = 5000
const latestMs = 24 * 3_600_000

/** Renews ahead, before `endsAt` (ms since the epoch; null for never): a session that has ended cannot be renewed. */
export function keepSession(timers: Timers, endsAt: number | null, renew: typeof renewSession): void {
  const renewLater = (inMs: number) => timers.later(renewNow, Math.min(latestMs, Math.max(soonestMs, inMs)))

  function renewNow(): void {
    renew().then(
      (session) => {
        if (session?.expiresAt) renewBefore(session.expiresAt)
      },
      () => renewLater(soonestMs),
    )
  }

  // Half of what is left: a window that was asleep, or a server that was down, has the other half.
  function renewBefore(time: number): void {
    renewLater((time - timers.now()) / 2)
  }

  if (endsAt !== null) renewBefore(endsAt)
}
