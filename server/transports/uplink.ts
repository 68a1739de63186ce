// One POST, one message: checked, stored, acknowledged with its number.

import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type Router from '@koa/router'
import { admitDraft } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { Refusal } from '../refusal.ts'
import type { Mounting } from './transport.ts'

export const uplinkPath = '/api/messages'

export function mountUplink({
  router,
  hub,
  limits,
}: Pick<Mounting, 'limits'> & { router: Router; hub: Hub }): void {
  router.post(uplinkPath, async (ctx) => {
    // Not ctx.is(): it takes an HTTP/2 body without a length for no body at all.
    if (ctx.request.type !== 'application/json') {
      const sentence = `Messages are sent as application/json, not as ${ctx.get('Content-Type') || 'nothing named'}.`
      throw new Refusal(415, 'wrong-type', sentence)
    }
    const text = await readText(ctx.req, limits.maxMessageBytes)
    const stored = await hub.publish(admitDraft(parseJson(text)))
    // Node flushes at the end of a turn. The answer takes the next one, so that the windows' bytes leave first.
    await nextTurn()
    ctx.body = stored
  })
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Refusal(
      400,
      'not-json',
      `The message is not JSON: ${String(cause).replace(/^SyntaxError: /, '')}.`,
    )
  }
}

export function tooLarge(maxBytes: number, id: string | null = null): Refusal {
  return new Refusal(
    413,
    'too-large',
    `A message may have ${maxBytes} bytes at most (limits.maxMessageBytes).`,
    id,
  )
}

/** The body as text. Rejects with a `Refusal` (413) as soon as it is known to be too large, and keeps none of it. */
function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = Number(request.headers['content-length'] ?? 0) > maxBytes ? Number.POSITIVE_INFINITY : 0
    const refuse = () => {
      chunks.length = 0
      reject(tooLarge(maxBytes))
    }
    if (size > maxBytes) refuse()
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) refuse()
      else chunks.push(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.once('error', reject)
    request.once('aborted', () =>
      reject(new Refusal(400, 'aborted', 'The request ended before its body did.')),
    )
  })
}
