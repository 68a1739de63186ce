// Reads an update of Yjs into rows of numbers, and refuses what no document may hold.

import * as Y from 'yjs'
import { cutText } from '../wire/graphemes.ts'
import { upsert } from '../wire/upsert.ts'
import { isKnown } from './rich-text.ts'

/**
 * A Yjs update in less detail: what it adds, in order for each Yjs client, and what it deletes.
 * Uses rows of numbers, which can be transferred to another thread at once.
 */
export interface Update {
  /**
   * Rows of `structWidth`: client, clock, length, content, left and right neighbour with client and
   * clock, root; -1 for none.
   */
  readonly structs: Float64Array
  /** Rows of `rangeWidth`: client, clock, length. */
  readonly deletions: Float64Array
  readonly bytes: number
}

export const structWidth = 9
export const rangeWidth = 3
const contents = ['skip', 'blank', 'text', 'name'] as const
const roots = ['text', 'authors'] as const

export function structAt(rows: Float64Array, at: number): Struct {
  return {
    clock: rows[at + 1] ?? 0,
    len: rows[at + 2] ?? 0,
    content: contents[rows[at + 3] ?? 0] ?? 'skip',
    left: idAt(rows, at + 4),
    right: idAt(rows, at + 6),
    root: roots[rows[at + 8] ?? -1] ?? null,
  }
}

export const rangeAt = (rows: Float64Array, at: number) => ({
  client: rows[at] ?? 0,
  clock: rows[at + 1] ?? 0,
  len: rows[at + 2] ?? 0,
})

function idAt(rows: Float64Array, at: number): Y.ID | null {
  const client = rows[at] ?? -1
  return client < 0 ? null : { client, clock: rows[at + 1] ?? 0 }
}

function rowOf(own: number, { clock, len, content, left, right, root }: Struct): number[] {
  const ids = [left?.client ?? -1, left?.clock ?? -1, right?.client ?? -1, right?.clock ?? -1]
  return [own, clock, len, contents.indexOf(content), ...ids, root === null ? -1 : roots.indexOf(root)]
}

interface Range {
  readonly clock: number
  readonly len: number
}

/** The positions from `clock` on, `len` of them. */
export interface Struct extends Range {
  /** `skip` adds nothing; `blank` is content that was deleted before it was sent. */
  readonly content: (typeof contents)[number]
  /** The neighbours between which it was inserted. */
  readonly left: Y.ID | null
  readonly right: Y.ID | null
  /** Null if it has neighbours, which determine the root. */
  readonly root: Root | null
}

export type Root = (typeof roots)[number]

/** Its message is a clause that follows "Invalid update:". */
class BadUpdate extends Error {
  override readonly name = 'BadUpdate'
}

const most = { structs: 200_000, ranges: 200_000, clock: 2 ** 31, nameLength: 40 }

/** Content types of structs in an update (Yjs, version 1). */
const contentNumbers = { gone: 0, deleted: 1, string: 4, format: 6, any: 8, skip: 10 }
const knownNumbers: ReadonlySet<number> = new Set(Object.values(contentNumbers))

/** Rejects content before Yjs creates an object for it, and knows where the reading ended. */
class StrictDecoder extends Y.UpdateDecoderV1 {
  static last: StrictDecoder | null = null
  static isBounded = true
  #structs = 0
  #ranges = 0

  constructor(decoder: ConstructorParameters<typeof Y.UpdateDecoderV1>[0]) {
    super(decoder)
    StrictDecoder.last = this
  }

