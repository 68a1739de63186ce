// Request bodies: limited in size, in time, by the budget, and by their sender's session.

import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import { upsert } from '../../protocol/upsert.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { costOfRefusal, type RateLimit } from '../hub/rate-limit.ts'
import type { AnyRequest, Grant } from '../security/grants.ts'
import { type Budget, chunkBytes, maxUnreadBytes } from './budget.ts'

export type TransportLimits = Pick<
  EngineSettings['limits'],
  'maxMessageBytes' | 'channelsPerWindow' | 'bodySeconds' | 'stateBytes'
>

interface BodyReaderParts {
  readonly limits: Pick<TransportLimits, 'maxMessageBytes' | 'bodySeconds'>
  readonly timers: Timers
  readonly budget: Budget
  readonly penalties: RateLimit
}

/** Limit for a client that may only read. */
export const maxReadOnlyBytes = 4096

export function maxBytesFor(grant: Grant, { maxMessageBytes }: BodyReaderParts['limits']): number {
  const usual = isReader(grant) ? maxReadOnlyBytes : maxMessageBytes
  return Math.min(grant.maxMessageBytes ?? usual, maxMessageBytes)
}

const isReader = ({ write }: Grant) => write.length === 0

/** Uses the stream over HTTP/2: Node's request would read it and emit each chunk again. */
export const bodyOf = (request: AnyRequest) => ('stream' in request ? request.stream : request)

/**
 * Large bodies read at once per connection; more wait in their flow-control windows (RFC 9113,
 * section 5.2).
 */
const maxAtOnce = 4

interface Reading {
  count: number
  readonly waiting: Set<() => void>
}

export class BodyReader {
  readonly #parts: BodyReaderParts
  readonly #reading = new WeakMap<object, Reading>()

  constructor(parts: BodyReaderParts) {
    this.#parts = parts
  }

  /**
   * Rejects with a `Refusal` as soon as the body is too large (413), too slow (408) or outlasts the
   * session (401), and discards the rest up to a limit. `maxBytes` is for a body that is not a
   * message.
   */
  async text(request: AnyRequest, grant: Grant, maxBytes?: number): Promise<string> {
    return (await this.#read(request, grant, maxBytes, tooLargeFor)).toString('utf8')
  }

  /** Like `text`, for a body that may be in any encoding, and need not be a message. */
  bytes(request: AnyRequest, grant: Grant, maxBytes?: number): Promise<Buffer> {
    return this.#read(request, grant, maxBytes, bodyTooLargeFor)
  }

  async #read(
    request: AnyRequest,
    grant: Grant,
    most: number | undefined,
    usualRefusal: typeof bodyTooLargeFor,
  ): Promise<Buffer> {
    const { timers, limits } = this.#parts
    const maxBytes = most ?? maxBytesFor(grant, limits)
    const larger = () => (most === undefined ? usualRefusal(grant, limits) : bodyTooLarge(most))
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      discard(request, maxBytes)
      throw larger()
    }
    const bytes = await this.#collect(request, maxBytes, larger)
    grant.mustLast(timers.now())
    return bytes
  }

  #collect(request: AnyRequest, maxBytes: number, larger: () => Refusal): Promise<Buffer> {
    const {
      timers,
      budget,
      penalties,
      limits: { bodySeconds },
    } = this.#parts
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      const connection = connectionOf(request)
      const body = bodyOf(request)
      const charge = budget.open(connection, end, body)
      let hasBegun = false
      let isOver = false
      const begin = () => {
        hasBegun = true
        charge.set(0)
        body.on('data', take)
      }
      // A small body fits into the flow-control window.
      const isSmall = Number(request.headers['content-length'] ?? Infinity) <= maxUnreadBytes
      const leave = isSmall ? () => undefined : this.#takePlace(connection, begin)
      if (isSmall) begin()
      const stopTimer = timers.later(() => {
        const sentence = `A request's body must be complete within ${bodySeconds} s (limits.bodySeconds); send it again.`
        end(new Refusal('too-slow', sentence))
      }, bodySeconds * 1000)

      function end(refusal?: unknown): void {
        if (isOver) return
        isOver = true
        stopTimer()
        charge.end()
        if (refusal) {
          penalties.charge(connection, costOfRefusal(hasBegun ? size : maxUnreadBytes))
          body.off('data', take)
          discard(request, maxBytes)
          reject(refusal)
        } else resolve(Buffer.concat(chunks))
        leave()
        chunks.length = 0
      }

      function take(chunk: Buffer): void {
        size += chunk.length
        if (size > maxBytes) end(larger())
        else {
          chunks.push(chunk)
          charge.set(size + chunks.length * chunkBytes)
        }
      }

      // An empty body may have ended while its sender's permit was looked up.
      if (body.readableEnded) end()
      else body.once('end', () => budget.handle(connection, size, end))
      body.once('error', end)
      whenAborted(body, () => end(aborted()))
      if (!hasBegun && !body.readableEnded) charge.set(maxUnreadBytes)
    })
  }

  /**
   * Calls `begin`, at once or in turn. Returns a function that passes the place to the next body;
   * idempotent.
   */
  #takePlace(connection: object, begin: () => void): () => void {
    const { penalties, timers } = this.#parts
    const reading = upsert(this.#reading, connection, () => ({ count: 0, waiting: new Set<() => void>() }))
    const { waiting } = reading
    const start = () => {
      isHeld = true
      begin()
    }
    const pass = () => {
      const [next] = waiting
      if (!next) reading.count -= 1
      else if (penalties.debtMs(connection) > 0) timers.later(pass, penalties.debtMs(connection))
      else {
        waiting.delete(next)
        next()
      }
    }
    let isHeld = false
    if (reading.count < maxAtOnce) {
      reading.count += 1
      start()
    } else waiting.add(start)
    return () => {
      waiting.delete(start)
      if (isHeld) pass()
      isHeld = false
    }
  }
}

