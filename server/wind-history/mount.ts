// Answers with the last hour of wind to whoever may read its channel.

import type Router from '@koa/router'
import { refuseReading } from '../security/grant.ts'
import { grantOf } from '../security/let-in.ts'
import { windChannel } from '../sources/publish.ts'
import type { RunningAnemograph } from './running-anemograph.ts'

export const windHistoryPath = '/api/wind/history'

export function mountWindHistory(router: Router, { anemogram }: Pick<RunningAnemograph, 'anemogram'>): void {
  router.get(windHistoryPath, async (ctx) => {
    const refusal = refuseReading(grantOf(ctx), [windChannel])
    if (refusal) throw refusal
    ctx.set('Cache-Control', 'no-store')
    ctx.type = 'json'
    ctx.body = await anemogram()
  })
}
