// Hocuspocus: stateless messages, since a change of the document would not return to its writer.

import { HocuspocusProvider } from '@hocuspocus/provider'
import { Hocuspocus } from '@hocuspocus/server'
import { WebSocketServer } from 'ws'

export function start({ address, servers, versionOf }) {
  const version = versionOf('@hocuspocus/provider')
  if (address) return { mode: 'websocket/1.1', address, version: `client ${version}` }
  const hocuspocus = new Hocuspocus({
    quiet: true,
    onStateless: ({ document, payload }) => document.broadcastStateless(payload),
  })
  new WebSocketServer({ server: servers['1.1'] }).on('connection', (socket) => {
    const connection = hocuspocus.handleConnection(socket, new Request('https://localhost'))
    socket.on('message', (data) => connection.handleMessage(new Uint8Array(data)))
    socket.on('close', (code, reason) => connection.handleClose({ code, reason: String(reason) }))
  })
  return { mode: 'websocket/1.1', version }
}

export function open({ address, channel, receive }) {
  return new Promise((resolve) => {
    const provider = new HocuspocusProvider({
      url: address.replace('http', 'ws'),
      name: channel,
      onStateless: ({ payload }) => receive(payload),
      onSynced: () => resolve((message) => provider.sendStateless(JSON.stringify(message))),
    })
  })
}
