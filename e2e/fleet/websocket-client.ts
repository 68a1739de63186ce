// One WebSocket, both ways.

import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Refused, Stored } from '../../server/wire/frames.ts'
import { createInbox, type OpenClient } from './client.ts'

export const websocketClient: OpenClient = async ({ origin, query, ca }) => {
  const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/api/socket?${query}`, { ca })
  const inbox = createInbox()
  const answers: ((answer: Stored | Refused) => void)[] = []
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data))
    // Answers come in the order of what they answer.
    if (frame.type === 'stored' || frame.type === 'refused') answers.shift()?.(frame)
    else inbox.put(frame)
  })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  ended.then(() => inbox.end('the socket closed.'))
  await once(socket, 'open')
  return {
    next: inbox.next,
    waiting: inbox.waiting,
    send(draft) {
      const answer = new Promise<Stored | Refused>((resolve) => answers.push(resolve))
      socket.send(JSON.stringify({ type: 'publish', message: draft }))
      return answer
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    ended,
    async close() {
      socket.terminate()
      await ended
    },
  }
}
