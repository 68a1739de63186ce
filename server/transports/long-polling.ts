// A question that is held until the log has something for this window, or until it is time to answer empty (2012 paper).

import { mountPoll } from './poll.ts'
import type { ServerTransport } from './transport.ts'

export const longPolling: ServerTransport = {
  name: 'long-polling',
  mount: (mounting) => mountPoll('/api/long-poll', 'long-polling', mounting.holdMs, mounting),
}
