// Engine.IO with its defaults: starts with polling, and is open once upgraded.

import { attach, type Socket as ServerSocket } from 'engine.io'
import { Socket } from 'engine.io-client'
import { acceptedText, type Host, type Page, type Started } from '../adapter.ts'

/** A loop over the sockets, since it has no broadcast. */
export function start({ servers, versionOf }: Host): Started {
  const sockets = new Set<ServerSocket>()
  attach(servers['1.1'], {}).on('connection', (socket: ServerSocket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('message', (draft) => {
      const message = acceptedText(String(draft))
      for (const client of sockets) client.send(message)
    })
  })
  return {
    mode: 'websocket/1.1',
    version: `${versionOf('engine.io')}, client ${versionOf('engine.io-client')}`,
  }
}

export async function open({ address, receive }: Page) {
  const socket = new Socket(address)
  socket.on('message', receive)
  await new Promise<void>((resolve) => socket.on('upgrade', () => resolve()))
  return (message: object) => socket.send(JSON.stringify(message))
}
