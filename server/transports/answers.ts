// Answers: large ones are made as they are read, and each is charged until it has been read.

import type { ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import type { Middleware, ParameterizedContext } from 'koa'
import type { Refusal } from '../refusal.ts'
import { connectionOf } from './bodies.ts'
import type { Budget } from './budget.ts'

/** Characters. */
const pieceLength = 65_536

/** What a stream holds whose size is not known, a file's for instance. */
const streamBytes = 2 * pieceLength

const sizes = new WeakMap<object, number>()

/** The whole where it is small. `characters`: about how many it has, and holds until it was read. */
export function answerOf(parts: Iterable<string | Buffer>, characters: number): Buffer | Readable {
  if (characters <= pieceLength) return Buffer.concat(Array.from(parts, (part) => Buffer.from(part)))
  const answer = Readable.from(parts)
  sizes.set(answer, characters)
  return answer
}

/** The JSON of a value, in pieces: no string of it is copied as a whole. */
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
    // Half a surrogate pair is escaped, and read as one with the other half.
    for (let place = 0; place < value.length; place += pieceLength)
      yield JSON.stringify(value.slice(place, place + pieceLength)).slice(1, -1)
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

/** Throws a `Refusal` (503 `too-much-begun`) in place of an answer that is too much; cuts one that becomes it. */
export function chargeAnswers(budget: Budget): Middleware {
  return async (ctx, next) => {
    await next()
    if (ctx.respond === false || !ctx.body) return
    if (isPlain(ctx.body)) ctx.body = JSON.stringify(ctx.body)
    const { body, res } = ctx
    let refused: Refusal | null = null
    const charge = budget.open(connectionOf(ctx.req), (refusal) => {
      refused = refusal
      if (res.headersSent) cut(ctx)
    })
    charge.set(
      body instanceof Readable ? (sizes.get(body) ?? streamBytes) : Buffer.byteLength(body as string),
    )
    if (refused && body instanceof Readable) body.destroy()
    if (refused) throw refused
    res.once('close', () => charge.end())
  }
}

const isPlain = (body: unknown) =>
  typeof body === 'object' && !(body instanceof Readable) && !Buffer.isBuffer(body)

function cut({ req }: ParameterizedContext): void {
  if ('stream' in req) (req.stream as ServerHttp2Stream).close()
  else req.socket.destroy()
}
