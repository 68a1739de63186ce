// Reading what came up as JSON, and the refusals for what is none or too much.

import type { IncomingMessage } from 'node:http'
import { Refusal } from '../refusal.ts'
import type { Timers } from '../wire/time.ts'

/** Throws a `Refusal` (400 `not-json`). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const why = String(cause).replace(/^SyntaxError: /, '')
    throw new Refusal(400, 'not-json', `The message is not JSON: ${why}.`)
  }
}

export function tooLarge(maxBytes: number, id: string | null = null): Refusal {
  const sentence = `A message may have ${maxBytes} bytes at most (limits.maxMessageBytes).`
  return new Refusal(413, 'too-large', sentence, id)
}

export interface Reading {
  readonly maxBytes: number
  /** Time in which the body has to be complete. */
  readonly bodySeconds: number
  readonly timers: Pick<Timers, 'later'>
}

/**
 * The body as text. Rejects with a `Refusal` as soon as it is known to be too large (413) or too slow (408), and keeps
 * none of it; the listener ends what is left when the answer has gone.
 */
export function readText(
  request: IncomingMessage,
  { maxBytes, bodySeconds, timers }: Reading,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stopTimer = timers.later(() => end(tooSlow(bodySeconds)), bodySeconds * 1000)

    function end(refusal?: unknown): void {
      stopTimer()
      if (refusal) {
        letGo(request.off('data', take), maxBytes)
        reject(refusal)
      } else resolve(Buffer.concat(chunks).toString('utf8'))
      chunks.length = 0
    }

    function take(chunk: Buffer): void {
      size += chunk.length
      if (size > maxBytes) end(tooLarge(maxBytes))
      else chunks.push(chunk)
    }

    request.once('end', () => end())
    request.once('error', end)
    request.once('aborted', () => end(new Refusal(400, 'aborted', 'The request ended before its body did.')))
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) end(tooLarge(maxBytes))
    else request.on('data', take)
  })
}

/** A body somewhat too large comes to its end, so that its sender gets to the answer; of more nothing is read. */
function letGo(request: IncomingMessage, mostBytes: number): void {
  let left = mostBytes
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
}

function tooSlow(seconds: number): Refusal {
  const sentence = `A request's body has to be complete within ${seconds} s (limits.bodySeconds); send it again.`
  return new Refusal(408, 'too-slow', sentence)
}
