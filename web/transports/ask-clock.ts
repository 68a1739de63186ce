// Asks for the server's time with a request of its own, where nothing else goes up a stream.

import type { AxiosInstance } from 'axios'
import { now, type Opening } from './transport.ts'

/** The answer comes as a frame, as it does down a stream. A request that fails is an answer that does not come. */
export function askClock(client: AxiosInstance, onFrame: Opening['onFrame']): void {
  const sent = now()
  let receivedAt = sent
  const reading = {
    // Axios hands over the text: the stamp comes before anything is done with it.
    transformResponse(text: string) {
      receivedAt = now()
      return JSON.parse(text)
    },
  }
  client.get<{ at: number }>('/api/clock', reading).then(
    ({ data: { at } }) => onFrame({ type: 'clock', sent, received: at, at }, receivedAt),
    () => undefined,
  )
}
