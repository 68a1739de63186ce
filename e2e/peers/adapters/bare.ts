// Event streams with POST, or a WebSocket, and nothing else: relays each message to all windows.

import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebSocketServer } from 'ws'
import { modeNamed } from '../../../client/wire.ts'
import { acceptedText, type Host, type Page, type Started } from '../adapter.ts'
import { addedMsOf, bareModes, faultOf } from '../peers.ts'
import { pathOf, whenRead } from '../serving.ts'

export function start({ servers, fault }: Host): Started {
  // The server's channels, for the lab's stamps.
  const [arrived, admitted, committing, told] = ['arrived', 'admitted', 'committing', 'told'].map((name) =>
    channel(`crosswind:${name}`),
  )
  const streams = new Set<ServerResponse>()
  const sockets = new WebSocketServer({ noServer: true })
  const spoil = createFault(fault)

  /** `source` is the connection that it came from. */
  function relay(draft: string, source: object): void {
    const [, id = ''] = /"id":"([^"]+)"/.exec(draft) ?? []
    admitted?.publish({ id, source })
    const message = acceptedText(draft)
    spoil(id, () => send(message, id))
  }

  function send(message: string, id: string): void {
    committing?.publish([{ draft: { id } }])
    for (const stream of streams) stream.write(`data: ${message}\n\n`)
    for (const socket of sockets.clients) socket.send(message)
    told?.publish([{ draft: { id } }])
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    arrived?.publish(request)
    const path = pathOf(request)
    if (path === '/stream') listen(response)
    else if (path === '/messages') receive(request, response)
    else response.writeHead(404).end()
  }

  function listen(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
    response.flushHeaders()
    streams.add(response)
    response.on('close', () => streams.delete(response))
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    whenRead(request, (draft) => {
      relay(draft, request)
      response.end('{}')
    })
  }

  for (const server of Object.values(servers)) {
    server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) =>
        client.on('message', (data) => {
          arrived?.publish(client)
          relay(String(data), client)
        }),
      )
    })
  }
  return { mode: bareModes, answer }
}

/** Runs `send` as often and as late as the fault requires. */
function createFault(fault: string): (id: string, send: () => void) => void {
  const addedMs = addedMsOf(fault)
  let held: (() => void) | null = null
  return (id, send) => {
    if (fault === '') return send()
    if (fault !== 'faults') return runAt(performance.now() + addedMs, send)
    const doing = faultOf(id)
    if (doing === 'reordered') {
      held = send
      return
    }
    if (doing !== 'lost') send()
    if (doing === 'duplicated') send()
    held?.()
    held = null
  }
}

/**
 * Timers are late by up to a millisecond, so the last one is awaited in turns of the event loop.
 */
function runAt(at: number, run: () => void): void {
  const restMs = at - performance.now()
  if (restMs <= 0) run()
  else if (restMs > 2) setTimeout(runAt, restMs - 2, at, run)
  else setImmediate(runAt, at, run)
}

export const open = (page: Page) =>
  modeNamed(page.mode)?.uplink === 'socket' ? overWebSocket(page) : overEventSource(page)

async function overWebSocket({ address, receive }: Page) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/socket`)
  socket.onmessage = ({ data }) => receive(data)
  await new Promise((resolve) => {
    socket.onopen = resolve
  })
  return (message: object) => socket.send(JSON.stringify(message))
}

async function overEventSource({ address, receive }: Page) {
  const source = new EventSource(`${address}/stream`)
  source.onmessage = ({ data }) => receive(data)
  // Chromium's back/forward cache would keep the stream, one of six connections per host over
  // HTTP/1.1.
  addEventListener('pagehide', () => source.close())
  await new Promise((resolve) => {
    source.onopen = resolve
  })
  return (message: object) => {
    const request = new XMLHttpRequest()
    request.open('POST', `${address}/messages`)
    request.setRequestHeader('Content-Type', 'application/json')
    request.send(JSON.stringify(message))
  }
}
