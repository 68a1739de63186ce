// The tasks of the document thread: plain data in, plain data out.

import { getPriority, setPriority } from 'node:os'
import { isMainThread, parentPort } from 'node:worker_threads'
import * as Y from 'yjs'
import type { TextType } from '../wire/document-api.ts'
import type { Message } from '../wire/messages.ts'
import { documentOf, linesIn } from './document-reader.ts'
import { recordOf } from './document-record.ts'
import { readHtml, writeHtml } from './html.ts'
import { readMarkdown, writeMarkdown } from './markdown.ts'
import {
  type Change,
  createDocument,
  documentText,
  imageCharacter,
  isEnded,
  type Line,
  linesOf,
  plainFormat,
  softBreak,
} from './rich-text.ts'
import { changesBetween } from './text-diff.ts'
import { readUpdate } from './update-reader.ts'

/** Messages of one channel, in order. */
type Messages = readonly Message[]

/** How a document is changed. */
export interface Rewriting {
  readonly way: 'replace' | 'append'
  readonly lines: readonly Line[]
  /** Whether the lines are plain text: in a shared document, retained text keeps its formatting. */
  readonly isPlain: boolean
}

const readers: Readonly<Record<TextType, (text: string) => readonly Line[]>> = {
  'text/plain': linesOfText,
  'text/markdown': (text) => readMarkdown(text).lines,
  'text/html': (html) => readHtml(html, { isOwn: true }).lines,
}

const writers: Readonly<Record<TextType, (lines: readonly Line[]) => string>> = {
  'text/plain': rawText,
  'text/markdown': writeMarkdown,
  'text/html': writeHtml,
}

/** Values for `nice`. */
const [behindOthers, leastPriority] = [10, 19]

const tasks = {
  /** Lines of a text sent by a program. */
  linesFrom: (type: TextType, text: string) => readers[type](text),
  textOf: (type: TextType, messages: Messages) => writers[type](linesIn(messages)),
  countsOf,
  costOf,
  join,
  merge,
  readUpdate: (update: string) => readUpdate(update),
  recordOf: (messages: readonly Message<'update'>[]) => recordOf(messages).toPlain(),
  /**
   * `updateFor` returns the update in base64, `htmlFor` the HTML, that changes the document
   * accordingly; null if nothing changes.
   */
  updateFor: (messages: Messages, rewriting: Rewriting) =>
    updateFrom(messages, (text) => changesFor(rewriting, text)),
  htmlFor(messages: Messages, { way, lines }: Rewriting): string | null {
    const now = linesIn(messages)
    const html = writeHtml(way === 'replace' ? lines : [...now, ...lines])
    return html === writeHtml(now) ? null : html
  },
  /**
   * The update from the document to the newest page of the mirror editor, written by this Yjs
   * client.
   */
  updateToPage: (messages: Messages, client: number) =>
    updateFrom(messages, (text) => changesBetween(linesOf(text), linesIn(messages)), client) ??
    encoded(Y.encodeStateAsUpdate(new Y.Doc())),
}

const wordSegmenter = new Intl.Segmenter('en', { granularity: 'word' })
const characterSegmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Counts Unicode words (UAX #29, 4), by dictionary in scripts without spaces, and grapheme clusters
 * (UAX #29, 3) with spaces but without line ends; also returns the processor time of counting.
 */
function countsOf(messages: Messages) {
  const cpuMs = stopwatch()
  const counts = { words: 0, characters: 0 }
  const text = rawText(linesIn(messages)).replaceAll(softBreak, '\n').replaceAll(imageCharacter, '')
  for (const line of text.split(/[\n\r]/)) {
    // The segmenter treats some underscores as words.
    for (const { segment, isWordLike } of wordSegmenter.segment(line))
      if (isWordLike && !/^_+$/.test(segment)) counts.words += 1
    for (const _segment of characterSegmenter.segment(line)) counts.characters += 1
  }
  return { ...counts, cpuMs: cpuMs() }
}

/** Measures this thread's processor time from now on, ms. */
function stopwatch(): () => number {
  const before = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }
}

/** Each line feed ends a line. */
function linesOfText(text: string): Line[] {
  const lines = text.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((words) => ({ ...plainFormat, runs: words === '' ? [] : [{ text: words, marks: {} }] }))
}

/**
 * The inverse of `linesOfText`, with U+2028 for a line break within a line and U+FFFC for an image.
 */
function rawText(lines: readonly Line[]): string {
  const [only, ...others] = lines
  if (only?.runs.length === 0 && others.length === 0 && !isEnded(only)) return ''
  return lines.map(({ runs }) => `${runs.map(({ text }) => text).join('')}\n`).join('')
}

const bytesOf = (update: string) => Buffer.from(update, 'base64')
const encoded = (update: Uint8Array) => Buffer.from(update).toString('base64')

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

/**
 * Returns one update in base64; null if nothing changes. `client` is the Yjs client that writes, by
 * default a new one.
 */
function updateFrom(
  messages: Messages,
  changes: (text: Y.Text) => readonly Change[],
  client?: number,
): string | null {
  const doc = documentOf(messages)
  if (client !== undefined) doc.clientID = client
  let made: Uint8Array | null = null
  doc.on('update', (update: Uint8Array) => {
    made = update
  })
  const text = documentText(doc)
  text.applyDelta([...changes(text)])
  return made && encoded(made)
}

function changesFor({ way, lines, isPlain }: Rewriting, text: Y.Text): readonly Change[] {
  const now = linesOf(text)
  if (way === 'replace') {
    const changes = changesBetween(now, lines)
    return isPlain
      ? changes.map((change) => ('retain' in change ? { retain: change.retain } : change))
      : changes
  }
  if (lines.length === 0) return []
  const [only, ...others] = now
  const isBlank = others.length === 0 && only?.block === 'p' && only.runs.length === 0
  if (isBlank) return changesBetween(now, lines)
  const end: readonly Change[] = isEnded(now.at(-1)) ? [] : [{ insert: '\n', attributes: {} }]
  return [{ retain: text.length }, ...end, ...changesBetween([], lines)]
}

export type Tasks = typeof tasks
export type TaskName = keyof Tasks
export type Input<Name extends TaskName> = Parameters<Tasks[Name]>
export type Output<Name extends TaskName> = ReturnType<Tasks[Name]>

export interface Order<Name extends TaskName = TaskName> {
  readonly name: Name
  readonly input: Input<Name>
}

export type Answer = { readonly output: Output<TaskName> } | { readonly error: unknown }

export function perform<Name extends TaskName>(name: Name, input: Input<Name>): Output<Name> {
  // Each task is called with its own input types.
  const task = tasks[name] as unknown as (...given: Input<Name>) => Output<Name>
  return task(...input)
}

function answer({ name, input }: Order): Answer {
  try {
    return { output: perform(name, input) }
  } catch (error) {
    return { error }
  }
}

if (!isMainThread) {
  // On Linux each thread has its own priority: the event loop goes first.
  if (process.platform === 'linux') setPriority(Math.min(leastPriority, getPriority() + behindOthers))
  parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
  parentPort?.postMessage('ready')
}
