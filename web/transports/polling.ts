// A question now and then.

import { openPoll } from './poll.ts'
import type { WebTransport } from './transport.ts'

export const polling: WebTransport = {
  name: 'polling',
  open: (opening) => openPoll({ path: '/api/poll', pauseMs: opening.polling.intervalMs, holdMs: 0 }, opening),
}
