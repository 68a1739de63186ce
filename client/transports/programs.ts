// The platform of programs and of workers without XMLHttpRequest: fetch and WebSocket.

import { createSseReader } from '../../protocol/sse-framing.ts'
import { now } from '../browser-services.ts'
import { HttpError } from './http.ts'
import type { Send } from './send.ts'
import type { Platform } from './transport.ts'

type Fetch = (address: string, request: RequestInit) => Promise<Response>

const sendBy =
  (request: Fetch): Send =>
  async (method, address, body, { signal, timeoutMs }) => {
    const response = await request(address, {
      method,
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      ...(body !== null && { headers: { 'Content-Type': 'application/json' } }),
      credentials: 'include',
    })
    return { status: response.status, text: await response.text(), receivedAt: now() }
  }

/** Passes on the events of a response; rejects with an `HttpError` if it has none, or ends early. */
type Follow = (address: string, signal: AbortSignal, onText: (text: string) => void) => Promise<void>

/** An EventSource that does not reconnect: the link does. */
export function openEventsBy(follow: Follow): Platform['openEvents'] {
  return (address) => {
    const source = new EventTarget() as EventSource
    const ending = new AbortController()
    const { signal } = ending
    const { push } = createSseReader(({ event, data }) => {
      if (!signal.aborted) source.dispatchEvent(new MessageEvent(event, { data }))
    })
    const fail = (error?: unknown) => {
      if (!signal.aborted) source.dispatchEvent(Object.assign(new Event('error'), { error }))
    }
    follow(address, signal, push).then(fail, fail)
    return Object.assign(source, { close: () => ending.abort() })
  }
}

const followBy =
  (request: Fetch): Follow =>
  async (address, signal, onText) => {
    const response = await request(address, { signal })
    const { status, body } = response
    if (status !== 200 || !body) throw new HttpError({ status, text: await response.text() })
    const texts = body.pipeThrough(new TextDecoderStream()).getReader()
    for (let part = await texts.read(); !part.done; part = await texts.read()) onText(part.value)
  }

/** Over a `fetch` of your own, such as one that adds a cookie. A WebSocket does not pass through it. */
export const programsOver = (request: Fetch): Platform => ({
  send: sendBy(request),
  openEvents: openEventsBy(followBy(request)),
  openSocket: (address) => new WebSocket(address),
  fetch: request,
})

export const programs: Platform = /* @__PURE__ */ programsOver((address, request) => fetch(address, request))
