// Tasks that every document thread does with updates, and how a thread answers.

import { parentPort, workerData } from 'node:worker_threads'
import * as Y from 'yjs'
import { contradiction } from '../../protocol/contradiction.ts'
import { keepMarkers } from '../../protocol/format-markers.ts'
import type { Message } from '../../protocol/messages.ts'
import { lowerThreadPriority } from '../node-internals.ts'
import { recordOf } from './document-record.ts'
import { isQuick } from './reading-cost.ts'
import { readUpdate, type Schema } from './update-reader.ts'

const bytesOf = (update: string) => Buffer.from(update, 'base64')
const encoded = (update: Uint8Array) => Buffer.from(update).toString('base64')

/** Creates the tasks for documents of this schema. */
export const updateTasks = (schema: Schema) => ({
  contradiction: (updates: readonly string[], update: string, clients: readonly number[]) =>
    contradiction(
      updates.values().map((stored) => structsIn(stored)),
      structsIn(update),
      new Set(clients),
    ),
  costOf,
  join,
  merge,
  partsOf,
  readUpdate: (update: string) => readUpdate(update, schema),
  recordOf: (messages: readonly Message<'update'>[]) => recordOf(messages, schema).toPlain(),
})

export type UpdateTasks = ReturnType<typeof updateTasks>

/** By name: plain data in, plain data out. */
export type Tasks = Readonly<Record<string, (...input: never[]) => unknown>>

/** Returns nothing for an update that Yjs cannot read. */
function structsIn(update: string) {
  try {
    return Y.decodeUpdate(bytesOf(update)).structs.filter((struct) => !(struct instanceof Y.Skip))
  } catch {
    return []
  }
}

/** Measures this thread's processor time from now on, ms. */
function stopwatch(): () => number {
  const before = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }
}

function createDocument(): Y.Doc {
  const doc = new Y.Doc()
  doc.on('afterTransaction', keepMarkers)
  return doc
}

/** Leaves out updates that Yjs cannot read, and returns their indices. */
function readUpdates(updates: readonly string[]) {
  const doc = createDocument()
  const unread: number[] = []
  // Each transaction costs time per client.
  doc.transact(() => {
    for (const [index, update] of updates.entries()) {
      try {
        Y.applyUpdate(doc, bytesOf(update))
      } catch {
        unread.push(index)
      }
    }
  })
  const items = doc.store.clients.values().reduce((sum, structs) => sum + structs.length, 0)
  return { doc, items, unread }
}

/** Returns the document's Yjs items, and the processor time of reading it. */
function costOf(updates: readonly string[]) {
  const cpuMs = stopwatch()
  const { items } = readUpdates(updates)
  return { items, cpuMs: cpuMs() }
}

/**
 * Returns one update with the same content, in base64, without deleted content; its bytes and Yjs
 * items, and the indices of updates that Yjs cannot read, which are left out.
 */
function join(updates: readonly string[]) {
  const { doc, items, unread } = readUpdates(updates)
  const joined = Y.encodeStateAsUpdate(doc)
  return { update: encoded(joined), bytes: joined.length, unread, items }
}

/**
 * Like `join`, but keeps deleted content: nothing is integrated into the text, which may be the costly
 * part.
 */
function merge(updates: readonly string[]) {
  const unread = updates.keys().filter((index) => !isUpdate(updates[index] ?? ''))
  const read = updates.filter(isUpdate).map(bytesOf)
  const merged = Y.mergeUpdates([Y.encodeStateAsUpdate(new Y.Doc()), ...read])
  return { update: encoded(merged), bytes: merged.length, unread: [...unread], items: null }
}

type WholeStruct = Y.Item | Y.GC | Y.Skip

/** Processor time for one part of a document, ms. */
const msOfPart = 10

/** Structs in a part: the number in the first, and the smallest number. */
const structsOfPart = { first: 1000, least: 250 }

/**
 * Splits a whole document in base64, as returned by `join`, into updates that take some milliseconds
 * each, to be applied one after the other. Null if all together take too long for its size.
 */
