// Server-sent events down, POST up, over either HTTP version.

import type { HttpVersion } from '../../server/wire/modes.ts'
import { createSseReader } from '../../server/wire/sse-framing.ts'
import { createInbox, type OpenClient } from './client.ts'
import { connectHttp, textOf } from './http.ts'

export function sseClient(version: HttpVersion): OpenClient {
  return async ({ origin, query, ca }) => {
    const http = connectHttp(version, origin, ca)
    const { status, body } = await http.ask({ path: `/api/stream?${query}` })
    if (status !== 200) throw new Error(`The stream was refused: ${status} ${await textOf(body)}`)
    const inbox = createInbox()
    const reader = createSseReader(({ event, data }) => {
      const content = JSON.parse(data)
      inbox.put(event === 'message' ? { type: 'message', message: content } : { type: event, ...content })
    })
    body.setEncoding('utf8').on('data', reader.push)
    const ended = new Promise<void>((resolve) => body.once('close', resolve))
    ended.then(() => inbox.end('the stream ended.'))

    return {
      next: inbox.next,
      waiting: inbox.waiting,
      async send(draft) {
        const headers = { 'content-type': 'application/json' }
        const answer = await http.ask({
          method: 'POST',
          path: '/api/messages',
          headers,
          body: JSON.stringify(draft),
        })
        return JSON.parse(await textOf(answer.body))
      },
      pause: () => void body.pause(),
      resume: () => void body.resume(),
      ended,
      async close() {
        body.destroy()
        http.close()
        await ended
      },
    }
  }
}
