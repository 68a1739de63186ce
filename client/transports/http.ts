// Requests: error mapping, the POST uplink, clock requests.

import type { Draft, Stored } from '../../protocol/messages.ts'
import { now, pause } from '../browser-services.ts'
import { bytesOf } from '../outbox.ts'
import type { Reply, Send } from './send.ts'
import {
  BusyError,
  browser,
  type Closing,
  lost,
  type Opening,
  type OpenTransport,
  type Platform,
  RefusedError,
} from './transport.ts'

/** An unsuccessful response, or one that is not JSON: `code` and the sentence are the server's. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: string
  readonly retryAfterMs: number | null

  constructor({ status, text }: Pick<Reply, 'status' | 'text'>) {
    const { code, message, retryAfterMs }: Partial<Refused> = Object(jsonIn(text))
    super(message ?? `Another program answered, with status ${status}.`)
    this.status = status
    this.code = code ?? String(status)
    this.retryAfterMs = retryAfterMs ?? null
  }
}

interface Refused {
  readonly code: string
  readonly message: string
  readonly retryAfterMs: number
}

/** Null for an empty text; undefined if it is not JSON. */
function jsonIn(text: string) {
  try {
    return JSON.parse(text || 'null')
  } catch {
    return undefined
  }
}

/** Requests below one address. Each rejects with an `HttpError`, or with another error if no answer comes. */
export class Http {
  readonly #base: string
  readonly #limits: Parameters<Send>[3]
  readonly #send: Send

  constructor(
    base: string,
    signal: AbortSignal,
    timeoutMs: number,
    { send }: { readonly send: Send } = browser,
  ) {
    this.#base = base
    this.#limits = { signal, timeoutMs }
    this.#send = send
  }

  /** `receivedAt`: before the JSON is parsed; ms since the epoch. */
  get<Answer>(path: string): Promise<{ readonly answer: Answer; readonly receivedAt: number }> {
    return this.#ask('GET', path)
  }

  /** Resolves to null for an answer without content (204). */
  async post<Answer>(path: string, content?: object): Promise<Answer | null> {
    return (await this.#ask<Answer | null>('POST', path, content)).answer
  }

  async #ask<Answer>(method: 'GET' | 'POST', path: string, content?: object) {
    const body = content ? JSON.stringify(content) : null
    const reply = await this.#send(method, `${this.#base}${path}`, body, this.#limits)
    const { status, text, receivedAt } = reply
    const answer: Answer = jsonIn(text)
    // Anything else is of another program, or cut off.
    if (status === 204 || (answer && status < 300)) return { answer, receivedAt }
    throw new HttpError(reply)
  }
}

export const usualTimeoutMs = 20_000

/** One POST per message: stored ones one at a time to keep their order, and so volatile ones. */
export function createPostUplink(
  { base, query }: Opening,
  platform?: { readonly send: Send },
): OpenTransport {
  const ending = new AbortController()
  const http = new Http(base, ending.signal, usualTimeoutMs, platform)
  // The welcome adds the user.
  const ask = <Answer>(path: string, content: object | undefined, ...names: readonly string[]) =>
    http.post<Answer>(`/${path}?${pick(query, ...names)}`, content)
  const beat = createReports(ending.signal)
  const show = createReports(ending.signal)
  /** The newest sending, of stored messages and of volatile ones. */
  const last: { stored?: Promise<Stored> | undefined; volatile?: Promise<Stored> | undefined } = {}

  async function post(draft: Draft, before: Promise<Stored> | undefined): Promise<Stored> {
    try {
      // When idle, the request leaves synchronously.
      if (before) await before.catch(throwIfBusy)
      return (await ask<Stored>('messages', draft)) as Stored
    } catch (error) {
      throw asSendingError(error)
    }
  }

  return {
    send(draft) {
      const order = draft.volatile ? 'volatile' : 'stored'
      const sent = post(draft, last[order])
      const free = () => {
        if (last[order] === sent) last[order] = undefined
      }
      last[order] = sent
      sent.then(free, free)
      return sent
    },
    // A report of windows must not replace an answer.
    beat: (given) => beat(given.at ? 'answer' : 'windows', () => ask('heartbeat', given, 'window')),
    sendAwareness: (shown) =>
      show(`${shown.window} ${shown.channel}`, () => ask('awareness', shown, 'window', 'opening')),
    close: () => ending.abort(),
  }
}

/** Maximum size of all unfinished bodies when the page ends, in bytes (Fetch, 4.5). */
const maxLastBytes = 65_536

/**
 * For a page that is ending: sends all unanswered drafts in one request, which keeps their order, up to
 * the first that does not fit. Drafts that were stored already are not stored again. `token`: of a client that has
 * no ticket yet (RFC 6750).
 */
