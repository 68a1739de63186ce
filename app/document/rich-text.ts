// The shared document's text: a Y.Text as lines, and their changes.
//
// The text is one flat Y.Text. Each `\n` ends a line and carries its block attributes. The last
// line may lack its `\n`; then it is a paragraph. So '' and '\n' are one empty paragraph, and 'a'
// and 'a\n' one line: a `\n` at the very end starts no further line. Editors end the last line when
// they first change anything, so that it can have a kind too. Attributes that are not in the schema
// are ignored, never an error.

import * as Y from 'yjs'
import { keepMarkers } from '../../protocol/format-markers.ts'
import { cutText } from '../../protocol/graphemes.ts'
import { titleFrom } from '../shared/page-messages.ts'

/** Inline formatting, as attributes of the text. */
export interface Marks {
  readonly bold?: true
  readonly italic?: true
  readonly underline?: true
  readonly strike?: true
  readonly code?: true
  readonly script?: 'sub' | 'super'
  /** Must satisfy `safeLink`. */
  readonly link?: string
  /** Attribute of a U+FFFC. An empty `src` shows only `alt`. */
  readonly image?: { readonly src: string; readonly alt: string }
}

export interface TextRun {
  readonly text: string
  readonly marks: Marks
}

export interface LineFormat {
  /**
   * `p`, `h1` to `h6`, `blockquote`, `pre`, or kind and level of a list item: `ul1` to `ul6`, `ol1`
   * to `ol6`.
   */
  readonly block: string
  /** `center`, `right`, `justify`. */
  readonly align: string | null
  /**
   * Number of an `ol` item that does not follow from the item before it: 0 to 999,999,999
   * (CommonMark 0.31, 5.2).
   */
  readonly start?: number
  /** Language of a `pre` line. */
  readonly language?: string
}

export interface Line extends LineFormat {
  readonly runs: readonly TextRun[]
}

export type Attributes = Readonly<Record<string, unknown>>

/**
 * A change of the text; positions count UTF-16 units. `attributes` of a retain are the new values,
 * null to remove.
 */
export type Change =
  | { readonly retain: number; readonly attributes?: Attributes }
  | { readonly insert: string; readonly attributes?: Attributes }
  | { readonly delete: number }

/** UTF-16 units from the start of the text; `to` is exclusive. */
export interface TextRange {
  readonly from: number
  readonly to: number
}

export const softBreak = '\u2028'
export const imageCharacter = '\uFFFC'
export const deepestLevel = 6
const longestLink = 2048
const longestImage = 100_000
const longestAlt = 1000

/** Creates a document whose format markers are removed only by its editors. */
export function createDocument(): Y.Doc {
  const doc = new Y.Doc()
  doc.on('afterTransaction', keepMarkers)
  return doc
}

export const documentText = (doc: Y.Doc): Y.Text => doc.getText('text')

export function linesOf(text: Y.Text): Line[] {
  const changes = text
    .toDelta()
    .map(({ insert, attributes }: { insert: unknown; attributes?: Attributes }) => ({
      insert: typeof insert === 'string' ? insert : imageCharacter,
      attributes,
    }))
  return changeLines(noLines, changes)
}

// Attributes

/**
 * Returns a link's address if it is safe to render: http, https, ftp, mailto, tel, or without a
 * scheme, which is relative to the page. Null otherwise.
 */