  override readInfo(): number {
    const info = super.readInfo()
    this.#structs += 1
    if (StrictDecoder.isBounded && this.#structs > most.structs)
      throw new BadUpdate(`it has more than ${most.structs} structs`)
    const number = info & 0b11111
    if (!knownNumbers.has(number))
      throw new BadUpdate(`Yjs content type ${number} is not allowed in the text`)
    return info
  }

  override readDsLen(): number {
    this.#ranges += 1
    if (StrictDecoder.isBounded && this.#ranges > most.ranges)
      throw new BadUpdate(`it deletes more than ${most.ranges} ranges`)
    return super.readDsLen()
  }

  get isAtEnd(): boolean {
    return this.restDecoder.pos === this.restDecoder.arr.length
  }
}

/** `bad` is a clause. `isBounded` is false for a whole document from the log. */
export function readUpdate(base64: string, isBounded = true): Update | { readonly bad: string } {
  try {
    return read(base64, isBounded)
  } catch (error) {
    if (error instanceof BadUpdate) return { bad: error.message }
    throw error
  }
}

function read(base64: string, isBounded: boolean): Update {
  const bytes = Buffer.from(base64, 'base64')
  StrictDecoder.isBounded = isBounded
  const { structs: all, ds } = decode(bytes)
  // A client may occur twice.
  const byClient = new Map<number, number[]>()
  for (const struct of all) {
    const rows = upsert(byClient, struct.id.client, () => [])
    for (const number of rowOf(struct.id.client, readStruct(struct))) rows.push(number)
  }
  const deletions: number[] = []
  for (const [client, ranges] of ds.clients) {
    for (const range of ranges) {
      checkRange(range)
      deletions.push(client, range.clock, range.len)
    }
  }
  const structs = byClient.values().toArray().flat()
  return {
    structs: Float64Array.from(structs),
    deletions: Float64Array.from(deletions),
    bytes: bytes.length,
  }
}

function decode(bytes: Uint8Array) {
  let isWhole = false
  try {
    const decoded = Y.decodeUpdateV2(bytes, StrictDecoder)
    isWhole = StrictDecoder.last?.isAtEnd ?? false
    if (isWhole) return decoded
  } catch (error) {
    if (error instanceof BadUpdate) throw error
    throw new BadUpdate('it is not a Yjs update of version 1', { cause: error })
  } finally {
    StrictDecoder.last = null
  }
  throw new BadUpdate('there are bytes after its end')
}

function checkRange({ clock, len }: Range): void {
  if (len < 1) throw new BadUpdate(`a struct or range at clock ${clock} is empty`)
  if (clock + len > most.clock) throw new BadUpdate(`clock ${clock} and length ${len} exceed ${most.clock}`)
}

function readStruct(struct: Y.Item | Y.GC | Y.Skip): Struct {
  const { clock } = struct.id
  const range = { clock, len: struct.length }
  checkRange(range)
  if (!(struct instanceof Y.Item)) {
    const content = struct instanceof Y.Skip ? 'skip' : 'blank'
    return { ...range, content, left: null, right: null, root: 'text' }
  }
  const { origin: left, rightOrigin: right } = struct
  const content = readContent(struct)
  return { ...range, content, left, right, root: left || right ? null : rootOf(struct) }
}

/** In a decoded struct, `parent` is a root's name; in an integrated one, its type. */
function rootOf({ parent, parentSub, id }: Y.Item): Root {
  const root: unknown = parent
  if (root === 'text' && parentSub === null) return 'text'
  if (root === 'authors' && parentSub === String(id.client)) return 'authors'
  if (root === 'authors') {
    const key = shorten(parentSub)
    throw new BadUpdate(`client ${id.client} writes ${key} in "authors", which is not its own number`)
  }
  const found = typeof root === 'string' ? shorten(root) : 'another place'
  throw new BadUpdate(`it writes to ${found}; a document has the text "text" and the map "authors"`)
}

function readContent({ content, id }: Y.Item): Struct['content'] {
  if (content instanceof Y.ContentString) return 'text'
  if (content instanceof Y.ContentDeleted) return 'blank'
  if (content instanceof Y.ContentFormat) {
    const { key, value } = content
    // Null ends an attribute.
    if (value === null || isKnown(key, value)) return 'text'
    throw new BadUpdate(`attribute ${shorten(key)} with value ${shorten(value)} is not allowed in a document`)
  }
  const names: readonly unknown[] = content instanceof Y.ContentAny ? content.arr : []
  if (names.length === 1 && isAuthor(names[0])) return 'name'
  const rule = `{ name } of at most ${most.nameLength} characters`
  throw new BadUpdate(`an entry of "authors" by client ${id.client} is not ${rule}`)
}

function isAuthor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'name') return false
  const { name } = value as { readonly name: unknown }
  return typeof name === 'string' && name.length <= most.nameLength
}

const shorten = (value: unknown) => cutText(JSON.stringify(value), 80)
