// Responses: large ones are generated as they are read, and each is charged until it has been read.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import type { Middleware } from 'koa'
import { Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import { processTimers } from '../../scripts/process.ts'
import { bytesHeldBy, type Delivery, HeldDeliveries } from '../hub/delivery.ts'
import { bytesPerToken, RateLimit } from '../hub/rate-limit.ts'
import { connectionOf } from './body-reader.ts'
import type { Budget } from './budget.ts'

/** Larger responses are generated in pieces of this size. */
const pieceLength = 65_536

/** The assumed size of a stream of unknown size, such as a file. */
const streamBytes = 2 * pieceLength

/** Responses that have a charge. */
const charged = new WeakSet<object>()

/** Part of Koa's context that is used. */
export interface Answering {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  body?: unknown
}

/** Parts of a response. Asynchronous ones are sent as they come. */
export type AnswerParts = Iterable<string | Buffer> | AsyncIterable<string | Buffer>

/**
 * Responds with parts: at once if they are small and not asynchronous. `held` is the approximate number
 * of bytes held until they are read, or the bytes that may be shared. Throws a `Refusal` (503
 * `too-much-begun`) before generating anything.
 */
export function answerParts(
  ctx: Answering,
  budget: Budget,
  held: number | readonly Delivery[],
  parts: () => AnswerParts,
): void {
  const bytes = typeof held === 'number' ? held : bytesHeldBy(held)
  charge(ctx, budget, held)
  const made = parts()
  const body =
    bytes > pieceLength || Symbol.asyncIterator in made
      ? Readable.from(withoutEmpty(made))
      : Buffer.concat(Array.from(made, (part) => Buffer.from(part)))
  charged.add(body)
  ctx.body = body
}

/**
 * Over HTTP/2, Node (seen in 20.20 and 26.10) frees strings before it sends them if an empty one is
 * written last in the same turn: the response then contains other memory of the process.
 */
async function* withoutEmpty(parts: AnswerParts) {
  for await (const part of parts) if (part.length > 0) yield part
}

/** 16 MB a second. */
const readingTokensPerSecond = 1000

/**
 * Limits each connection by the size of the data it requests: 16 MB a second and as much in a burst, or
 * one larger answer.
 */
export class ReadingRate {
  readonly #limit: RateLimit

  constructor(now: Clock) {
    this.#limit = new RateLimit(readingTokensPerSecond, now)
  }

  /** Throws a `Refusal` (429 `too-fast`). `what` begins its sentence: which data was requested too fast. */
  mustWait(connection: object, what: string): void {
    const waitMs = Math.ceil(this.#limit.take(connection))
    if (waitMs > 0) throw new Refusal('too-fast', `${what}; try again in a moment.`, null, waitMs)
  }

  charge(connection: object, characters: number): void {
    this.#limit.charge(connection, characters / bytesPerToken)
  }
}

function charge(ctx: Answering, budget: Budget, given: number | readonly Delivery[]): void {
  const { res } = ctx
  if (hasGone(res)) return
  let refused: Refusal | null = null
  const held = budget.open(connectionOf(ctx.req), (refusal) => {
    refused = refusal
    if (res.headersSent) cut(ctx)
  })
  const shared = new HeldDeliveries((bytes) => held.set(bytes))
  if (typeof given === 'number') held.set(given)
  else shared.set(given)
  res.once('close', () => {
    shared.set([])
    held.end()
  })
  if (refused) throw refused
}

/** Yields a value's JSON in pieces, without copying any string as a whole. */
export function* jsonPieces(value: unknown): Generator<string> {
  let piece = ''
  for (const token of tokensOf(value)) {
    piece += token
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

function* tokensOf(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > pieceLength) {
    yield '"'
    // Half a surrogate pair is escaped; parsers join it with the other half.
    for (let index = 0; index < value.length; index += pieceLength)
      yield JSON.stringify(value.slice(index, index + pieceLength)).slice(1, -1)
    yield '"'
  } else if (typeof value !== 'object' || value === null) yield JSON.stringify(value ?? null)
  else {
    const isList = Array.isArray(value)
    let sign = isList ? '[' : '{'
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined && !isList) continue
      yield isList ? sign : `${sign}${JSON.stringify(key)}:`
      yield* tokensOf(field)
      sign = ','
    }
    yield sign === ',' ? '' : sign
    yield isList ? ']' : '}'
  }
}

/** Charges all other responses: text, JSON and files. */
export function chargeAnswers(budget: Budget): Middleware {
  return async (ctx, next) => {
    await next()
    const { body } = ctx
    if (ctx.respond === false || !body || isCharged(body)) return
    try {
      if (body instanceof Readable) charge(ctx, budget, streamBytes)
      else {
        const bytes = Buffer.isBuffer(body)
          ? body
          : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
        charge(ctx, budget, bytes.length)
        // Avoids holding the text in addition to its bytes.
        if (typeof body !== 'string' || ctx.type) ctx.body = bytes
      }
    } catch (error) {
      if (body instanceof Readable) body.destroy()
      throw error
    }
  }
}

const isCharged = (body: unknown) => typeof body === 'object' && body !== null && charged.has(body)

const hasGone = (res: ServerResponse) =>
  'stream' in res ? (res.stream as ServerHttp2Stream).destroyed : res.destroyed

/** Delay before cutting a connection, ms: a client that reads nothing would reconnect at once. */
const lingerMs = 1000

/** Aborts a partial response. */
export function cut({ req, body }: Pick<Answering, 'req' | 'body'>): void {
  if (body instanceof Readable) body.destroy()
  if ('stream' in req) (req.stream as ServerHttp2Stream).close(constants.NGHTTP2_CANCEL)
  else {
    const { socket } = req
    socket.once(
      'close',
      processTimers.later(() => socket.destroy(), lingerMs),
    )
  }
}

/** For shared bytes: a connection that reads nothing holds only one additional piece. */
export function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let index = 0; index < bytes.length; index += pieceLength)
    yield bytes.subarray(index, index + pieceLength)
}
