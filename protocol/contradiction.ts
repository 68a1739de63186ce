// Detects updates of Yjs that contradict each other under the same clients and clocks.

import { upsert } from './upsert.ts'

export interface Id {
  readonly client: number
  readonly clock: number
}

/** As Yjs decodes it, without skips. A struct without content was deleted. */
export interface DecodedStruct {
  readonly id: Id
  readonly length: number
  readonly origin?: Id | null
  readonly rightOrigin?: Id | null
  readonly parent?: unknown
  readonly parentSub?: string | null
  readonly content?: object
}

/**
 * Returns the first clock at which `claimed` differs from the stored updates, in the order of the log;
 * null if there is none. Deleted content contradicts nothing: it may have been forgotten.
 */
export function contradiction(
  stored: Iterable<readonly DecodedStruct[]>,
  claimed: readonly DecodedStruct[],
  clients: { has(client: number): boolean },
): Id | null {
  const known = new Map<number, DecodedStruct[]>()
  for (const update of stored)
    for (const struct of update) {
      if (!clients.has(struct.id.client)) continue
      const structs = upsert(known, struct.id.client, () => [])
      // Where two overlap, Yjs kept the first.
      if (endOf(struct) > endOf(structs.at(-1))) structs.push(struct)
    }
  for (const struct of claimed) {
    const { client } = struct.id
    const clock = clockOfDifference(struct, known.get(client) ?? [])
    if (clock !== null) return { client, clock }
  }
  return null
}

const endOf = (struct: DecodedStruct | undefined) => (struct ? struct.id.clock + struct.length : 0)

/** `stored` are one client's, by their ends. */
function clockOfDifference(struct: DecodedStruct, stored: readonly DecodedStruct[]): number | null {
  let start = struct.id.clock
  for (let at = placeOf(start, stored); at < stored.length && start < endOf(struct); at += 1) {
    const other = stored[at]
    const end = Math.min(endOf(struct), endOf(other))
    if (other && textOf(struct, other, start, end) !== textOf(other, struct, start, end)) return start
    start = end
  }
  return null
}

/** Index of the first struct that ends behind the clock. */
function placeOf(clock: number, stored: readonly DecodedStruct[]): number {
  let from = 0
  let to = stored.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (endOf(stored[middle]) <= clock) from = middle + 1
    else to = middle
  }
  return from
}

/** Place and content in these clocks; nothing if either was deleted. */
function textOf(struct: DecodedStruct, other: DecodedStruct, start: number, end: number): string {
  const { content, id } = struct
  if (!content || isDeleted(content) || !other.content || isDeleted(other.content)) return ''
  const words = [placeAt(struct, start), contentIn(content, start - id.clock, end - id.clock)]
  return JSON.stringify(words, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

const isDeleted = (content: object) => 'len' in content

/** Where the item at this clock was inserted. Yjs writes a parent only for items without neighbours. */
function placeAt({ id, origin, rightOrigin, parent, parentSub }: DecodedStruct, clock: number): unknown[] {
  const left = clock > id.clock ? [id.client, clock - 1] : placeIn(origin)
  const right = placeIn(rightOrigin)
  return left || right ? [left, right] : [parent, parentSub ?? null]
}

const placeIn = (id: Id | null | undefined) => (id ? [id.client, id.clock] : null)

/** Handles every kind of content that Yjs has, in version 1. */
function contentIn(content: object, from: number, to: number): unknown {
  if ('str' in content) return String(content.str).slice(from, to)
  if ('arr' in content) return (content.arr as unknown[]).slice(from, to)
  if ('key' in content && 'value' in content) return [content.key, content.value]
  if ('embed' in content) return [content.embed]
  if ('content' in content) return content.content
  return 'type' in content ? typeOf(content.type as object) : null
}

/** With the name of an XML element or hook. */
function typeOf(type: object): unknown[] {
  const name = 'nodeName' in type ? type.nodeName : 'hookName' in type ? type.hookName : null
  return [type.constructor.name, name]
}