export function safeLink(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > longestLink) return null
  // Browsers drop control characters and spaces from schemes, and treat a backslash as a slash.
  if (/[\s\p{Cc}\\]/u.test(value)) return null
  const scheme = /^([^/?#]*?):/.exec(value)?.[1]
  if (scheme === undefined) return /^[^:]/.test(value) ? value : null
  return /^(?:(?:https?|ftp):\/\/.|(?:mailto|tel):.)/i.test(value) ? value : null
}

export function safeImage(value: unknown): { src: string; alt: string } | null {
  if (typeof value !== 'object' || value === null) return null
  const { src = '', alt = '' } = value as { src?: unknown; alt?: unknown }
  if (typeof src !== 'string' || typeof alt !== 'string') return null
  const isKept = src.length <= longestImage && /^data:image\/(png|jpeg|gif|webp);base64,[\w+/]*=*$/.test(src)
  return { src: isKept ? src : '', alt: cutText(alt, longestAlt) }
}

const simpleMarks = ['bold', 'italic', 'underline', 'strike', 'code'] as const

/** The marks for these attributes of text. */
export function marksOf(attributes: Attributes): Marks {
  const marks: { -readonly [Name in keyof Marks]: Marks[Name] } = {}
  for (const name of simpleMarks) if (attributes[name] === true) marks[name] = true
  if (attributes.script === 'sub' || attributes.script === 'super') marks.script = attributes.script
  const link = safeLink(attributes.link)
  if (link !== null) marks.link = link
  const image = safeImage(attributes.image)
  if (image !== null) marks.image = image
  return marks
}

/** Called for each run of a document, so it uses no loop over names. */
export function sameMarks(a: Marks, b: Marks): boolean {
  return (
    a === b ||
    (a.bold === b.bold &&
      a.italic === b.italic &&
      a.underline === b.underline &&
      a.strike === b.strike &&
      a.code === b.code &&
      a.script === b.script &&
      a.link === b.link &&
      a.image?.src === b.image?.src &&
      a.image?.alt === b.image?.alt)
  )
}

const blockPattern = /^(h[1-6]|blockquote|pre|[uo]l[1-6])$/
const languagePattern = /^[\w+#.-]{1,40}$/

/** The format for these attributes of a line's end. */
export function formatOf({ block, align, start, language }: Attributes): LineFormat {
  const known = typeof block === 'string' && blockPattern.test(block) ? block : 'p'
  return {
    block: known,
    align: align === 'center' || align === 'right' || align === 'justify' ? align : null,
    ...(known.startsWith('ol') && isStart(start) && { start }),
    ...(known === 'pre' && isLanguage(language) && { language }),
  }
}

const isStart = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 999_999_999
const isLanguage = (value: unknown): value is string =>
  typeof value === 'string' && languagePattern.test(value)

/** The attributes of a line's end; none for a plain paragraph. */
export function attributesOf({ block, align, start, language }: LineFormat): Attributes {
  return {
    ...(block !== 'p' && { block }),
    ...(align !== null && { align }),
    ...(start !== undefined && { start }),
    ...(language !== undefined && { language }),
  }
}

export function sameFormat(a: LineFormat, b: LineFormat): boolean {
  return a.block === b.block && a.align === b.align && a.start === b.start && a.language === b.language
}

/** Whether the schema has this attribute with this value. */
export function isKnown(key: string, value: unknown): boolean {
  if (key === 'start') return isStart(value)
  if (key === 'language') return isLanguage(value)
  if (key === 'block' || key === 'align') return formatOf({ [key]: value })[key] === value && value !== 'p'
  if (key !== 'image') return value !== undefined && marksOf({ [key]: value })[key as keyof Marks] === value
  const image = safeImage(value)
  const given = Object.entries(value ?? {})
  return image !== null && given.every(([name, text]) => image[name as keyof typeof image] === text)
}

/** Kind and nesting level of a list item's block; null for other blocks. */
export function listOf(block: string): { kind: 'ul' | 'ol'; level: number } | null {
  const kind = block.slice(0, 2)
  return kind === 'ul' || kind === 'ol' ? { kind, level: Number(block.slice(2)) } : null
}

/** In UTF-16 units, without the line's end. */
export function lengthOf(line: Line): number {
  return line instanceof TextLine ? line.length : line.runs.reduce((sum, { text }) => sum + text.length, 0)
}

/** The line that contains an index of the text, and the offset there. */
export function findIn(lines: readonly Line[], index: number): { place: number; line: Line; offset: number } {
  let offset = Math.max(0, index)
  for (const [index, line] of lines.entries()) {
    const length = lengthOf(line)
    if (offset <= length || index === lines.length - 1)
      return { place: index, line, offset: Math.min(offset, length) }
    offset -= length + 1
  }
  throw new Error('A document has at least one line.')
}

export function startOfLine(lines: readonly Line[], index: number): number {
  let start = 0
  for (const line of lines.slice(0, index)) start += lengthOf(line) + 1
  return start
}

// Changes

/** A line made by `linesOf` or `changeLines`; the last one may lack its end. */
class TextLine implements Line {
  readonly runs: readonly TextRun[]
  readonly block: string
  readonly align: string | null
  declare readonly start?: number
  declare readonly language?: string
  readonly isEnded: boolean
  readonly length: number

  constructor(runs: readonly TextRun[], format: LineFormat | null) {
    this.runs = runs
    this.length = runs.reduce((length, { text }) => length + text.length, 0)
    this.isEnded = format !== null
    const { block, align, start, language } = format ?? plainFormat
    this.block = block
    this.align = align
    if (start !== undefined) this.start = start
    if (language !== undefined) this.language = language
  }
}

export const plainFormat: LineFormat = { block: 'p', align: null }

const noLines: readonly Line[] = [new TextLine([], null)]

/** Whether the line has a `\n` in the text; only the last one may lack it. */
export function isEnded(line: Line | undefined): boolean {
  return line instanceof TextLine && line.isEnded
}

/**
 * Returns the lines after `changes`. `lines` must come from this function or from `linesOf`;
 * unchanged lines are the same objects in the result. Takes time proportional to the number of
 * lines and the size of the change.
 */
export function changeLines(lines: readonly Line[], changes: readonly Change[]): Line[] {
  const result: Line[] = []
  let runs: TextRun[] = []
  /** Position of the next unit to read: line, run, offset in the run; then the line's end. */
  let at = 0
  let run = 0
  let offset = 0

  function add(text: string, marks: Marks): void {
    const last = runs.at(-1)
    if (last && sameMarks(last.marks, marks)) runs[runs.length - 1] = { text: last.text + text, marks }
    else runs.push({ text, marks })
  }

  function end(format: LineFormat): void {
    result.push(new TextLine(runs, format))
    runs = []
  }

  /**
   * Reads up to `count` units; calls `keep` for each piece of text and `keepEnd` for each line's
   * end.
   */
  function read(
    count: number,
    keep: ((text: string, marks: Marks) => void) | null,
    keepEnd: ((line: Line) => void) | null,
    mayCopyLines: boolean,
  ): void {
    let left = count
    while (left > 0) {
      const line = lines[at]
      if (!line) return
      if (mayCopyLines && run === 0 && offset === 0 && runs.length === 0 && isEnded(line)) {
        const length = lengthOf(line) + 1
        if (length <= left) {
          result.push(line)
          at += 1
          left -= length
          continue
        }
      }
      const current = line.runs[run]
      if (current) {
        const text = current.text.slice(offset, offset + left)
        keep?.(text, current.marks)
        left -= text.length
        offset += text.length
        if (offset === current.text.length) {
          run += 1
          offset = 0
        }
      } else {
        if (!isEnded(line)) return
        keepEnd?.(line)
        left -= 1
        at += 1
        run = 0
        offset = 0
      }
    }
  }

  for (const change of changes) {
    if ('insert' in change) {
      const { insert, attributes = {} } = change
      const marks = marksOf(attributes)
      for (const [index, piece] of insert.split('\n').entries()) {
        if (index > 0) end(formatOf(attributes))
        if (piece !== '') add(piece, marks)
      }
    } else if ('delete' in change) read(change.delete, null, null, false)
    else if (change.attributes === undefined) read(change.retain, add, end, true)
    else {
      const { attributes } = change
      read(
        change.retain,
        (text, marks) => add(text, marksOf({ ...marks, ...attributes })),
        (line) => end(formatOf({ ...attributesOf(line), ...attributes })),
        false,
      )
    }
  }
  // Adds the rest of the line, then the lines after it.
  const line = lines[at]
  if (line && (run > 0 || offset > 0 || runs.length > 0)) {
    let rest = -offset
    for (const { text } of line.runs.slice(run)) rest += text.length
    read(rest + (isEnded(line) ? 1 : 0), add, end, false)
    if (!isEnded(line)) at += 1
  }
  for (const later of lines.slice(at)) if (isEnded(later) || later.runs.length > 0) result.push(later)
  if (runs.length > 0) result.push(new TextLine(runs, null))
  return result.length > 0 ? result : [...noLines]
}

/**
 * Returns what an event changed. Unlike Yjs's own `delta`, which deletes superfluous markers while
 * reading them, it modifies nothing.
 */
export function changesOf(event: Y.YTextEvent): Change[] {
  const changes: Change[] = []
  const old = new Map<string, unknown>()
  const now = new Map<string, unknown>()
  const set = (all: Map<string, unknown>, { key, value }: Y.ContentFormat) => {
    if (value === null) all.delete(key)
    else all.set(key, value)
  }
  let retained = 0
  const flush = () => {
    if (retained > 0) changes.push({ retain: retained })
    retained = 0
  }
  for (let item = (event.target as Y.Text)._start; item !== null; item = item.right) {
    const isNew = event.adds(item)
    const isGone = item.deleted
    if (isGone && (isNew || !event.deletes(item))) continue
    const { content } = item
    if (content instanceof Y.ContentFormat) {
      if (!isNew) set(old, content)
      if (!isGone) set(now, content)
    } else if (!item.countable) continue
    else if (isGone) {
      flush()
      changes.push({ delete: item.length })
    } else if (isNew) {
      flush()
      const insert = content instanceof Y.ContentString ? content.str : imageCharacter.repeat(item.length)
      changes.push({ insert, attributes: Object.fromEntries(now) })
    } else {
      const attributes = differences(old, now)
      if (attributes === null) retained += item.length
      else {
        flush()
        changes.push({ retain: item.length, attributes })
      }
    }
  }
  return changes
}

function differences(
  old: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
): Attributes | null {
  if (old.size === 0 && now.size === 0) return null
  const found = [...now].filter(([key, value]) => !isSame(old.get(key), value))
  for (const key of old.keys()) if (!now.has(key)) found.push([key, null])
  return found.length > 0 ? Object.fromEntries(found) : null
}

function isSame(a: unknown, b: unknown): boolean {
  return (
    a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
  )
}

/** Returns where a position is after `changes`; text inserted exactly there comes after it. */
export function mapPosition(position: number, changes: readonly Change[]): number {
  let read = 0
  let mapped = position
  for (const change of changes) {
    if (read >= position) break
    if ('retain' in change) read += change.retain
    else if ('insert' in change) mapped += change.insert.length
    else {
      mapped -= Math.min(change.delete, position - read)
      read += change.delete
    }
  }
  return mapped
}

/**
 * Rebases `changes` onto `others`, with the same effect. Where both insert at one place, the text of
 * `changes` comes first if `isFirst`.
 */
export function rebase(changes: readonly Change[], others: readonly Change[], isFirst: boolean): Change[] {
  const rebased: Change[] = []
  let own = 0
  let ownUsed = 0
  let other = 0
  let otherUsed = 0
  for (let change = changes[own]; change; change = changes[own]) {
    const there = others[other]
    if ('insert' in change && (isFirst || !there || !('insert' in there))) {
      rebased.push(change)
      own += 1
    } else if (there && 'insert' in there) {
      rebased.push({ retain: there.insert.length })
      other += 1
    } else {
      const ownLength = sizeOf(change)
      const otherLength = there ? sizeOf(there) : Number.POSITIVE_INFINITY
      const count = Math.min(ownLength - ownUsed, otherLength - otherUsed)
      // Text that others deleted can be neither deleted again nor formatted.
      if (!there || !('delete' in there))
        rebased.push('retain' in change ? { ...change, retain: count } : { delete: count })
      ownUsed += count
      otherUsed += count
      if (ownUsed === ownLength) {
        own += 1
        ownUsed = 0
      }
      if (otherUsed === otherLength) {
        other += 1
        otherUsed = 0
      }
    }
  }
  return rebased
}

function sizeOf(change: Change): number {
  if ('insert' in change) return change.insert.length
  return 'retain' in change ? change.retain : change.delete
}

// Lists

/** A line, or a list whose items may contain lists. */
export type Part = { readonly line: Line } | ListPart

export interface ListPart {
  readonly kind: 'ul' | 'ol'
  /** Number of the first item, for an `ol`. */
  readonly start: number
  readonly items: { readonly line: Line; readonly lists: ListPart[] }[]
}

/**
 * Depth of each line in its list; 0 outside lists. An item belongs to the nearest earlier item of a
 * lower level, so that items of one level stay siblings when the item above them leaves the list.
 */
export function depthsOf(lines: readonly Line[]): number[] {
  let open: number[] = []
  return lines.map(({ block }) => {
    const level = listOf(block)?.level ?? 0
    open = open.filter((outer) => outer < level)
    if (level > 0) open.push(level)
    return open.length
  })
}

/**
 * Nests list items. An item with a `start`, or of another kind than its sibling, starts a new list.
 */
export function partsOf(lines: readonly Line[]): Part[] {
  const parts: Part[] = []
  const depths = depthsOf(lines)
  let open: ListPart[] = []
  for (const [index, line] of lines.entries()) {
    const kind = listOf(line.block)?.kind
    const depth = depths[index] ?? 0
    open = open.slice(0, depth)
    if (!kind) {
      parts.push({ line })
      continue
    }
    if (open[depth - 1]?.kind !== kind || line.start !== undefined) {
      const part: ListPart = { kind, start: line.start ?? 1, items: [] }
      const siblings = depth === 1 ? parts : (open[depth - 2]?.items.at(-1)?.lists ?? parts)
      siblings.push(part)
      open = [...open.slice(0, depth - 1), part]
    }
    open[depth - 1]?.items.push({ line, lists: [] })
  }
  return parts
}

// Plain text and elements

/** The text of the first heading, as a title; empty if there is none. */
export function headingOf(lines: readonly Line[]): string {
  for (const line of lines) {
    const title = /^h[1-6]$/.test(line.block) ? titleFrom(plainText(line)) : ''
    if (title !== '') return title
  }
  return ''
}

/** A line of text for each line; images are replaced by their names. */
export function textOf(lines: readonly Line[]): string {
  return lines.map(plainText).join('\n')
}

function plainText({ runs }: Line): string {
  return runs
    .map(({ text, marks }) =>
      text
        .replaceAll(softBreak, '\n')
        .replaceAll(imageCharacter, marks.image?.alt ? `[${marks.image.alt}]` : ''),
    )
    .join('')
}

/** The elements for marks, outermost first. */
const markElements: readonly (readonly [name: keyof Marks, value: unknown, tag: string])[] = [
  ['link', undefined, 'a'],
  ['bold', true, 'b'],
  ['italic', true, 'i'],
  ['strike', true, 's'],
  ['underline', true, 'u'],
  ['script', 'sub', 'sub'],
  ['script', 'super', 'sup'],
  // Markdown has no marks inside code.
  ['code', true, 'code'],
]

export type InlineNode =
  | { readonly text: string }
  | { readonly tag: string; readonly href: string | null; readonly children: InlineNode[] }
  | { readonly image: { readonly src: string; readonly alt: string } }
  | { readonly lineBreak: true }

/** A line's content as elements: adjacent runs share the element of a common mark. */
export function inlineNodes(runs: readonly TextRun[]): InlineNode[] {
  return nest(runs, 0)
}

function nest(runs: readonly TextRun[], depth: number): InlineNode[] {
  const kind = markElements[depth]
  if (!kind) return runs.flatMap(leaves)
  const [name, value, tag] = kind
  const nodes: InlineNode[] = []
  for (let from = 0; from < runs.length; ) {
    const mark = runs[from]?.marks[name]
    let to = from + 1
    while (to < runs.length && runs[to]?.marks[name] === mark) to += 1
    const children = nest(runs.slice(from, to), depth + 1)
    if (mark !== undefined && (value === undefined || mark === value))
      nodes.push({ tag, href: name === 'link' ? String(mark) : null, children })
    else for (const child of children) nodes.push(child)
    from = to
  }
  return joinTexts(nodes)
}

function leaves({ text, marks }: TextRun): InlineNode[] {
  return text
    .split(/([\u2028\uFFFC])/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      if (piece === softBreak) return { lineBreak: true }
      if (piece === imageCharacter && marks.image) return { image: marks.image }
      return { text: piece }
    })
}

/** Marks may split into several elements a text that is one run here. */
function joinTexts(nodes: readonly InlineNode[]): InlineNode[] {
  const joined: InlineNode[] = []
  for (const node of nodes) {
    const last = joined.at(-1)
    if (last && 'text' in last && 'text' in node) joined[joined.length - 1] = { text: last.text + node.text }
    else joined.push(node)
  }
  return joined
}