function partsOf(update: string, items: number, documentSeconds: number): Uint8Array[] | null {
  const whole = bytesOf(update)
  const copy = createDocument()
  const parts: Uint8Array[] = []
  const cpuMs = stopwatch()
  const apply = (part: Uint8Array) => {
    Y.applyUpdate(copy, part)
    parts.push(part)
    return isQuick({ items, cpuMs: cpuMs() }, documentSeconds)
  }
  let most = structsOfPart.first
  let structs: WholeStruct[] = []
  for (const struct of inOrder(Y.decodeUpdate(whole).structs)) {
    structs.push(struct)
    if (structs.length < most) continue
    const before = cpuMs()
    if (!apply(encodeStructs(structs))) return null
    const ms = Math.max(1, cpuMs() - before)
    most = Math.max(structsOfPart.least, Math.min(2 * most, (most * msOfPart) / ms))
    structs = []
  }
  const isDone = apply(encodeStructs(structs)) && apply(Y.diffUpdate(whole, Y.encodeStateVector(copy)))
  return isDone ? parts : null
}

/** Each struct of a document after those that it refers to. */
function* inOrder(structs: readonly WholeStruct[]) {
  const queues = new Map(
    [...Map.groupBy(structs, ({ id }) => id.client)].map(([client, own]) => [
      client,
      { structs: own, place: 0, next: 0 },
    ]),
  )
  /** Each waits for the next one; a log that lost an update may have such a circle. */
  const waiting: number[] = []
  const isWaiting = new Set<number>()
  const isMissing = (id: unknown) => {
    const queue = id instanceof Y.ID ? queues.get(id.client) : undefined
    if (!queue || !(id instanceof Y.ID) || isWaiting.has(id.client)) return false
    return queue.next <= id.clock && queue.place < queue.structs.length
  }
  const push = (client: number) => {
    waiting.push(client)
    isWaiting.add(client)
  }
  for (const first of queues.keys()) {
    push(first)
    for (let client = waiting.at(-1); client !== undefined; client = waiting.at(-1)) {
      const queue = queues.get(client)
      const struct = queue?.structs[queue.place]
      const needed = struct instanceof Y.Item ? [struct.origin, struct.rightOrigin, struct.parent] : []
      const missing = needed.find(isMissing)
      if (missing instanceof Y.ID) {
        push(missing.client)
        continue
      }
      if (queue && struct) {
        yield struct
        queue.place += 1
        queue.next = struct.id.clock + struct.length
      }
      // Continues with the struct that waits for this client.
      if (struct && waiting.length === 1) continue
      waiting.pop()
      isWaiting.delete(client)
    }
  }
}

/** As Yjs does (version 1), without deletions. */
function encodeStructs(structs: readonly WholeStruct[]): Uint8Array {
  const encoder = new Y.UpdateEncoderV1()
  const byClient = Map.groupBy(structs, ({ id }) => id.client)
  encoder.writeLen(byClient.size)
  for (const [client, own] of byClient) {
    encoder.writeLen(own.length)
    encoder.writeClient(client)
    encoder.writeLen(own[0]?.id.clock ?? 0)
    for (const struct of own) struct.write(encoder, 0)
  }
  encoder.writeLen(0)
  return encoder.toUint8Array()
}

function isUpdate(update: string): boolean {
  try {
    Y.decodeUpdate(bytesOf(update))
    return true
  } catch {
    return false
  }
}

export interface Order {
  readonly name: string
  readonly input: readonly unknown[]
}

export type Answer = { readonly output: unknown } | { readonly error: unknown }

/** Lets the event loop run first. In steps of `nice`. */
const behindOthers = 10

/** In a thread, performs the tasks that it is sent; otherwise does nothing. */
export function answerOrders(tasks: Tasks): void {
  if (!workerData?.answersOrders) return
  lowerThreadPriority(behindOthers)
  parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
  parentPort?.postMessage('ready')

  function answer({ name, input }: Order): Answer {
    try {
      const task = tasks[name]
      if (!task) throw new Error(`There is no task "${name}"; there are ${Object.keys(tasks).join(', ')}.`)
      return { output: task(...(input as never[])) }
    } catch (error) {
      return { error }
    }
  }
}
