// y-websocket: each message is a value of a shared map. The server returns updates to their writer too.

import { setupWSConnection } from '@y/websocket-server/utils'
import * as decoding from 'lib0/decoding'
import { WebSocketServer } from 'ws'
import { messageYjsUpdate } from 'y-protocols/sync'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'

export function start({ servers, versionOf }) {
  new WebSocketServer({ server: servers['1.1'] }).on('connection', setupWSConnection)
  return {
    mode: 'websocket/1.1',
    version: `${versionOf('@y/websocket-server')}, client ${versionOf('y-websocket')}`,
  }
}

export async function open({ address, channel, receive }) {
  const doc = new Y.Doc()
  const provider = new WebsocketProvider(address.replace('http', 'ws'), channel, doc, { disableBc: true })
  const messageSync = 0
  const takeSync = provider.messageHandlers[messageSync]
  // A message counts once its update has arrived: the writer's own changes nothing in its document.
  provider.messageHandlers[messageSync] = (encoder, decoder, ...more) => {
    const copy = decoding.clone(decoder)
    if (decoding.readVarUint(copy) === messageYjsUpdate) {
      const { structs } = Y.decodeUpdate(decoding.readVarUint8Array(copy))
      for (const { content } of structs) for (const message of content?.arr ?? []) receive(message)
    }
    takeSync(encoder, decoder, ...more)
  }
  await new Promise((resolve) => provider.once('sync', resolve))
  return (message) => doc.getMap('messages').set('last', message)
}
