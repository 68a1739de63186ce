// A question now and then, answered at once (2012 paper).

import { mountPoll } from './poll.ts'
import type { ServerTransport } from './transport.ts'

export const polling: ServerTransport = {
  name: 'polling',
  mount: (mounting) => mountPoll('/api/poll', 'polling', 0, mounting),
}
