// Requests through axios: error mapping, the POST uplink, clock requests.

import axios, { type AxiosInstance } from 'axios'
import type { AwarenessReport, Draft, Stored } from '../../server/wire/messages.ts'
import {
  BusyError,
  browser,
  type Closing,
  lost,
  now,
  type Opening,
  type OpenTransport,
  type Platform,
  RefusedError,
} from './transport.ts'

export function createHttp(
  origin: string,
  signal: AbortSignal,
  timeoutMs: number,
  { adapter } = browser,
): AxiosInstance {
  return axios.create({
    baseURL: origin,
    adapter,
    timeout: timeoutMs,
    signal,
    withCredentials: true,
    // Otherwise axios awaits the cookie store before each request; the server checks the Origin
    // instead.
    xsrfCookieName: '',
  })
}

const uplinkTimeoutMs = 20_000

const json = {
  headers: { 'Content-Type': 'application/json' },
  // Skips axios's content detection.
  transformRequest: (data?: object) => (data ? JSON.stringify(data) : ''),
}

/** One POST per message, one at a time to keep their order. */
export function createPostUplink(
  { origin, query, onFrame }: Opening,
  platform?: Platform,
): Required<OpenTransport> {
  const ending = new AbortController()
  const messages = `/api/messages?${pick(query, 'key')}`
  const heartbeat = `/api/heartbeat?${pick(query, 'window', 'key')}`
  const client = createHttp(origin, ending.signal, uplinkTimeoutMs, platform)
  const sendAwareness = createAwarenessUplink(client, query, ending.signal)
  let last: Promise<unknown> = Promise.resolve()
  let isIdle = true
  let busy: BusyError | null = null

  async function post(draft: Draft): Promise<Stored> {
    // Later drafts must not overtake a delayed one.
    if (busy) throw busy
    try {
      const answer = await client.post<Stored>(messages, draft, json)
      return answer.data
    } catch (error) {
      const reason = asSendingError(error)
      if (reason instanceof BusyError) busy = reason
      throw reason
    }
  }

  return {
    send(draft) {
      // When idle, the request leaves synchronously.
      const sent = isIdle ? post(draft) : last.then(() => post(draft))
      isIdle = false
      const settled = sent
        .catch(() => null)
        .then(() => {
          if (last !== settled) return
          isIdle = true
          busy = null
        })
      last = settled
      return sent
    },
    beat(windows) {
      client.post(heartbeat, windows && { windows }, json).catch(() => undefined)
    },
    askClock: () => askClock(client, onFrame),
    sendAwareness,
    close: () => ending.abort(),
  }
}

const awarenessRetryMs = 1000

/** One POST at a time; meanwhile only the newest report of each window waits. */
function createAwarenessUplink(client: AxiosInstance, query: URLSearchParams, ending: AbortSignal) {
  const path = `/api/awareness?${pick(query, 'window', 'key', 'opening')}`
  const waiting = new Map<string, AwarenessReport>()
  let isBusy = false

  async function sendNext(): Promise<void> {
    const [next] = waiting
    isBusy = next !== undefined
    if (!next) return
    const [window, report] = next
    waiting.delete(window)
    try {
      await client.post(path, report, json)
    } catch (error) {
      if (ending.aborted || asSendingError(error) instanceof RefusedError) return void sendNext()
      if (!waiting.has(window)) waiting.set(window, report)
      await new Promise((resolve) => setTimeout(resolve, awarenessRetryMs))
    }
    if (!ending.aborted) await sendNext()
  }

  return (report: AwarenessReport) => {
    waiting.set(report.window ?? '', report)
    if (!isBusy) void sendNext()
  }
}

/** Parameters of the stream that a separate request repeats. */
export function pick(query: URLSearchParams, ...names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => names.includes(name)))
}

/** `receivedAt`: before the JSON is parsed; ms since the epoch. */
export async function getStamped<Answer>(client: AxiosInstance, path: string) {
  let receivedAt = 0
  const { data } = await client.get<string>(path, {
    transformResponse(text: string) {
      receivedAt = now()
      return text
    },
  })
  return { answer: JSON.parse(data) as Answer, receivedAt }
}

/** The answer arrives as a `clock` frame; failures are silent. */
export function askClock(client: AxiosInstance, onFrame: Opening['onFrame']): void {
  const sent = now()
  getStamped<{ readonly at: number }>(client, '/api/clock').then(
    ({ answer: { at }, receivedAt }) => onFrame({ type: 'clock', sent, received: at, at }, receivedAt),
    () => undefined,
  )
}

export function asClosing(error: unknown): Closing {
  const answer = errorResponseIn(error)
  if (!answer) return lost
  const { status, code, sentence, retryAfterMs } = answer
  if (code === 'draining') return { code, sentence, retryAfterMs }
  if (status === 401)
    return { code: code === 'session-expired' ? 'expired' : 'uninvited', sentence, retryAfterMs }
  const isFinal = status >= 400 && status < 500 && !transientStatuses.has(status)
  return { code: isFinal ? 'refused' : 'lost', sentence, retryAfterMs }
}

/** Retryable statuses (RFC 9110, 15.5.9; RFC 8470; RFC 6585). */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** For a busy server that names no delay. */
const usualPauseMs = 500

function asSendingError(error: unknown): unknown {
  const answer = errorResponseIn(error)
  if (!answer || answer.status === 401) return error
  const { status, code, sentence, retryAfterMs } = answer
  // A deleted document (410) may be restored.
  if (transientStatuses.has(status) || status === 410 || status === 503)
    return new BusyError(sentence, retryAfterMs ?? usualPauseMs)
  return status >= 400 && status < 500 ? new RefusedError(code, sentence) : error
}

/** Null without a response. */
function errorResponseIn(error: unknown) {
  if (!axios.isAxiosError(error) || !error.response) return null
  const { status, data } = error.response
  const { code, message, retryAfterMs } = typeof data === 'string' ? parsed(data) : (data ?? {})
  return {
    status,
    code: code ?? String(status),
    sentence: message ?? `The server answered ${status}.`,
    retryAfterMs: retryAfterMs ?? null,
  }
}

function parsed(text: string): { code?: string; message?: string; retryAfterMs?: number } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
