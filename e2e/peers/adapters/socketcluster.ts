// SocketCluster with its defaults: windows publish to a channel and subscribe to it.

import { attach } from 'socketcluster-server'
import { accepted, type Host, type Page, type Started } from '../adapter.ts'

export function start({ servers, versionOf }: Host): Started {
  const cluster = attach(servers['1.1'])
  cluster.setMiddleware(cluster.MIDDLEWARE_INBOUND, async (actions) => {
    for await (const action of actions) {
      if (action.type === action.PUBLISH_IN) action.allow({ data: accepted(action.data) })
      else action.allow()
    }
  })
  return {
    mode: 'websocket/1.1',
    version: `${versionOf('socketcluster-server')}, client ${versionOf('socketcluster-client')}`,
  }
}

export async function open({ address, channel, receive }: Page) {
  // The file that it ships for browsers; in Node it cannot be loaded.
  const { create } = await import('socketcluster-client/socketcluster-client.min.js')
  const { hostname, port } = new URL(address)
  const socket = create({ hostname, port: Number(port), secure: true })
  const subscribed = socket.subscribe(channel)
  void (async () => {
    for await (const message of subscribed) receive(message)
  })()
  await subscribed.listener('subscribe').once()
  return (message: object) => socket.transmitPublish(channel, message)
}