/** On HTTP/2 the client gets the response without the rest being read. */
const maxDiscardedBytes = 65_536

/** Reads a little more, so that the sender of a slightly larger body sees the response. */
function discard(request: AnyRequest, maxBytes: number): void {
  const body = bodyOf(request)
  let left = body === request ? maxBytes : Math.min(maxBytes, maxDiscardedBytes)
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) body.pause()
  })
}

export function tooLarge(maxBytes: number, id: string | null = null): Refusal {
  const updateBytes = Math.floor((maxBytes * 3) / 4)
  const sentence = `A message may have at most ${maxBytes} bytes (limits.maxMessageBytes), a document’s update about ${updateBytes}, since it is sent in base64.`
  return new Refusal('too-large', sentence, id)
}

function bodyTooLarge(maxBytes: number): Refusal {
  return new Refusal('too-large', `The body of this request may have at most ${maxBytes} bytes.`)
}

/** The refusal of a message that is too large for its sender's grant. */
export function tooLargeFor(
  grant: Grant,
  limits: BodyReaderParts['limits'],
  id: string | null = null,
): Refusal {
  // Whatever its size.
  if (isReader(grant)) {
    const sentence = 'This session lets you only read; ask for one that lets you write.'
    return new Refusal('read-only-invitation', sentence, id)
  }
  const most = maxBytesFor(grant, limits)
  if (most === limits.maxMessageBytes) return tooLarge(most, id)
  return new Refusal('too-large', `This session allows messages of at most ${most} bytes.`, id)
}

/** The same of a body that need not be a message. */
function bodyTooLargeFor(grant: Grant, limits: BodyReaderParts['limits']): Refusal {
  if (!isReader(grant)) return tooLargeFor(grant, limits)
  const most = maxBytesFor(grant, limits)
  const sentence = `This session lets you only read, and the body of its requests may have at most ${most} bytes.`
  return new Refusal('read-only-invitation', sentence)
}

/** The HTTP/2 session or the socket. */
export function connectionOf(request: AnyRequest): object {
  // An ended stream has no session.
  return ('stream' in request ? request.stream.session : request.socket) ?? request
}

/** Calls back once a body can no longer end: at once if it was aborted before it is read. */
export function whenAborted(body: ReturnType<typeof bodyOf>, onAborted: () => void): void {
  if (body.readableEnded) return
  if (body.destroyed) onAborted()
  body.once('aborted', onAborted)
  // A stream of HTTP/2 that was answered early is not `aborted`.
  body.once('close', () => body.readableEnded || onAborted())
}

export function aborted(): Refusal {
  return new Refusal('aborted', 'The request was aborted before its body was complete.')
}
