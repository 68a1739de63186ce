// Reads an update of Yjs into rows of numbers, and refuses what the document's schema lacks.

import * as Y from 'yjs'
import { cutText } from '../../protocol/graphemes.ts'
import { upsert } from '../../protocol/upsert.ts'

/**
 * A Yjs update in less detail: its additions, in order for each Yjs client, and its deletions. Uses
 * rows of numbers, which can be transferred to another thread at once.
 */
export interface Update {
  /**
   * Rows of `structWidth`: client, clock, length, content, left and right neighbour and parent with
   * client and clock, region; -1 for none.
   */
  readonly structs: Float64Array
  /** Rows of `rangeWidth`: client, clock, length. */
  readonly deletions: Float64Array
  readonly bytes: number
}

export const structWidth = 11
export const rangeWidth = 3
const contents = ['skip', 'blank', 'shared', 'own'] as const
const regions = ['shared', 'own'] as const

export function structAt(rows: Float64Array, at: number): Struct {
  return {
    clock: rows[at + 1] ?? 0,
    len: rows[at + 2] ?? 0,
    content: contents[rows[at + 3] ?? 0] ?? 'skip',
    left: idAt(rows, at + 4),
    right: idAt(rows, at + 6),
    parent: idAt(rows, at + 8),
    region: regions[rows[at + 10] ?? -1] ?? null,
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

function rowOf(own: number, { clock, len, content, left, right, parent, region }: Struct): number[] {
  const numbers = [own, clock, len, contents.indexOf(content)]
  for (const id of [left, right, parent]) numbers.push(id?.client ?? -1, id?.clock ?? -1)
  numbers.push(region === null ? -1 : regions.indexOf(region))
  return numbers
}

interface Range {
  readonly clock: number
  readonly len: number
}

/** The positions from `clock` on, `len` of them. */
export interface Struct extends Range {
  /**
   * `skip` adds nothing; `blank` is content that was deleted before it was sent; an `own` item only
   * its client's owner writes and deletes.
   */
  readonly content: (typeof contents)[number]
  /** The neighbours between which it was inserted. */
  readonly left: Y.ID | null
  readonly right: Y.ID | null
  /** The item in which it is the first; null if it has neighbours, or is in a root. */
  readonly parent: Y.ID | null
  /** Whether it stands among `shared` or `own` items; null if it has neighbours, which determine it. */
  readonly region: Region | null
}

export type Region = (typeof regions)[number]

/** The content that a document may have. All throw a `BadUpdate`. */
export interface Schema {
  /** The content types (Yjs, version 1) that an update may have. */
  readonly checkType: (number: number) => void
  readonly contentOf: (item: Y.Item) => 'shared' | 'own'
  /** Region of an item without neighbours. In a decoded item, `parent` is a root's name or an ID. */
  readonly regionOf: (item: Y.Item) => Region
}

/** Its message is a clause that follows "Invalid update:". */
export class BadUpdate extends Error {
  override readonly name = 'BadUpdate'
}

const most = { structs: 200_000, ranges: 200_000, clock: 2 ** 31 }

/** Content types of structs in an update (Yjs, version 1). */
export const contentNumbers = { gone: 0, deleted: 1, string: 4, format: 6, any: 8, document: 9, skip: 10 }

/** Maximum depth of nested values: code that writes them as JSON or copies them recurses for each level. */
const deepestValue = 100

/** Allows everything that Yjs has, in any root, except documents in documents. */
export const anySchema: Schema = {
  checkType(number) {
    if (number === contentNumbers.document)
      throw new BadUpdate('it has a subdocument; give that document a channel of its own')
    if (number > contentNumbers.skip) throw new BadUpdate(`Yjs content type ${number} is unknown`)
  },
  contentOf({ content, id }) {
    if (valuesOf(content).some((value) => !isShallow(value, deepestValue)))
      throw new BadUpdate(
        `a value of client ${id.client} at clock ${id.clock} is nested deeper than ${deepestValue} levels`,
      )
    return 'shared'
  },
  regionOf: () => 'shared',
}

function valuesOf(content: Y.Item['content']): readonly unknown[] {
  if (content instanceof Y.ContentAny || content instanceof Y.ContentJSON) return content.arr
  if (content instanceof Y.ContentEmbed) return [content.embed]
  return content instanceof Y.ContentFormat ? [content.value] : []
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}

/** Rejects content before Yjs creates an object for it, and records where the reading ended. */
class StrictDecoder extends Y.UpdateDecoderV1 {
  static last: StrictDecoder | null = null
  static isBounded = true
  static schema = anySchema
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
    StrictDecoder.schema.checkType(info & 0b11111)
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
export function readUpdate(
  base64: string,
  schema: Schema,
  isBounded = true,
): Update | { readonly bad: string } {
  try {
    return read(base64, schema, isBounded)
  } catch (error) {
    if (error instanceof BadUpdate) return { bad: error.message }
    throw error
  }
}

function read(base64: string, schema: Schema, isBounded: boolean): Update {
  const bytes = Buffer.from(base64, 'base64')
  Object.assign(StrictDecoder, { isBounded, schema })
  const { structs: all, ds } = decode(bytes)
  // A client may occur twice.
  const byClient = new Map<number, number[]>()
  for (const struct of all) {
    const rows = upsert(byClient, struct.id.client, () => [])
    for (const number of rowOf(struct.id.client, readStruct(struct, schema))) rows.push(number)
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

function readStruct(struct: Y.Item | Y.GC | Y.Skip, schema: Schema): Struct {
  const { clock } = struct.id
  const range = { clock, len: struct.length }
  checkRange(range)
  if (!(struct instanceof Y.Item)) {
    const content = struct instanceof Y.Skip ? 'skip' : 'blank'
    return { ...range, content, left: null, right: null, parent: null, region: 'shared' }
  }
  const { origin: left, rightOrigin: right } = struct
  const content = struct.content instanceof Y.ContentDeleted ? 'blank' : schema.contentOf(struct)
  const region = left || right ? null : schema.regionOf(struct)
  // In a decoded struct it is a root's name or an ID.
  const parent: unknown = struct.parent
  return { ...range, content, left, right, parent: parent instanceof Y.ID ? parent : null, region }
}

export const shorten = (value: unknown) => cutText(JSON.stringify(value), 80)
