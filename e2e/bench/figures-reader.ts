// Asks a server what it has used, over a connection that stays open: a handshake each time would be measured along.

import https from 'node:https'
import { text } from 'node:stream/consumers'
import type { Figures } from '../../server/monitor/figures.ts'

export interface FiguresReader {
  readonly read: () => Promise<Figures>
  readonly close: () => void
}

/** A server that is busy with ten thousand windows may take a while. */
const answerWithinMs = 30_000

/** `origin` of a server that answers `/api/figures`. */
export function openFiguresReader(origin: string): FiguresReader {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  return {
    async read() {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const request = https.get(
        `${origin}/api/figures`,
        { agent, signal: AbortSignal.timeout(answerWithinMs) },
        (response) => {
          text(response).then(resolve, reject)
        },
      )
      request.on('error', reject)
      return JSON.parse(await promise)
    },
    close: () => agent.destroy(),
  }
}
