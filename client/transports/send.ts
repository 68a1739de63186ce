// One request and its response, by XMLHttpRequest unless the application sends otherwise.

import { now } from '../browser-services.ts'

export interface Reply {
  readonly status: number
  readonly text: string
  /** Before the text is parsed; ms since the epoch. */
  readonly receivedAt: number
}

/**
 * `body`: JSON. Sends the credentials of the address's origin. Rejects without a response: the
 * network failed, it took too long, or `signal` was aborted.
 */
export type Send = (
  method: 'GET' | 'POST',
  address: string,
  body: string | null,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
) => Promise<Reply>

export const sendByXhr: Send = (method, address, body, { signal, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const abort = () => request.abort()
    const fail = () => reject(new Error(`There is no response to ${method}.`))
    request.open(method, address)
    request.withCredentials = true
    request.timeout = timeoutMs
    if (body !== null) request.setRequestHeader('Content-Type', 'application/json')
    request.onload = () => resolve({ status: request.status, text: request.responseText, receivedAt: now() })
    request.onerror = request.ontimeout = request.onabort = fail
    request.onloadend = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort)
    if (signal.aborted) fail()
    else request.send(body)
  })
