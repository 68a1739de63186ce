// Reading what came up as JSON, and the refusals for what is none or too much.

import type { IncomingMessage } from 'node:http'
import { Refusal } from '../refusal.ts'

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

/** The body as text. Rejects with a `Refusal` (413) as soon as it is known to be too large, and keeps none of it. */
export function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = Number(request.headers['content-length'] ?? 0) > maxBytes ? Number.POSITIVE_INFINITY : 0
    const refuse = () => {
      chunks.length = 0
      reject(tooLarge(maxBytes))
    }
    if (size > maxBytes) refuse()
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) refuse()
      else chunks.push(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.once('error', reject)
    request.once('aborted', () =>
      reject(new Refusal(400, 'aborted', 'The request ended before its body did.')),
    )
  })
}
