// Bodies of the kind `json`, kept as text: a parsed one may take over twenty times as much memory.

import type { Bodies, Draft, Kind, Message } from '../../protocol/messages.ts'

type JsonBody = Bodies['json']

/** Node cuts smaller buffers out of a shared one, and each would keep all of that in memory. */
const minBuffer = Buffer.poolSize / 2

/** Each use of a field parses the body anew: take everything needed from one `parse()`. */
export class KeptJson implements JsonBody {
  readonly #json: string | Buffer
  /** The sender, if its name is verified; null otherwise, since names are free. */
  readonly writer: string | null

  constructor(json: string, writer: string | null) {
    this.#json = json.length < minBuffer ? json : Buffer.from(json)
    this.writer = writer
  }

  /** In bytes, as JSON. */
  get size(): number {
    return Buffer.byteLength(this.#json)
  }

  get json(): string {
    return this.#json.toString()
  }

  get data(): unknown {
    return this.parse().data
  }

  get bytes(): string | undefined {
    return this.parse().bytes
  }

  get user(): string | undefined {
    return this.parse().user
  }

  get digest(): string | undefined {
    return this.parse().digest
  }

  parse(): JsonBody {
    return JSON.parse(this.json)
  }

  toJSON(): JsonBody {
    return this.parse()
  }
}

/** The same draft or message with its body kept as text, if it is of the kind `json`. */
export function keptAsText<One extends Draft>(one: One): One {
  const { kind, body } = one
  if (kind !== 'json' || body instanceof KeptJson) return one
  return { ...one, body: new KeptJson(JSON.stringify(body), (body as JsonBody).user ?? null) }
}

/** `content` is `{"data":…}` or `{"bytes":…}`. */
export function keptBody(content: string, { user, digest }: Pick<JsonBody, 'user' | 'digest'>): KeptJson {
  const rest = JSON.stringify({ user, digest })
  return new KeptJson(rest === '{}' ? content : `${content.slice(0, -1)},${rest.slice(1)}`, user ?? null)
}

/** A body from its JSON. */
export function bodyFrom(kind: Kind, json: string, writer: string | null): Bodies[Kind] {
  return kind === 'json' ? new KeptJson(json, writer) : JSON.parse(json)
}

/** A body whose fields can be used more than once. */
export const parsed = (body: JsonBody): JsonBody => (body instanceof KeptJson ? body.parse() : body)

export const jsonOfBody = (body: Bodies[Kind]): string =>
  body instanceof KeptJson ? body.json : JSON.stringify(body)

export function writerOf({ body }: Draft): string | null {
  if (body instanceof KeptJson) return body.writer
  // A body of an application's own kind has any fields.
  const user: unknown = 'user' in body ? body.user : null
  return typeof user === 'string' ? user : null
}

/** The message as JSON; `body` is its body as JSON. */
export function messageText(message: Message, body = jsonOfBody(message.body)): string {
  const { seq, acceptedAt } = message
  return `${envelopeText(message)},"body":${body},"seq":${seq},"acceptedAt":${acceptedAt}}`
}

/** The draft as JSON, with the time at which it was accepted. */
export function draftText(draft: Draft, acceptedAt: number): string {
  return `${envelopeText(draft)},"body":${jsonOfBody(draft.body)},"acceptedAt":${acceptedAt}}`
}

/** As JSON without its end. */
function envelopeText({ id, channel, kind, from, at }: Draft): string {
  return JSON.stringify({ id, channel, kind, from, at }).slice(0, -1)
}
