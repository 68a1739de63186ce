// Requests through axios on XHR, and what their failures mean to a window.

import axios, { type AxiosInstance } from 'axios'
import { BusyError, type Closing, lost, RefusedError } from './transport.ts'

/** `credentials` go to both of the server's ports: which of them a page came from makes no difference. */
export function createHttp(origin: string, signal: AbortSignal, timeoutMs: number): AxiosInstance {
  return axios.create({
    baseURL: origin,
    adapter: 'xhr',
    timeout: timeoutMs,
    signal,
    withCredentials: true,
    // axios would wait for the cookie store before each request; the server checks the Origin instead.
    xsrfCookieName: '',
  })
}

/** How long to wait where the server is busy and does not say for how long. */
const usualPauseMs = 500

interface Answered {
  readonly status: number
  readonly code: string
  readonly sentence: string
  readonly retryAfterMs: number | null
}

/** What the server answered instead; null when there was no answer. */
function answerIn(error: unknown): Answered | null {
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

/** Statuses that ask for another try: too slow, too early, too many (RFC 9110, 15.5.9; RFC 8470; RFC 6585). */
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/** A 4xx is final, and so is nothing else: a `RefusedError`, a `BusyError`, or what it was. */
export function asSendingError(error: unknown): unknown {
  const answer = answerIn(error)
  if (!answer || answer.status === 401) return error
  const { status, code, sentence, retryAfterMs } = answer
  if (passing.has(status) || status === 503) return new BusyError(sentence, retryAfterMs ?? usualPauseMs)
  return status >= 400 && status < 500 ? new RefusedError(code, sentence) : error
}

/** Why a stream of answers ended. */
export function asClosing(error: unknown): Closing {
  const answer = answerIn(error)
  if (!answer) return lost
  const { status, code, sentence, retryAfterMs } = answer
  if (code === 'draining') return { code, sentence, retryAfterMs }
  if (status === 401)
    return { code: code === 'session-expired' ? 'expired' : 'uninvited', sentence, retryAfterMs }
  const isFinal = status >= 400 && status < 500 && !passing.has(status)
  return { code: isFinal ? 'refused' : 'lost', sentence, retryAfterMs }
}
