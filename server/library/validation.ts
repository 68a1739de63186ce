// Runs an application's schemas and `before`: what waits for them counts in a budget, and has a time limit.

import { hash } from 'node:crypto'
import { inspect, isDeepStrictEqual } from 'node:util'
import { type Content, contentIn, contentOf, dataIn } from '../../protocol/json-data.ts'
import { measureJson } from '../../protocol/json-depth.ts'
import type { Draft } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import { refuseOthers } from '../../scripts/suggestion.ts'
import type { EngineSettings } from '../config/engine-settings.ts'
import { isChange } from '../log/changes.ts'
import { keptBody, parsed } from '../log/kept-json.ts'
import { inWords, type SchemaResult, type StandardSchema } from './standard-schema.ts'

/** What a client publishes: a message, or other data for an earlier one. */
export interface Publication<Data = unknown> {
  readonly channel: string
  /** The number of the message that it changes; absent in a message. */
  readonly changes?: number
  /** A copy, as the channel's schema returned it. */
  readonly data: Data
  readonly id: string
  /** Name of the sender. */
  readonly from: string
  /** As `authorize` names it; null if it names none. */
  readonly user: string | null
  /** The sender's time, ms since the epoch. */
  readonly at: number
}

/** Data to be stored instead; nothing leaves the message as it is. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement.
export type Changed = { readonly data: unknown } | undefined | void

/**
 * Called before a client's message is stored. A `Refusal` that it throws reaches the client. After any
 * other error, and when it takes longer than `limits.bodySeconds`, the client sends the message again.
 */
export type Before<Data = unknown> = (message: Publication<Data>) => Changed | Promise<Changed>

interface ValidationParts {
  readonly limits: Pick<EngineSettings['limits'], 'connectionBytes' | 'unfinishedBytes' | 'bodySeconds'>
  readonly timers: Pick<Timers, 'later'>
  /** Receives the errors of schemas and of `before`. */
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

  /** Approximate size of the messages that wait. */
  get waitingBytes(): number {
    return this.#bytes
  }

