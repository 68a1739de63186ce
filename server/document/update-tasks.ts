// What every document thread does with updates, and how a thread answers.

import { getPriority, setPriority } from 'node:os'
import { isMainThread, parentPort } from 'node:worker_threads'
import * as Y from 'yjs'
import { contradiction } from '../wire/contradiction.ts'
import type { Message } from '../wire/messages.ts'
import { recordOf } from './document-record.ts'
import { createDocument } from './rich-text.ts'
import { readUpdate, type Schema } from './update-reader.ts'

const bytesOf = (update: string) => Buffer.from(update, 'base64')
export const encoded = (update: Uint8Array) => Buffer.from(update).toString('base64')

/** For documents of this schema. */
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
  readUpdate: (update: string) => readUpdate(update, schema),
  recordOf: (messages: readonly Message<'update'>[]) => recordOf(messages, schema).toPlain(),
})

/** None of an update that Yjs cannot read. */
function structsIn(update: string) {
  try {
    return Y.decodeUpdate(bytesOf(update)).structs.filter((struct) => !(struct instanceof Y.Skip))
  } catch {
    return []
  }
}

/** Measures this thread's processor time from now on, ms. */
export function stopwatch(): () => number {
  const before = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }
}

/** Leaves out updates that Yjs cannot read, and returns their indices. */
function readUpdates(updates: readonly string[]) {
  const doc = createDocument()
  const unread: number[] = []
  // Each transaction costs time per client.
  doc.transact(() => {
    for (const [place, update] of updates.entries()) {
      try {
        Y.applyUpdate(doc, bytesOf(update))
      } catch {
        unread.push(place)
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
 * Like `join`, but keeps deleted content: nothing is integrated into the text, which is what may
 * cost too much.
 */
function merge(updates: readonly string[]) {
  const unread = updates.keys().filter((place) => !isUpdate(updates[place] ?? ''))
  const read = updates.filter(isUpdate).map(bytesOf)
  const merged = Y.mergeUpdates([Y.encodeStateAsUpdate(new Y.Doc()), ...read])
  return { update: encoded(merged), bytes: merged.length, unread: [...unread], items: null }
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

/** Values for `nice`. */
const behindOthers = 10
const leastPriority = 19

/** In a thread, performs the tasks that it is sent; otherwise does nothing. */
export function answerOrders(tasks: Readonly<Record<string, (...input: never[]) => unknown>>): void {
  if (isMainThread) return
  // On Linux each thread has its own priority: the event loop goes first.
  if (process.platform === 'linux') setPriority(Math.min(leastPriority, getPriority() + behindOthers))
  parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
  parentPort?.postMessage('ready')

  function answer({ name, input }: Order): Answer {
    try {
      return { output: tasks[name]?.(...(input as never[])) }
    } catch (error) {
      return { error }
    }
  }
}
