// The way down by answers to questions: `GET`, held while there is nothing to say, or not.

import type { Readable } from 'node:stream'
import type { PollReply } from '../hub/polls.ts'
import { grantOf } from '../security/let-in.ts'
import type { TransportName } from '../wire/modes.ts'
import { enter, httpVersionOf } from './enter.ts'
import { jsonFraming } from './json-framing.ts'
import type { Mounting } from './transport.ts'

/** `holdMs` is the longest that a question may be held; it can ask for less with `hold`. */
export function mountPoll(
  path: string,
  transport: TransportName,
  holdMs: number,
  { router, hub, limits }: Pick<Mounting, 'router' | 'hub' | 'limits'>,
): void {
  router.get(path, async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    const query = ctx.URL.searchParams
    const { visitor, cursor } = enter({
      query,
      grant: grantOf(ctx),
      transport,
      http: httpVersionOf(ctx),
      channelsPerWindow: limits.channelsPerWindow,
    })
    const takenBack = new AbortController()
    const response: Pick<Readable, 'once' | 'off'> = ctx.res as never
    const onClose = () => takenBack.abort()
    response.once('close', onClose)
    const reply = await hub.poll({
      visitor,
      cursor,
      holdMs: query.has('hold') ? Math.min(holdMs, Math.max(0, Number(query.get('hold')) || 0)) : holdMs,
      isFirst: query.has('first'),
      signal: takenBack.signal,
    })
    response.off('close', onClose)
    ctx.type = 'json'
    ctx.body = bodyOf(reply)
  })
}

/** A `PollAnswer` put together from frames that were encoded once for all who ask. */
function bodyOf({ cursor, deliveries }: PollReply): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"cursor":"${cursor}","frames":[`)]
  deliveries.forEach((delivery, index) => {
    if (index > 0) parts.push(comma)
    parts.push(delivery.bytes(jsonFraming))
  })
  parts.push(end)
  return Buffer.concat(parts)
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')
