// Polling, answered at once, and long polling, held until there are messages (2012 paper).

import type { Readable } from 'node:stream'
import type { TransportName } from '../../protocol/modes.ts'
import type { Delivery } from '../hub/delivery.ts'
import { answerParts, piecesOf } from './answers.ts'
import { admit, jsonFraming, type Mounting, openingIn, type ServerTransport } from './transport.ts'

export const polling: ServerTransport = (mounting) =>
  mountPoll('/api/poll', 'polling', { ...mounting, holdMs: 0 })

export const longPolling: ServerTransport = (mounting) =>
  mountPoll('/api/long-poll', 'long-polling', mounting)

function mountPoll(path: string, transport: TransportName, mounting: Mounting): void {
  const { router, hub, timers, limits, holdMs } = mounting
  router.get(path, async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    const opening = openingIn(ctx)
    const { query } = opening
    const { identity, cursor } = admit(opening, transport, limits)
    const aborter = new AbortController()
    const response: Pick<Readable, 'once' | 'off'> = ctx.res as never
    const onClose = () => aborter.abort()
    response.once('close', onClose)
    const reply = await hub.poll({
      identity,
      cursor,
      holdMs: query.has('hold') ? Math.min(holdMs, Math.max(0, Number(query.get('hold')) || 0)) : holdMs,
      isFirst: query.has('first'),
      signal: aborter.signal,
    })
    response.off('close', onClose)
    opening.grant.mustLast(timers.now())
    ctx.type = 'json'
    const { cursor: reached, deliveries } = reply
    answerParts(ctx, mounting.budget, deliveries, () => partsOf(reached, [...deliveries]))
  })
}

const comma = Buffer.from(',')

/** Yields a `PollAnswer` built from frames that are encoded once for all clients. */
function* partsOf(cursor: string, left: Delivery[]): Generator<Buffer> {
  yield Buffer.from(`{"cursor":"${cursor}","frames":[`)
  for (let next = left.shift(); next; next = left.shift()) {
    yield* piecesOf(next.bytes(jsonFraming))
    if (left.length > 0) yield comma
  }
  yield Buffer.from(']}')
}
