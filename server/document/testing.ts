// For tests of documents: hostile updates, a count of the work, a log behind the ledger.

import type { TestContext } from 'node:test'
import * as Y from 'yjs'
import { upsert } from '../../protocol/upsert.ts'
import type { Log } from '../log/log.ts'
import type { Ledger } from './ledger.ts'

interface Id {
  readonly client: number
  readonly clock: number
}

/**
 * Writes Yjs updates (version 1) that no Yjs document would produce. A client's structs follow each
 * other.
 */
export class UpdateWriter {
  bytes = 0
  readonly #clients = new Map<number, { readonly clock: number; readonly structs: number[][] }>()
  readonly #ranges = new Map<number, number[][]>()

  gone(client: number, clock: number, length: number): void {
    this.#add(client, clock, [0, ...varint(length)])
  }

  deleted(client: number, clock: number, length: number, left: Id | null, right: Id | null): void {
    this.#add(client, clock, [...place(1, left, right), ...varint(length)])
  }

  text(client: number, clock: number, text: string, left: Id | null, right: Id | null): void {
    this.#add(client, clock, [...place(4, left, right), ...varstring(text)])
  }

  format(
    ...[client, clock, key, value, left, right]: [number, number, string, unknown, Id | null, Id | null]
  ): void {
    const content = [...varstring(key), ...varstring(JSON.stringify(value))]
    this.#add(client, clock, [...place(6, left, right), ...content])
  }

  delete(client: number, clock: number, length: number): void {
    const range = [...varint(clock), ...varint(length)]
    upsert(this.#ranges, client, () => []).push(range)
    this.bytes += range.length
  }

  end(): Uint8Array {
    const sections = [...this.#clients].map(([client, { clock, structs }]) =>
      [varint(structs.length), varint(client), varint(clock), ...structs].flat(),
    )
    const ranges = [...this.#ranges].map(([client, all]) =>
      [varint(client), varint(all.length), ...all].flat(),
    )
    return Uint8Array.from([varint(sections.length), ...sections, varint(ranges.length), ...ranges].flat())
  }

  #add(client: number, clock: number, struct: number[]): void {
    upsert(this.#clients, client, () => ({ clock, structs: [] })).structs.push(struct)
    this.bytes += struct.length
  }
}

function varint(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

const varstring = (text: string) => [...varint(Buffer.byteLength(text)), ...Buffer.from(text)]

const idOf = ({ client, clock }: Id) => [...varint(client), ...varint(clock)]

/** The header of an item: without neighbours it starts the text. */
function place(content: number, left: Id | null, right: Id | null): number[] {
  const info = content | (left ? 128 : 0) | (right ? 64 : 0)
  const root = left || right ? [] : [1, ...varstring('text')]
  return [info, ...(left ? idOf(left) : []), ...(right ? idOf(right) : []), ...root]
}

/**
 * A Yjs update that takes quadratic time to read: a text, and as many letters, each at the start
 * according to its left neighbour, and anywhere in the text according to its right one. `first` and
 * `end` select a part; the first part contains the text.
 */
export function integrationBomb(length: number, first = 0, end = length): Uint8Array {
  const writer = new UpdateWriter()
  for (let letter = first; letter < end; letter += 1)
    writer.text(2, letter, 'x', null, { client: 1, clock: (letter * 7919) % length })
  if (first === 0) writer.text(1, 0, 'a'.repeat(length), null, null)
  return writer.end()
}

/** A value, and an empty map (Yjs, version 1): their kinds as content, and themselves. */
const values = { one: [8, [1, 125, 1]], map: [7, [1]] } as const

/** A Yjs update of clients that each set the key "k" of the map "m" without knowing of the others. */
export function rivals(count: number, value: keyof typeof values = 'one'): Uint8Array {
  const [kind, content] = values[value]
  // An item of each client, at the root named "m", under the key "k".
  const item = [0, 32 | kind, 1, 1, 109, 1, 107, ...content]
  const clients = Array.from({ length: count }, (_nothing, index) => [1, ...varint(index + 1), ...item])
  return Uint8Array.from([...varint(count), ...clients.flat(), 0])
}

/** Counts the items that the event loop puts in their places, from now to the end of the test. */
export function countItems(t: TestContext) {
  const count = { items: 0 }
  const { integrate } = Y.Item.prototype
  t.after(() => {
    Y.Item.prototype.integrate = integrate
  })
  Y.Item.prototype.integrate = function (...given) {
    count.items += 1
    integrate.apply(this, given)
  }
  return count
}

/** A log whose appends pass the ledger, as if its channels' type declared that. */
export function behind(ledger: Ledger, log: Log): Log {
  ledger.open(log)
  return { ...log, append: (draft, acceptedAt) => ledger.pass(draft, acceptedAt, log.append) }
}
