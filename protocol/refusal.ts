// The error for a refused request, frame or draft: a code for programs and a sentence for people.

import type { Draft } from './bodies.ts'

/** Each code of PROTOCOL.md, "Refusals", with its HTTP status. */
export const statuses = {
  'not-json': 400,
  'bad-shape': 400,
  'bad-update': 400,
  'bad-query': 400,
  'bad-channel': 400,
  'bad-frame': 400,
  'bad-request': 400,
  aborted: 400,
  'no-session': 401,
  'session-expired': 401,
  'other-user': 401,
  'invitation-invalid': 401,
  'invitation-expired': 401,
  'foreign-host': 403,
  'foreign-origin': 403,
  'not-your-name': 403,
  'reserved-name': 403,
  'not-invited-there': 403,
  'read-only-invitation': 403,
  'not-your-client': 403,
  'not-your-message': 403,
  'read-only-channel': 403,
  'too-many-channels': 403,
  declined: 403,
  'not-found': 404,
  // 501 for CONNECT.
  'wrong-method': 405,
  'not-acceptable': 406,
  'too-slow': 408,
  silent: 408,
  'open-access': 409,
  'other-session': 409,
  'no-stream': 409,
  'id-taken': 409,
  'shared-document': 409,
  'update-gap': 409,
  'history-erased': 410,
  'document-deleted': 410,
  'document-changed': 412,
  'too-large': 413,
  'document-full': 413,
  'wrong-type': 415,
  'too-costly': 422,
  'upgrade-required': 426,
  'too-fast': 429,
  'headers-too-large': 431,
  internal: 500,
  draining: 503,
  'too-many-windows': 503,
  'too-many-connections': 503,
  'too-much-begun': 503,
  'application-failed': 503,
  'log-unavailable': 503,
  'log-full': 503,
} as const

export type RefusalCode = keyof typeof statuses

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  /** Id of the draft, if known. */
  readonly id: string | null
  /** Pause before a retry, ms; null when a retry is useless. */
  readonly retryAfterMs: number | null

  constructor(
    code: RefusalCode,
    sentence: string,
    id: string | null = null,
    retryAfterMs: number | null = null,
    cause?: unknown,
  ) {
    super(sentence, { cause })
    this.code = code
    this.id = id
    this.retryAfterMs = retryAfterMs
  }

  get status(): number {
    return statuses[this.code]
  }

  /** The same refusal with the draft's id. */
  about(id: string): Refusal {
    const { code, message, retryAfterMs, cause } = this
    return new Refusal(code, message, id, retryAfterMs, cause)
  }

  toJSON() {
    const { id, code, message, retryAfterMs } = this
    return { type: 'refused', id, code, message, ...(retryAfterMs !== null && { retryAfterMs }) } as const
  }
}

export function isRefusal(error: unknown, code: RefusalCode): error is Refusal {
  return error instanceof Refusal && error.code === code
}

export function idTaken({ id, from, channel }: Pick<Draft, 'id' | 'from' | 'channel'>): Refusal {
  const sentence = `Sender "${from}" has already used id "${id}" on channel "${channel}" for another message. Use a new id.`
  return new Refusal('id-taken', sentence, id)
}