  /**
   * Returns the draft with the schema's output. Throws or rejects with a `Refusal` (400 `bad-shape`,
   * 503 `too-much-begun`). `account` is charged for the memory; null for the application's own drafts.
   */
  run(draft: WithData, schema: StandardSchema, account: unknown): WithData | Promise<WithData> {
    const given = textOf(draft)
    if (account !== null && this.#slow.has(schema) && !this.#hasRoom(account, parsedBytes(given)))
      return Promise.reject(this.#tooMuch(draft.id))
    try {
      const checked = schema['~standard'].validate(dataIn(draft.body))
      if (!('then' in checked)) return complete(draft, checked)
      this.#slow.add(schema)
      const completed = Promise.resolve(checked).then((result) => complete(draft, result))
      const limited =
        account === null
          ? completed
          : this.#limited(completed, `validate, of channel "${draft.channel}"`, account, parsedBytes(given))
      return limited.catch((error) => this.#fail(error, draft))
    } catch (error) {
      return this.#fail(error, draft)
    }
  }

  /**
   * Resolves to the draft with the data that `before` returns. Rejects with a `Refusal`: that of `before`,
   * 503 `application-failed` or `too-much-begun`. `account` is charged for the memory.
   */
  async before(draft: WithData, before: Before, account: unknown): Promise<WithData> {
    const { channel, id } = draft
    const bytes = parsedBytes(textOf(draft))
    if (!this.#hasRoom(account, bytes)) throw this.#tooMuch(id)
    const what = `before, of channel "${channel}"`
    try {
      return await this.#limited(changedBy(before, draft, what), what, account, bytes)
    } catch (error) {
      if (error instanceof Refusal) throw error.about(id)
      this.#parts.onFailure(error)
      const sentence = `The application failed on this message (before, of channel "${channel}"); send it again.`
      throw new Refusal('application-failed', sentence, id, againAfterMs, error)
    }
  }

  /**
   * The application holds what it checks until it has finished, even after the sender was told. `what`
   * begins the sentence of the error when it takes too long.
   */
  #limited(completed: Promise<WithData>, what: string, account: unknown, bytes: number): Promise<WithData> {
    const { limits, timers } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<WithData>()
    this.#change(account, bytes)
    const stopTimer = timers.later(() => {
      reject(new Error(`${what}, took longer than ${limits.bodySeconds} s (limits.bodySeconds).`))
    }, limits.bodySeconds * 1000)
    completed.then(resolve, reject).finally(() => {
      stopTimer()
      this.#change(account, -bytes)
    })
    return promise
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
    const sentence = `Too many messages wait for the application (${connectionBytes} bytes of one client, limits.connectionBytes; ${unfinishedBytes} of all, limits.unfinishedBytes); let some finish, then retry.`
    return new Refusal('too-much-begun', sentence, id, againAfterMs)
  }

  /** A schema gives the same for the same data: one that fails would fail again. */
  #fail(error: unknown, { channel, id }: Draft): never {
    if (error instanceof Refusal) throw error
    this.#parts.onFailure(error)
    const sentence = `The data could not be checked: the schema of channel "${channel}" failed on it.`
    throw new Refusal('bad-shape', sentence, id)
  }
}

function complete(draft: WithData, result: SchemaResult): WithData {
  const { channel, id } = draft
  const [issue] = result.issues ?? []
  if (issue)
    throw new Refusal('bad-shape', `The data does not fit channel "${channel}": ${inWords(issue)}`, id)
  const value = 'value' in result ? result.value : undefined
  return withContent(draft, contentOf(value, `validate, of channel "${channel}": data`))
}

async function changedBy(before: Before, draft: WithData, what: string): Promise<WithData> {
  const { id, channel, from, at } = draft
  const body = bodyIn(draft)
  const publication = { channel, data: dataIn(body), id, from, user: body.user ?? null, at }
  const changed: unknown = await before(
    isChange(draft) ? { ...publication, changes: draft.body.seq } : publication,
  )
  if (changed === undefined) return draft
  if (typeof changed !== 'object' || changed === null || !('data' in changed)) {
    const must = 'it must return { data }, or nothing, or throw a Refusal'
    throw new TypeError(`${what}, returned ${inspect(changed, { depth: 0 })}; ${must}.`)
  }
  refuseOthers(`What ${what}, returned`, changed, ['data'])
  return withContent(draft, contentOf(changed.data, `${what}: data`))
}

/** The draft with other content and, if that differs, a digest of what was sent. */
function withContent(draft: WithData, content: Content): WithData {
  const body = bodyIn(draft)
  const given = contentIn(body)
  const text = JSON.stringify(content)
  const digest = body.digest ?? (text === JSON.stringify(given) ? undefined : digestOf(given))
  const { user } = body
  if (!isChange(draft)) return { ...draft, body: keptBody(text, { user, digest }) }
  return { ...draft, body: { seq: draft.body.seq, ...content, user, digest } }
}

/** Whether two bodies were the same when they were sent, whatever the application made of them. */
export function isSameAsSent(one: Sent, other: Sent): boolean {
  if (one.digest === undefined && other.digest === undefined)
    return isDeepStrictEqual(contentIn(one), contentIn(other))
  return digestIn(one) === digestIn(other)
}

type Sent = Content & { readonly digest?: string | undefined }

/** A message, or a change that does not erase. */
export type WithData = Draft<'json'> | Draft<'change'>

const bodyIn = (draft: WithData) => (isChange(draft) ? draft.body : parsed((draft as Draft<'json'>).body))

const textOf = (draft: WithData) => JSON.stringify(contentIn(bodyIn(draft)))

const digestIn = (sent: Sent) => sent.digest ?? digestOf(sent)

const digestLength = 22

const digestOf = ({ data, bytes }: Content) =>
  hash('sha256', JSON.stringify(bytes ?? data), 'base64url').slice(0, digestLength)

/** Memory of an empty object or a long number, with its place in a list. */
const bytesPerValue = 48

/** Approximate memory of a parsed text; `[{},{},…]` takes over twenty times its length. */
function parsedBytes(text: string): number {
  return 2 * text.length + bytesPerValue * measureJson(text).values
}
