// Bodies of requests, within limits of size and time, and no longer than the session of their sender.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Refusal } from '../refusal.ts'
import { type Grant, mustLast } from '../security/access.ts'
import type { Timers } from '../wire/time.ts'
import type { TransportLimits } from './transport.ts'

interface BodiesParts {
  readonly limits: Pick<TransportLimits, 'maxMessageBytes' | 'bodySeconds'>
  readonly timers: Timers
}

/** A request; or a stream of HTTP/2, which does not keep its headers. */
export type Body = Readable & { readonly headers?: IncomingHttpHeaders }

export class Bodies {
  readonly #parts: BodiesParts

  constructor(parts: BodiesParts) {
    this.#parts = parts
  }

  /**
   * Rejects with a `Refusal` as soon as the body is too large (413), too slow (408) or longer than the session (401), and
   * discards it; the listener handles the rest.
   */
  async text(request: Body, grant: Grant, mostBytes?: number): Promise<string> {
    return (await this.#read(request, grant, mostBytes)).toString('utf8')
  }

  /** As `text`. Rejects a body that is not UTF-8 with a `Refusal` (400 `bad-shape`); leaves out a byte order mark. */
  async strictText(request: Body, grant: Grant): Promise<string> {
    const bytes = await this.#read(request, grant)
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      throw new Refusal(400, 'bad-shape', 'The text is not in UTF-8; convert it first.')
    }
  }

  async #read(request: Body, grant: Grant, mostBytes = this.#parts.limits.maxMessageBytes): Promise<Buffer> {
    const { timers } = this.#parts
    const bytes = await this.#collect(request, mostBytes)
    mustLast(grant, timers.now())
    return bytes
  }

  #collect(request: Body, mostBytes: number): Promise<Buffer> {
    const {
      timers,
      limits: { bodySeconds },
    } = this.#parts
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      const stopTimer = timers.later(() => {
        const sentence = `A request's body has to be complete within ${bodySeconds} s (limits.bodySeconds); send it again.`
        end(new Refusal(408, 'too-slow', sentence))
      }, bodySeconds * 1000)

      function end(refusal?: unknown): void {
        stopTimer()
        if (refusal) {
          discard(request.off('data', take), mostBytes)
          reject(refusal)
        } else resolve(Buffer.concat(chunks))
        chunks.length = 0
      }

      function take(chunk: Buffer): void {
        size += chunk.length
        if (size > mostBytes) end(tooLarge(mostBytes))
        else chunks.push(chunk)
      }

      request.once('end', () => end())
      request.once('error', end)
      request.once('aborted', () => end(aborted()))
      if (Number(request.headers?.['content-length'] ?? 0) > mostBytes) end(tooLarge(mostBytes))
      else request.on('data', take)
    })
  }
}

/** Reads up to `mostBytes` more, so that the sender of a slightly larger body sees the response. */
function discard(request: Body, mostBytes: number): void {
  let left = mostBytes
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
}

export function tooLarge(maxBytes: number, id: string | null = null): Refusal {
  const sentence = `A message may have ${maxBytes} bytes at most (limits.maxMessageBytes).`
  return new Refusal(413, 'too-large', sentence, id)
}

export function aborted(): Refusal {
  return new Refusal(400, 'aborted', 'The request ended before its body did.')
}
