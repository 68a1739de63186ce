// The error for every refused request or frame.

/** A status, a code for programs, a sentence for people. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly id: string | null
  /** Pause before a retry, ms; null when a retry is useless. */
  readonly retryAfterMs: number | null

  constructor(
    status: number,
    code: string,
    sentence: string,
    id: string | null = null,
    retryAfterMs: number | null = null,
  ) {
    // It is an answer, not a fault: floods of refused requests would be spent on capturing stacks.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(sentence)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.id = id
    this.retryAfterMs = retryAfterMs
  }

  /** The same, which names the draft. */
  about(id: string): Refusal {
    const { status, code, message, retryAfterMs } = this
    return new Refusal(status, code, message, id, retryAfterMs)
  }

  toJSON() {
    const { id, code, message, retryAfterMs } = this
    return { type: 'refused', id, code, message, ...(retryAfterMs !== null && { retryAfterMs }) } as const
  }
}

/** Answered by this process since its start, by code. */
export const refusals = new Map<string, number>()

/** Of each that is answered, whatever carries it. */
export function counted(refusal: Refusal): Refusal {
  refusals.set(refusal.code, (refusals.get(refusal.code) ?? 0) + 1)
  return refusal
}
