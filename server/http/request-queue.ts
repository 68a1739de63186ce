// Starts one connection's HTTP/1.1 requests one at a time, each after the response before it.

import type { ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'

/** Maximum number of queued requests. Browsers do not pipeline. */
export const maxQueued = { perConnection: 100, total: 10_000 }

/** Counts the queued requests of all connections. */
export interface QueueTotal {
  requests: number
}

/**
 * Serializes pipelined requests (RFC 9112, section 9.3.2): otherwise responses would accumulate
 * behind unread ones. With too many queued on one connection, no more are read, and it is closed
 * after them; if cut at once, the client would reconnect, which costs more.
 */
export class RequestQueue {
  readonly #secure: Pick<TLSSocket, 'on' | 'pause' | 'end'> | null
  readonly #total: QueueTotal
  readonly #waiting: (() => void)[] = []
  #isBusy = false
  /** No more requests are read, and the connection ends after these. */
  #isClosing = false

  constructor(secure: Pick<TLSSocket, 'on' | 'pause' | 'end'> | null, total: QueueTotal) {
    this.#secure = secure
    this.#total = total
  }

  /** Whether a request is being answered. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Calls `start` when earlier responses have ended. Returns false if too many are queued in total. */
  run(response: Pick<ServerResponse, 'once'>, start: () => void): boolean {
    const begin = () => {
      response.once('close', () => this.#beginNext())
      start()
    }
    if (!this.#isBusy) {
      this.#isBusy = true
      begin()
      return true
    }
    if (this.#total.requests >= maxQueued.total) return false
    if (this.#waiting.length >= maxQueued.perConnection) this.#stopReading()
    this.#total.requests += 1
    this.#waiting.push(begin)
    return true
  }

  /** Drops the queued requests. */
  close(): void {
    this.#total.requests -= this.#waiting.length
    this.#waiting.length = 0
  }

  #beginNext(): void {
    const next = this.#waiting.shift()
    if (next) {
      this.#total.requests -= 1
      // In a new turn: pipelining must not block other connections.
      setImmediate(next)
      return
    }
    this.#isBusy = false
    if (this.#isClosing) this.#secure?.end()
  }

  /**
   * Node resumes the socket for each request's body. Data decrypted in the same turn is still parsed:
   * some 64 KiB.
   */
  #stopReading(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const secure = this.#secure
    secure?.on('resume', () => secure.pause()).pause()
  }
}