export function sendLast(
  base: string,
  proof: Iterable<[name: string, value: string]>,
  drafts: readonly Draft[],
  platform?: Pick<Platform, 'fetch'>,
  token?: string | null,
): void {
  let lines = ''
  let bytes = 0
  for (const draft of drafts) {
    // Including its line end.
    bytes += bytesOf(draft) + 1
    if (bytes > maxLastBytes) break
    lines += `${JSON.stringify(draft)}\n`
  }
  const address = `${base}/messages?${pick(proof)}`
  if (lines !== '') postLast(address, lines, platform, token)
}

/** Outlives the page. */
export function postLast(
  address: string,
  lines: string | null,
  platform: Pick<Platform, 'fetch'> = browser,
  token?: string | null,
): void {
  const headers: Record<string, string> = { 'Content-Type': 'application/x-ndjson' }
  if (token) headers.Authorization = `Bearer ${token}`
  const content = lines === null ? {} : { body: lines, headers }
  platform.fetch(address, { method: 'POST', keepalive: true, ...content }).catch(() => undefined)
}

/** Later drafts must not overtake a delayed one. */
function throwIfBusy(error: unknown): void {
  if (error instanceof BusyError) throw error
}

const reportRetryMs = 1000

/**
 * Sends reports, each of which holds until the next at its `place`. One POST at a time, so that no
 * older report arrives last; meanwhile only the newest of each place waits. Repeats a POST until it is
 * answered.
 */
function createReports(ending: AbortSignal) {
  const waiting = new Map<string, () => Promise<unknown>>()
  let isBusy = false

  async function sendAll(): Promise<void> {
    isBusy = true
    // Includes reports that are added meanwhile.
    for (const [place, send] of waiting) {
      waiting.delete(place)
      try {
        await send()
      } catch (error) {
        if (ending.aborted) return
        const reason = asSendingError(error)
        if (reason instanceof RefusedError) continue
        if (!waiting.has(place)) waiting.set(place, send)
        await pause(reason instanceof BusyError ? reason.retryAfterMs : reportRetryMs, ending)
      }
    }
    isBusy = false
  }

  return (place: string, send: () => Promise<unknown>) => {
    waiting.set(place, send)
    if (!isBusy) void sendAll()
  }
}

/**
 * Tells the server that the client of this opening has left. A push stream's end tells as much, unless the
 * client leaves for good; a polling client would count as present until the silence limit.
 */
export function postLeave({ base, mode, query }: Opening, platform: Platform, isForGood = false): void {
  if (!isForGood && mode.isPush) return
  const given = pick(query, 'window', 'opening')
  if (isForGood) given.set('gone', '')
  postLast(`${base}/leave?${given}`, null, platform)
}

/** Parameters of the stream that a separate request repeats, and always those that say whose it is. */
export function pick(
  query: Iterable<[name: string, value: string]>,
  ...names: readonly string[]
): URLSearchParams {
  const picked = ['key', 'ticket', 'user', ...names]
  return new URLSearchParams([...query].filter(([name]) => picked.includes(name)))
}

/**
 * Sends a clock request, where the transport has nothing quicker. The answer arrives as a `clock`
 * frame; failures are silent.
 */
export function askClock(
  { base, query, onFrame }: Pick<Opening, 'base' | 'query' | 'onFrame'>,
  platform?: { readonly send: Send },
): void {
  const sent = now()
  const http = new Http(base, new AbortController().signal, usualTimeoutMs, platform)
  http.get<{ readonly at: number }>(`/clock?${pick(query)}`).then(
    ({ answer: { at }, receivedAt }) => onFrame({ type: 'clock', sent, received: at, at }, receivedAt),
    () => undefined,
  )
}

/** Derives a closing from an `HttpError`, or another error with a `status`. */
export function asClosing(error: unknown): Closing {
  const { status, code, message: sentence = '', retryAfterMs = null }: Partial<HttpError> = Object(error)
  if (!status) return lost
  const closing = (code: Closing['code']) => ({ code, sentence, retryAfterMs })
  if (code === 'draining') return closing(code)
  if (status === 401) return closing(code === 'session-expired' ? 'expired' : 'uninvited')
  return closing(isFinal(status) ? 'refused' : 'lost')
}

/** Retryable statuses (RFC 9110, 15.5.9; RFC 8470; RFC 6585). */
const transientStatuses: readonly number[] = [408, 425, 429]

const isFinal = (status: number) => status >= 400 && status < 500 && !transientStatuses.includes(status)

/** For a busy server that names no delay. */
const usualPauseMs = 500

function asSendingError(error: unknown): unknown {
  if (!(error instanceof HttpError) || error.status === 401) return error
  const { status, code, message: sentence, retryAfterMs } = error
  // A deleted document (410) may be restored.
  if (transientStatuses.includes(status) || status === 410 || status === 503)
    return new BusyError(sentence, retryAfterMs ?? usualPauseMs)
  return isFinal(status) ? new RefusedError(code, sentence) : error
}
