// A question that the server holds, the next one at once.

import { openPoll } from './poll.ts'
import type { WebTransport } from './transport.ts'

export const longPolling: WebTransport = {
  name: 'long-polling',
  open: (opening) =>
    openPoll({ path: '/api/long-poll', pauseMs: 0, holdMs: opening.polling.holdMs }, opening),
}
