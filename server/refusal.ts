// The one error for everything that is refused: a status, a code for programs, a sentence for people.

export class Refusal extends Error {
  readonly status: number
  readonly code: string
  /** The message that was refused, when it had an id. */
  readonly id: string | null
  /** Koa's word for "this text may be shown". */
  readonly expose = true

  constructor(status: number, code: string, sentence: string, id: string | null = null) {
    super(sentence)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.id = id
  }

  /** The body that the refused side gets, over HTTP and WebSocket alike. */
  toJSON() {
    return { type: 'refused', id: this.id, code: this.code, message: this.message } as const
  }
}
