// The one error for everything that is refused: a status, a code for programs, a sentence for people.

export class Refusal extends Error {
  readonly status: number
  readonly code: string
  /** The message that was refused, when it had an id. */
  readonly id: string | null
  /** When to try again, ms; null when it is no use. */
  readonly retryAfterMs: number | null
  /** Koa's word for "this text may be shown". */
  readonly expose = true

  constructor(
    status: number,
    code: string,
    sentence: string,
    id: string | null = null,
    retryAfterMs: number | null = null,
  ) {
    super(sentence)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.id = id
    this.retryAfterMs = retryAfterMs
  }

  /** The body that the refused side gets, over HTTP and WebSocket alike. */
  toJSON() {
    const { id, code, message, retryAfterMs } = this
    return { type: 'refused', id, code, message, ...(retryAfterMs !== null && { retryAfterMs }) } as const
  }
}
