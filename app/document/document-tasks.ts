// The tasks of the page's document threads: plain data in, plain data out.

import * as Y from 'yjs'
import { cutText } from '../../protocol/graphemes.ts'
import type { Message } from '../../protocol/messages.ts'
import { performTasks } from '../../server/documents.ts'
import type { TextType } from '../shared/document-api.ts'
import { plain } from '../shared/search.ts'
import { documentOf, linesIn } from './document-reader.ts'
import { readHtml, writeHtml } from './html.ts'
import { readMarkdown, writeMarkdown } from './markdown.ts'
import { pageSchema } from './page-schema.ts'
import {
  type Change,
  documentText,
  headingOf,
  isEnded,
  type Line,
  linesOf,
  plainFormat,
  textOf,
} from './rich-text.ts'
import { changesBetween } from './text-diff.ts'

/** Messages of one channel, in order. */
type Messages = readonly Message[]

/** The way in which a document is changed. */
export interface Rewriting {
  readonly way: 'replace' | 'append'
  readonly lines: readonly Line[]
  /** Whether the lines are plain text: retained text keeps its formatting. */
  readonly isPlain: boolean
}

/** What the server shows and searches of a document. */
export interface Reading {
  /** HTML of at most 6,000 characters. */
  readonly firstLines: string
  /** Text of the first heading, as a title; empty if there is none. */
  readonly heading: string
  /** The first 100,000 characters. */
  readonly text: string
  /** The same as it is compared in a search. */
  readonly plainText: string
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

/** Some sixty lines, more than a window shows. */
const maxFirstLines = 6000

/** Characters of text. */
const maxSearched = 100_000

export const tasks = {
  /** Lines of a text sent by a program. */
  linesFrom: (type: TextType, text: string) => readers[type](text),
  textOf: (type: TextType, messages: Messages) => writers[type](linesIn(messages)),
  /** Without styles, which the page's policy denies. */
  readingOf(messages: Messages): Reading {
    const lines = linesIn(messages)
    const html = writeHtml(linesWithin(lines, maxFirstLines))
    const text = cutText(textOf(lines), maxSearched)
    return {
      firstLines: html.replaceAll(/ style="text-align: (\w+)"/g, ' align="$1"'),
      heading: headingOf(lines),
      text,
      plainText: plain(text),
    }
  },
  /** The update in base64 that changes the document accordingly; null if nothing changes. */
  updateFor: (messages: Messages, rewriting: Rewriting) =>
    updateFrom(messages, (text) => changesFor(rewriting, text)),
  /** The update that turns the document into the newest `edit` of an old window, written by this Yjs client. */
  updateToPage: (messages: Messages, client: number) =>
    updateFrom(messages, (text) => changesBetween(linesOf(text), linesIn(messages)), client) ??
    encoded(Y.encodeStateAsUpdate(new Y.Doc())),
}

function linesWithin(lines: readonly Line[], maxCharacters: number): readonly Line[] {
  let left = maxCharacters
  const end = lines.findIndex((line) => {
    left -= writeHtml([line]).length
    return left < 0
  })
  return end < 0 ? lines : lines.slice(0, end)
}

const encoded = (update: Uint8Array) => Buffer.from(update).toString('base64')

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

export type PageTasks = typeof tasks

performTasks(pageSchema, tasks)
