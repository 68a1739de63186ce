// What windows send by POST: one message each, checked, stored, acknowledged with its number; signs of life; farewells.

import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParameterizedContext } from 'koa'
import { admitDraft } from '../hub/admission.ts'
import { Refusal } from '../refusal.ts'
import { refuseWriting } from '../security/grant.ts'
import { grantOf } from '../security/let-in.ts'
import { admitBeat } from './beat.ts'
import { mustBeCovered } from './enter.ts'
import { parseJson, type Reading, readText } from './json.ts'
import type { Mounting } from './transport.ts'

export const uplinkPath = '/api/messages'

const mostBeatBytes = 16_384

type Uplink = Pick<Mounting, 'router' | 'hub' | 'limits' | 'timers'>

export function mountUplink({ router, hub, limits, timers }: Uplink): void {
  const { bodySeconds } = limits
  const reading: Reading = { maxBytes: limits.maxMessageBytes, bodySeconds, timers }

  router.post(uplinkPath, async (ctx) => {
    const draft = admitDraft(await readJson(ctx, reading))
    const grant = grantOf(ctx)
    const refusal = refuseWriting(grant, draft.channel, draft.id) ?? tooFast(hub.waitMs(draft.from), draft.id)
    if (refusal) throw refusal
    const stored = await hub.publish(draft)
    // Node flushes at the end of a turn. The answer takes the next one, so that the windows' bytes leave first.
    await nextTurn()
    answer(ctx, JSON.stringify(stored))
  })

  router.post('/api/heartbeat', async (ctx) => {
    const window = ctx.URL.searchParams.get('window') ?? ''
    const text = await readText(ctx.req, { ...reading, maxBytes: mostBeatBytes })
    const grant = grantOf(ctx)
    const carries = text === '' ? undefined : admitBeat(parseJson(text), grant)
    mustBeCovered(grant, hub.channelsOf(window))
    hub.heard(window, carries)
    ctx.status = 204
  })

  router.post('/api/leave', (ctx) => {
    const query = ctx.URL.searchParams
    mustBeCovered(grantOf(ctx), hub.channelsOf(query.get('window') ?? ''))
    hub.left(query.get('window') ?? '', Number(query.get('opening') ?? 0) || 0)
    ctx.status = 204
  })
}

/** Around Koa's own way to answer, which costs as much as all the rest of a keystroke's request. */
function answer(ctx: ParameterizedContext, json: string): void {
  ctx.respond = false
  const response: ServerResponse = ctx.res
  response.statusCode = 200
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', Buffer.byteLength(json))
  response.end(json)
}

async function readJson(ctx: ParameterizedContext, reading: Reading): Promise<unknown> {
  // Not ctx.is(): it takes an HTTP/2 body without a length for no body at all.
  if (ctx.request.type !== 'application/json') {
    const sentence = `Messages are sent as application/json, not as ${ctx.get('Content-Type') || 'nothing named'}.`
    throw new Refusal(415, 'wrong-type', sentence)
  }
  return parseJson(await readText(ctx.req, reading))
}

function tooFast(waitMs: number, id: string): Refusal | null {
  if (waitMs === 0) return null
  const sentence = `This window sends faster than it may (limits.messagesPerSecond); try again in ${waitMs} ms.`
  return new Refusal(429, 'too-fast', sentence, id, waitMs)
}
