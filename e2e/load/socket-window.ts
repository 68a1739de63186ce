// WebSocket windows: Crosswind's over either HTTP version, and those of the peers. RFC 6455, RFC 8441.

import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { Draft } from '../../server/wire/envelope.ts'
import { connectTls, readHead } from './tls-line.ts'
import { maskedText, upgradeRequest } from './websocket-bytes.ts'
import type { LoadWindow, OpenWindow, WindowOpening } from './window.ts'

export const openSocketWindow: OpenWindow = async (opening) => {
  const path = `/api/socket?${opening.query}`
  const socket = opening.browser.session ? await extendedConnect(opening, path) : await upgrade(opening, path)
  return asWindow(socket, opening, (draft) => JSON.stringify({ type: 'publish', message: draft }))
}

/** A bare relay: whatever text comes up goes down. */
export const openWsWindow: OpenWindow = async (opening) =>
  asWindow(await upgrade(opening, '/'), opening, (draft) => JSON.stringify(draft))

/** Socket.IO 5 over Engine.IO 4 (socket.io/docs/v4/socket-io-protocol): `40` joins, `42[…]` is an event, `2` a ping, `3` its answer. */
export const openSocketIoWindow: OpenWindow = async (opening) => {
  const socket = await upgrade(opening, '/socket.io/?EIO=4&transport=websocket')
  socket.write(maskedText('40'))
  await untilJoined(socket)
  const window = asWindow(
    socket,
    opening,
    (draft) => `42${JSON.stringify(['message', JSON.stringify(draft)])}`,
  )
  // The server closes a client that leaves a ping unanswered; an answer that nobody asked for does as well.
  const pongs = setInterval(() => socket.write(maskedText('3')), 15_000)
  return {
    ...window,
    close() {
      clearInterval(pongs)
      window.close()
    },
  }
}

async function upgrade({ browser }: WindowOpening, path: string): Promise<Duplex> {
  const socket = await connectTls(browser.origin, 'http/1.1')
  socket.write(upgradeRequest(path, new URL(browser.origin).host))
  const { status, rest } = await readHead(socket)
  if (status !== 101) throw new Error(`${path} answered ${status}`)
  if (rest.length > 0) socket.unshift(rest)
  return socket
}

async function extendedConnect({ browser }: WindowOpening, path: string): Promise<Duplex> {
  const stream = browser.session?.request(
    { ':method': 'CONNECT', ':protocol': 'websocket', ':path': path, 'sec-websocket-version': '13' },
    { endStream: false },
  )
  if (!stream) throw new Error('An extended CONNECT needs HTTP/2.')
  const [{ ':status': status }] = await once(stream, 'response')
  if (status !== 200) throw new Error(`${path} answered ${status}`)
  return stream
}

function asWindow(
  socket: Duplex,
  opening: WindowOpening,
  textOf: (draft: Draft<'edit'>) => string,
): LoadWindow {
  let isClosed = false
  socket.on('data', opening.onBytes).on('error', () => undefined)
  socket.once('close', () => !isClosed && opening.onFailure('its WebSocket closed'))
  socket.resume()
  return {
    publish: (draft) => void socket.write(maskedText(textOf(draft))),
    close() {
      isClosed = true
      socket.destroy()
    },
  }
}

/** The server's `40{"sid":…}`: before it this client gets no events. */
function untilJoined(socket: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onClose = () => reject(new Error('Socket.IO closed the connection before it let this client in.'))
    const onBytes = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (!text.includes('40{"sid"')) return
      socket.off('data', onBytes).off('close', onClose).pause()
      resolve()
    }
    socket.on('data', onBytes).once('close', onClose).resume()
  })
}
