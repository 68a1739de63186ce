// better-sse: a channel of sessions, and a POST for each message.

import { text } from 'node:stream/consumers'
import { createChannel, createSession } from 'better-sse'

export function start({ versionOf }) {
  const channel = createChannel()
  return {
    mode: 'sse/2',
    version: versionOf('better-sse'),
    async answer(request, response) {
      if (request.method === 'GET') return channel.register(await createSession(request, response))
      channel.broadcast(JSON.parse(await text(request)))
      response.end()
    },
  }
}

export async function open({ address, receive }) {
  const source = new EventSource(`${address}/events`)
  source.onmessage = ({ data }) => receive(data)
  await new Promise((resolve) => {
    source.onopen = resolve
  })
  return (message) => fetch(`${address}/messages`, { method: 'POST', body: JSON.stringify(message) })
}
