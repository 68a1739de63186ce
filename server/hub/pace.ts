// Bounds what a client has not read yet: sockets hold seconds of data where nothing can be superseded.

const leastBytes = 16_384
const firstBytes = 65_536
const mostBytes = 4_194_304

/** How long bytes should wait in sockets, ms; and how long an answer should take, however slow the first was. */
const leastWaitMs = 250
const mostWaitMs = 750
const mostTookMs = 1500

/** Growth of a limit that was reached, and room above what was used: a link may fall to a fraction at any time. */
const growth = 1.5
const room = 1.25

/**
 * A stream's bytes under way, as the client's answers to heartbeats confirm them. Delays are compared with the
 * shortest so far, as in LEDBAT (RFC 6817). A limit that is not used decays, as in RFC 7661, to the first one.
 */
export class Pace {
  #bytes = 0
  #maxBytes = firstBytes
  #isBounded: boolean
  #shortestMs = Number.POSITIVE_INFINITY
  /** The unanswered heartbeat, and the bytes up to it; null if there is none. */
  #asked: { readonly at: number; readonly bytes: number } | null = null

  /** `answers`: whether the client will; otherwise nothing is bounded until it does, since answers are optional. */
  constructor(answers = false) {
    this.#isBounded = answers
  }

  wrote(bytes: number): void {
    this.#bytes += bytes
  }

  /** Whether to write nothing more for now. */
  get isFull(): boolean {
    return this.#isBounded && this.#bytes >= this.#maxBytes
  }

  /** Whether a heartbeat should be written now, to be answered. */
  get mustAsk(): boolean {
    return (
      this.#asked === null &&
      (this.#shortestMs === Number.POSITIVE_INFINITY ||
        this.#bytes >= Math.min(firstBytes, this.#maxBytes) / 2)
    )
  }

  /** A heartbeat was written; ms since the epoch. */
  asked(at: number): void {
    this.#asked = { at, bytes: this.#bytes }
  }

  /** The client has read what was written before the heartbeat of `at`. */
  answered(at: number, now: number): void {
    if (at !== this.#asked?.at) return
    const tookMs = now - at
    this.#shortestMs = Math.min(this.#shortestMs, tookMs)
    const waitedMs = tookMs - this.#shortestMs
    if (waitedMs > mostWaitMs || tookMs > mostTookMs)
      this.#maxBytes = Math.max(leastBytes, this.#maxBytes / 2)
    else if (!this.isFull) this.#maxBytes = Math.min(this.#maxBytes, Math.max(firstBytes, this.#bytes * room))
    else if (waitedMs < leastWaitMs) this.#maxBytes = Math.min(mostBytes, this.#maxBytes * growth)
    this.#bytes -= this.#asked.bytes
    this.#asked = null
    this.#isBounded = true
  }
}
