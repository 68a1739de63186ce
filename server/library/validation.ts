// Runs an application's schemas: messages that wait for them count in a budget, and have a time limit.

import { hash } from 'node:crypto'
import { maxJsonDepth, measureJson } from '../../protocol/json-depth.ts'
import type { Draft } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { keptBody } from '../log/kept-json.ts'
import { inWords, type SchemaResult, type StandardSchema } from './standard-schema.ts'

interface ValidationParts {
  readonly limits: Pick<EngineSettings['limits'], 'connectionBytes' | 'unfinishedBytes' | 'bodySeconds'>
  readonly timers: Pick<Timers, 'later'>
  /** Receives the errors of schemas. */
  readonly onFailure: (error: unknown) => void
}

const againAfterMs = 1000

/** By a user, or by a connection; the rest of the budget is for those that have nothing waiting. */
const maxOfBudget = 0.75

export class Validation {
  readonly #parts: ValidationParts
  /** Schemas that were asynchronous before. */
  readonly #slow = new WeakSet<StandardSchema>()
  /** Bytes held by waiting messages, by user or connection. */
  readonly #waiting = new Map<unknown, number>()
  #bytes = 0

  constructor(parts: ValidationParts) {
    this.#parts = parts
  }

  /** Approximate size of the messages that wait for schemas. */
  get waitingBytes(): number {
    return this.#bytes
  }

  /**
   * Returns the draft with the schema's output. Throws or rejects with a `Refusal` (400 `bad-shape`,
   * 503 `too-much-begun`). `account` is charged for the memory; null for the application's own drafts.
   */
  run(
    draft: Draft<'json'>,
    schema: StandardSchema,
    account: unknown,
  ): Draft<'json'> | Promise<Draft<'json'>> {
    const given = JSON.stringify(draft.body.data)
    if (account !== null && this.#slow.has(schema) && !this.#hasRoom(account, parsedBytes(given)))
      return Promise.reject(this.#tooMuch(draft.id))
    try {
      const checked = schema['~standard'].validate(draft.body.data)
      if (!('then' in checked)) return complete(draft, given, checked)
      this.#slow.add(schema)
      const completed = Promise.resolve(checked).then((result) => complete(draft, given, result))
      if (account === null) return completed.catch((error) => this.#fail(error, draft))
      return this.#limited(completed, draft, account, parsedBytes(given))
    } catch (error) {
      return this.#fail(error, draft)
    }
  }

  /** The application holds what it checks until it has finished, even after the sender was told. */
  #limited(
    completed: Promise<Draft<'json'>>,
    draft: Draft<'json'>,
    account: unknown,
    bytes: number,
  ): Promise<Draft<'json'>> {
    const { limits, timers } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<Draft<'json'>>()
    this.#change(account, bytes)
    const stopTimer = timers.later(() => {
      const took = `took longer than ${limits.bodySeconds} s (limits.bodySeconds)`
      reject(new Error(`validate, of channel "${draft.channel}", ${took}.`))
    }, limits.bodySeconds * 1000)
    completed.then(resolve, reject).finally(() => {
      stopTimer()
      this.#change(account, -bytes)
    })
    return promise.catch((error) => this.#fail(error, draft))
  }

  /** One larger item is accepted if it is the only one of its account. */
  #hasRoom(account: unknown, bytes: number): boolean {
    const { connectionBytes, unfinishedBytes } = this.#parts.limits
    const own = this.#waiting.get(account) ?? 0
    if (own === 0) return this.#bytes === 0 || this.#bytes + bytes <= unfinishedBytes
    return own + bytes <= connectionBytes && this.#bytes + bytes <= unfinishedBytes * maxOfBudget
  }

  #change(account: unknown, bytes: number): void {
    const own = (this.#waiting.get(account) ?? 0) + bytes
    if (own > 0) this.#waiting.set(account, own)
    else this.#waiting.delete(account)
    this.#bytes += bytes
  }

  #tooMuch(id: string): Refusal {
    const { connectionBytes, unfinishedBytes } = this.#parts.limits
    const sentence = `Too many messages wait for the application's validation (${connectionBytes} bytes of one client, limits.connectionBytes; ${unfinishedBytes} of all, limits.unfinishedBytes); let some finish, then retry.`
    return new Refusal('too-much-begun', sentence, id, againAfterMs)
  }

  /** A schema gives the same for the same data: one that fails would fail again. */
  #fail(error: unknown, { channel, id }: Draft<'json'>): never {
    if (error instanceof Refusal) throw error
    this.#parts.onFailure(error)
    const sentence = `The data could not be checked: the schema of channel "${channel}" failed on it.`
    throw new Refusal('bad-shape', sentence, id)
  }
}

function complete(draft: Draft<'json'>, given: string, result: SchemaResult): Draft<'json'> {
  const { channel, id, body } = draft
  const [issue] = result.issues ?? []
  if (issue)
    throw new Refusal('bad-shape', `The data does not fit channel "${channel}": ${inWords(issue)}`, id)
  const text = jsonOf('value' in result ? result.value : undefined, `validate, of channel "${channel}"`)
  const { user } = body
  const digest = text === given ? undefined : digestOf(given)
  return { ...draft, body: keptBody(text, { user, digest }) }
}

const digestLength = 22

const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, digestLength)

/** Memory of an empty object or a long number, with its place in a list. */
const bytesPerValue = 48

/** Approximate memory of a parsed text; `[{},{},…]` takes over twenty times its length. */
function parsedBytes(text: string): number {
  return 2 * text.length + bytesPerValue * measureJson(text).values
}

/** Throws a `TypeError` or `RangeError` that names the source of a value that is not JSON, or nested too deep. */
export function jsonOf(data: unknown, source: string): string {
  let text: string | undefined
  try {
    text = JSON.stringify(data)
  } catch (error) {
    // The stack overflows.
    if (error instanceof RangeError) throw tooDeep(source, `over ${maxJsonDepth}`)
    throw error
  }
  if (text === undefined) throw new TypeError(`${source}: the data is ${typeof data}; it must be JSON.`)
  const { depth } = measureJson(text)
  if (depth > maxJsonDepth) throw tooDeep(source, String(depth))
  return text
}

const tooDeep = (source: string, depth: string) =>
  new RangeError(`${source}: the data is nested ${depth} levels deep; it may be ${maxJsonDepth}.`)
