// Socket.IO with its defaults: starts with polling, and is open once upgraded.

import { Server } from 'socket.io'
import { io } from 'socket.io-client'
import { accepted, type Host, type Page, type Started } from '../adapter.ts'

export function start({ servers, versionOf }: Host): Started {
  const sockets = new Server(servers['1.1'])
  sockets.on('connection', (socket) => {
    socket.on('message', (message: object) => sockets.emit('message', accepted(message)))
  })
  return {
    mode: 'websocket/1.1',
    version: `${versionOf('socket.io')}, client ${versionOf('socket.io-client')}`,
  }
}

export async function open({ address, receive }: Page) {
  const socket = io(address)
  socket.on('message', receive)
  const connected = new Promise<void>((resolve) => socket.on('connect', resolve))
  await new Promise<void>((resolve) => {
    socket.io.on('open', () => socket.io.engine.on('upgrade', () => resolve()))
  })
  await connected
  return (message: object) => socket.emit('message', message)
}
