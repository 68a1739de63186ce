// Edits by keys and tools: pure functions from a document's lines and selection to changes.

import {
  type Attributes,
  attributesOf,
  type Change,
  deepestLevel,
  depthsOf,
  findIn,
  formatOf,
  type Line,
  type LineFormat,
  lengthOf,
  listOf,
  type Marks,
  plainFormat,
  safeLink,
  startOfLine,
  type TextRange,
} from '../../app/document/rich-text.ts'
import { graphemeAfter, graphemeBefore, piecesOf } from '../../protocol/graphemes.ts'
import type { Block, ListKind, Mark } from './commands.ts'

/** The ends of a selection, as indices in the text. */
export interface Selected {
  readonly anchor: number
  readonly head: number
}

/** An edit and the selection after it. */
export interface Edit {
  readonly changes: readonly Change[]
  readonly selected: Selected
  /** Marks for text typed next; without them, those of the text around the caret. */
  readonly nextMarks?: Marks
}

export function rangeOf({ anchor, head }: Selected): TextRange {
  return { from: Math.min(anchor, head), to: Math.max(anchor, head) }
}

const caretAt = (index: number): Selected => ({ anchor: index, head: index })

/** Collects changes at ascending places, counted in the text before them. */
class Changes {
  readonly list: Change[] = []
  #read = 0

  to(index: number): this {
    if (index > this.#read) this.list.push({ retain: index - this.#read })
    this.#read = Math.max(this.#read, index)
    return this
  }

  insert(text: string, attributes: Attributes): this {
    if (text !== '') this.list.push({ insert: text, attributes: { ...attributes } })
    return this
  }

  delete(count: number): this {
    if (count > 0) this.list.push({ delete: count })
    this.#read += count
    return this
  }

  format(count: number, attributes: Attributes): this {
    if (Object.keys(attributes).length > 0 && count > 0) {
      this.list.push({ retain: count, attributes })
      this.#read += count
    }
    return this
  }
}

// Selection places

/** The lines that a range touches, with their start indices. */
export function linesIn(
  lines: readonly Line[],
  { from, to }: TextRange,
): { place: number; start: number; line: Line }[] {
  const first = findIn(lines, from).place
  const last = findIn(lines, to).place
  let start = startOfLine(lines, first)
  return lines.slice(first, last + 1).map((line, index) => {
    const found = { place: first + index, start, line }
    start += lengthOf(line) + 1
    return found
  })
}

/** The content of a range, for copying. Part of a single line is a paragraph. */
export function linesWithin(lines: readonly Line[], { from, to }: TextRange): Line[] {
  const touched = linesIn(lines, { from, to })
  return touched.map(({ line, start }) => {
    const begin = Math.max(0, from - start)
    const end = Math.min(lengthOf(line), to - start)
    let at = 0
    const runs = line.runs.flatMap(({ text, marks }) => {
      const part = text.slice(Math.max(0, begin - at), Math.max(0, end - at))
      at += text.length
      return part === '' ? [] : [{ text: part, marks }]
    })
    const isPart = touched.length === 1 && end - begin < lengthOf(line)
    // A selection that ends at the beginning of a line does not include that line.
    const isBeginning = touched.length > 1 && start === to && lengthOf(line) > 0
    return { ...(isPart || isBeginning ? plainFormat : formatOf(attributesOf(line))), runs }
  })
}

function textOfLine(line: Line): string {
  return line.runs.map(({ text }) => text).join('')
}

interface Slash extends TextRange {
  /** What follows the slash. */
  readonly words: string
}

/** A slash that begins the caret's line, with what follows it up to the caret; null if there is none, and in code. */
export function slashBefore(lines: readonly Line[], { anchor, head }: Selected): Slash | null {
  const { line, offset } = findIn(lines, head)
  const text = textOfLine(line).slice(0, offset)
  const isSlash = anchor === head && line.block !== 'pre' && text.startsWith('/') && !/\s/.test(text)
  return isSlash ? { from: head - offset, to: head, words: text.slice(1) } : null
}

export function runAt(line: Line, offset: number) {
  if (offset < 0) return undefined
  let end = 0
  return line.runs.find(({ text }) => {
    end += text.length
    return offset < end
  })
}

export function runsIn(lines: readonly Line[], range: TextRange) {
  return linesIn(lines, range).flatMap(({ start, line }) => {
    let at = start
    return line.runs.filter(({ text }) => {
      const begin = at
      at += text.length
      return begin < range.to && at > range.from
    })
  })
}

/**
 * Marks for text typed there: those before the caret or, at the beginning of a line and when
 * replacing text, those after it.
 */
export function marksAt(lines: readonly Line[], index: number, replaces = false): Marks {
  const { line, offset } = findIn(lines, index)
  const before = runAt(line, offset - 1)
  const after = runAt(line, offset)
  const { image, ...marks } = ((replaces ? after : (before ?? after)) ?? before)?.marks ?? {}
  // A link grows only inside.
  if (marks.link !== undefined && (before?.marks.link !== after?.marks.link || !before)) {
    const { link, ...others } = marks
    return others
  }
  return marks
}

export function hasMark(marks: Marks, mark: Mark): boolean {
  return mark === 'sub' || mark === 'super' ? marks.script === mark : marks[mark] === true
}

/** For several whole lines, includes the end of the last one, so that no empty line remains. */
export function withLineEnd(lines: readonly Line[], { from, to }: TextRange): TextRange {
  const first = findIn(lines, from)
  const last = findIn(lines, to)
  const isWhole = first.offset === 0 && last.offset === lengthOf(last.line)
  return { from, to: isWhole && last.place > first.place && last.place < lines.length - 1 ? to + 1 : to }
}

// Text

export function insertText(lines: readonly Line[], range: TextRange, text: string, marks: Marks): Edit {
  const changes = new Changes().to(range.from).insert(text, { ...marks })
  remove(changes, lines, range)
  return { changes: changes.list, selected: caretAt(range.from + text.length) }
}

export function removeRange(lines: readonly Line[], range: TextRange): Edit {
  const changes = new Changes().to(range.from)
  remove(changes, lines, range)
  return { changes: changes.list, selected: caretAt(range.from) }
}

/** Merged lines take the first one's format, unless it was empty or both are whole. */
function remove(changes: Changes, lines: readonly Line[], { from, to }: TextRange): void {
  changes.delete(to - from)
  const first = findIn(lines, from)
  const last = findIn(lines, to)
  const isWhole = first.offset === 0 && last.offset === 0
  if (first.place !== last.place && lengthOf(first.line) > 0 && !isWhole)
    formatEnd(changes, to + lengthOf(last.line) - last.offset, last.line, first.line)
}

function formatEnd(changes: Changes, index: number, line: LineFormat, next: LineFormat): void {
  const now = attributesOf(line)
  const then = attributesOf(formatOf(attributesOf(next)))
  const changed: Record<string, unknown> = {}
  for (const key of Object.keys({ ...now, ...then })) {
    if (now[key] !== then[key]) changed[key] = then[key] ?? null
  }
  changes.to(index).format(1, changed)
}

/** Firefox would delete only a part of it. */
const isPictogram = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u

/**
 * `target`: what the browser would delete, if it says so. At the beginning of a line Backspace
 * first removes the format, then joins the line with the one above.
 */
export function deleteText(
  lines: readonly Line[],
  selected: Selected,
  target: TextRange | null,
  inputType: string,
): Edit | null {
  const asked = target && target.to > target.from ? target : null
  let range = asked ?? rangeOf(selected)
  const caret = selected.head
  if (caret === selected.anchor) {
    const { line, offset } = findIn(lines, caret)
    const before = textOfLine(line).slice(0, offset)
    const after = textOfLine(line).slice(offset)
    const isBeside = !asked || (asked.to >= caret - 1 && asked.from <= caret + 1)
    const cluster = graphemeBefore(before)
    if (inputType.endsWith('Backward')) {
      if (isBeside && before === '') return backspace(lines, caret)
      if (!asked) range = { from: caret - cluster.length, to: caret }
      else if (inputType === 'deleteContentBackward' && asked.to === caret && isPictogram.test(cluster))
        range = { from: Math.min(asked.from, caret - cluster.length), to: caret }
    } else if (inputType.endsWith('Forward')) {
      if (isBeside && after === '') range = { from: caret, to: caret + 1 }
      else if (!asked) range = { from: caret, to: caret + graphemeAfter(after).length }
    }
  }
  const to = Math.min(range.to, startOfLine(lines, lines.length) - 1)
  return to <= range.from ? null : removeRange(lines, { from: range.from, to })
}

function backspace(lines: readonly Line[], index: number): Edit | null {
  const { place, line } = findIn(lines, index)
  if (line.block !== 'p') {
    const changes = new Changes()
    formatEnd(changes, index + lengthOf(line), line, { block: 'p', align: line.align })
    return { changes: changes.list, selected: caretAt(index) }
  }
  return place > 0 ? removeRange(lines, { from: index - 1, to: index }) : null
}

/**
 * Exchanges the characters beside the caret, which moves after both; at the end of a line, the last
 * two.
 */
export function transpose(lines: readonly Line[], caret: number): Edit | null {
  const { line, offset } = findIn(lines, caret)
  const text = textOfLine(line)
  const isAtEnd = offset === text.length
  const middle = isAtEnd ? offset - graphemeBefore(text).length : offset
  const one = graphemeBefore(text.slice(0, middle))
  const other = graphemeAfter(text.slice(middle))
  if (one === '' || other === '') return null
  const from = caret - offset + middle - one.length
  const changes = new Changes()
    .to(from)
    .insert(other, { ...runAt(line, middle)?.marks })
    .to(from + one.length)
    .delete(other.length)
  return { changes: changes.list, selected: caretAt(from + one.length + other.length) }
}

/** Blocks whose lines form one unit, which an empty line at the end leaves. */
const isContinued = (block: string) => block === 'blockquote' || block === 'pre'

/** Splits a line, as Enter does. */
export function splitLine(lines: readonly Line[], { from, to }: TextRange): Edit {
  const { place, line, offset } = findIn(lines, from)
  const changes = new Changes()
  const list = listOf(line.block)
  const isEmpty = from === to && lengthOf(line) === 0
  if (isEmpty && (list || (isContinued(line.block) && lines[place + 1]?.block !== line.block))) {
    const outer = list && list.level > 1 ? `${list.kind}${list.level - 1}` : 'p'
    formatEnd(changes, from, line, { block: outer, align: line.align })
    return { changes: changes.list, selected: caretAt(from) }
  }
  const rest = findIn(lines, to)
  const tail = lengthOf(rest.line) - rest.offset
  const isHeading = /^h[1-6]$/.test(line.block)
  const plain: LineFormat = { block: 'p', align: line.align }
  const head = isHeading && offset === 0 && tail > 0 ? plain : line
  // Only the first of the two lines keeps the number that starts a list.
  const { start, ...continued } = formatOf(attributesOf(line))
  changes
    .to(from)
    .insert('\n', attributesOf(head))
    .delete(to - from)
  formatEnd(changes, to + tail, rest.line, isHeading && tail === 0 ? plain : continued)
  return { changes: changes.list, selected: caretAt(from + 1) }
}

// Blocks

/**
 * Gives the lines that the selection touches new formats, as returned by `change`; null leaves a
 * line unchanged.
 */
function formatLines(
  lines: readonly Line[],
  selected: Selected,
  change: (line: Line, place: number) => Partial<LineFormat> | null,
): Edit {
  const changes = new Changes()
  for (const { place, start, line } of linesIn(lines, rangeOf(selected))) {
    const next = change(line, place)
    if (next) formatEnd(changes, start + lengthOf(line), line, { ...line, ...next })
  }
  return { changes: changes.list, selected }
}

/** If the block is already of this kind, it becomes a paragraph. */
export function toggleBlock(lines: readonly Line[], selected: Selected, block: Block): Edit {
  const isThere = linesIn(lines, rangeOf(selected)).every(({ line }) => line.block === block)
  return formatLines(lines, selected, () => ({ block: isThere ? 'p' : block }))
}

export function toggleList(lines: readonly Line[], selected: Selected, kind: ListKind): Edit {
  const isThere = linesIn(lines, rangeOf(selected)).every(({ line }) => listOf(line.block)?.kind === kind)
  return formatLines(lines, selected, ({ block }) => ({
    block: isThere ? 'p' : `${kind}${listOf(block)?.level ?? 1}`,
  }))
}

/**
 * Changes the depth of the selected list items. Levels of the other items in the same list become
 * their depths, so that new levels mean what is visible.
 */
export function indent(lines: readonly Line[], selected: Selected, by: 1 | -1): Edit {
  const depths = depthsOf(lines)
  const touched = linesIn(lines, rangeOf(selected))
  const levels = new Map<number, number>()
  for (const { place, line } of touched) {
    if (!listOf(line.block)) continue
    const depth = depths[place] ?? 0
    const most = Math.min(deepestLevel, (levels.get(place - 1) ?? depths[place - 1] ?? 0) + 1)
    levels.set(place, depth + by > most ? depth : depth + by)
  }
  const changes = new Changes()
  if (levels.size === 0) return { changes: changes.list, selected }
  let first = touched[0]?.place ?? 0
  let last = touched.at(-1)?.place ?? 0
  const isItem = (place: number) => (depths[place] ?? 0) > 0
  while (isItem(first - 1)) first -= 1
  while (isItem(last + 1)) last += 1
  let start = startOfLine(lines, first)
  for (const [index, line] of lines.slice(first, last + 1).entries()) {
    const list = listOf(line.block)
    const level = levels.get(first + index) ?? depths[first + index] ?? 0
    const block = level < 1 ? 'p' : `${list?.kind}${level}`
    if (list) formatEnd(changes, start + lengthOf(line), line, { ...line, block })
    start += lengthOf(line) + 1
  }
  return { changes: changes.list, selected }
}

/** A line's prefix, as in Markdown, and the format that it requests. */
const shorthands: readonly (readonly [
  RegExp,
  (sign: string, before: Line | undefined) => Partial<LineFormat>,
])[] = [
  [/^#{1,6} $/, (sign) => ({ block: `h${sign.length - 1}` })],
  [/^[-*+] $/, () => ({ block: 'ul1' })],
  [/^\d{1,9}[.)] $/, (sign, before) => numbered(Number.parseInt(sign, 10), before)],
  [/^> $/, () => ({ block: 'blockquote' })],
  [/^```$/, () => ({ block: 'pre' })],
]

function numbered(start: number, before: Line | undefined): Partial<LineFormat> {
  return start === 1 || before?.block.startsWith('ol') ? { block: 'ol1' } : { block: 'ol1', start }
}

/** Formats what was typed before the caret as in Markdown; null if it is nothing of the kind. */
export function expandShorthand(lines: readonly Line[], caret: number): Edit | null {
  const { line, offset } = findIn(lines, caret)
  if (line.block === 'pre') return null
  const link = /\s/.test(textOfLine(line)[offset - 1] ?? '') ? linkTyped(lines, caret - 1) : null
  return (
    formatPrefix(lines, caret) ??
    formatSigned(lines, caret) ??
    (link && { ...link, selected: caretAt(caret) })
  )
}

/** Null unless a paragraph's text before the caret is such a prefix. */
function formatPrefix(lines: readonly Line[], caret: number): Edit | null {
  const { place, line, offset } = findIn(lines, caret)
  if (line.block !== 'p' || offset > 11) return null
  const sign = textOfLine(line).slice(0, offset)
  const found = shorthands.find(([pattern]) => pattern.test(sign))
  if (!found || (sign === '```' && offset < lengthOf(line))) return null
  const start = caret - offset
  const changes = new Changes().to(start).delete(offset)
  formatEnd(changes, start + lengthOf(line), line, { ...line, ...found[1](sign, lines[place - 1]) })
  return { changes: changes.list, selected: caretAt(start) }
}

/** Signs around text, as in Markdown, and the mark that they request. */
const signs: readonly (readonly [sign: string, attributes: Attributes])[] = [
  ['**', { bold: true }],
  ['~~', { strike: true }],
  ['*', { italic: true }],
  ['_', { italic: true }],
  ['`', { code: true }],
]

/** Null unless the text before the caret is between two such signs. */
function formatSigned(lines: readonly Line[], caret: number): Edit | null {
  const { line, offset } = findIn(lines, caret)
  const text = textOfLine(line).slice(0, offset)
  // In an address they are part of it.
  if (isAddress.test(text.split(/\s/).at(-1) ?? '')) return null
  for (const [sign, attributes] of signs) {
    if (!text.endsWith(sign)) continue
    const end = offset - sign.length
    const open = end < sign.length + 1 ? -1 : text.lastIndexOf(sign, end - sign.length - 1)
    const content = text.slice(open + sign.length, end)
    const isAlone = open >= 0 && !/[\p{L}\p{N}]$/u.test(text.slice(0, open)) && text[open - 1] !== sign[0]
    if (!isAlone || content !== content.trim() || /\u2028/.test(content) || content.includes(sign[0] ?? ''))
      continue
    const start = caret - offset
    const range = { from: start + open, to: caret }
    if (runsIn(lines, range).some(({ marks }) => marks.code)) return null
    const changes = new Changes()
      .to(range.from)
      .delete(sign.length)
      .format(content.length, attributes)
      .delete(sign.length)
    return {
      changes: changes.list,
      selected: caretAt(range.from + content.length),
      nextMarks: marksAt(lines, range.from),
    }
  }
  return null
}

const isAddress = /^\W?(?:https?:|www\.)/i

/** Null unless the text before the caret ends with an address. */
export function linkTyped(lines: readonly Line[], caret: number): Edit | null {
  const { line, offset } = findIn(lines, caret)
  if (line.block === 'pre') return null
  const text = textOfLine(line).slice(0, offset)
  const words = text.split(/\s/).at(-1) ?? ''
  if (!isAddress.test(words)) return null
  const word = words.replace(/^\W/, '')
  let address = word
  const isOpen = () => address.endsWith(')') && address.split('(').length >= address.split(')').length
  while (/[.,;:!?)>"'”’]$/.test(address) && !isOpen()) address = address.slice(0, -1)
  const href = /^www\.[^.]/i.test(address) ? `https://${address}` : address
  if (!/^https?:\/\/[^/.]+[.:/]./i.test(href) || !URL.canParse(href)) return null
  const link = safeLink(href)
  const from = caret - word.length
  const range = { from, to: from + address.length }
  if (link === null || runsIn(lines, range).some(({ marks }) => marks.link || marks.code)) return null
  return formatText(range, caretAt(caret), { link })
}

// Marks

export function formatText(range: TextRange, selected: Selected, attributes: Attributes): Edit {
  const changes = new Changes().to(range.from).format(range.to - range.from, attributes)
  return { changes: changes.list, selected }
}

/** The whole link around a caret; null outside links. */
export function linkAround(lines: readonly Line[], caret: number): TextRange | null {
  const { line, offset } = findIn(lines, caret)
  const link = runAt(line, offset)?.marks.link ?? runAt(line, offset - 1)?.marks.link
  if (link === undefined) return null
  let first = 0
  let last = 0
  for (const { text, marks } of line.runs) {
    const isBehind = last >= offset
    if (marks.link !== link && isBehind) break
    last += text.length
    if (marks.link !== link) first = last
  }
  return { from: caret - offset + first, to: caret - offset + last }
}

// Lines

/**
 * Inserts lines in place of a range. A single line joins the present line; an empty present line
 * takes its format, unless it is a paragraph. Of several lines, the first and the last join it only
 * if they are paragraphs or of the same kind.
 */
export function insertLines(lines: readonly Line[], range: TextRange, given: readonly Line[]): Edit | null {
  const inserted = atLevelOf(findIn(lines, range.from).line, given)
  const [first] = inserted
  const last = inserted.at(-1)
  if (!first || !last) return null
  const { place, line: present, offset } = findIn(lines, range.from)
  const rest = findIn(lines, range.to)
  const tail = lengthOf(rest.line) - rest.offset
  const isSingle = inserted.length === 1
  const isBlank = lengthOf(present) === 0
  const beginsLine = isBlank || (offset === 0 && !isSingle)
  const joins = ({ block }: Line, there: Line) => isSingle || block === 'p' || block === there.block
  const startsApart = !beginsLine && !joins(first, present)
  const endsApart = tail > 0 && !joins(last, rest.line)
  const changes = new Changes().to(range.from)
  let length = 0
  const add = (text: string, attributes: Attributes) => {
    changes.insert(text, attributes)
    length += text.length
  }
  if (startsApart) add('\n', attributesOf(present))
  let before = beginsLine || startsApart ? first : present
  for (const [index, line] of inserted.entries()) {
    if (index > 0) add('\n', attributesOf(before))
    if (index > 0) before = line
    for (const { text, marks } of line.runs) add(text, { ...marks })
  }
  const caret = range.from + length
  if (endsApart) add('\n', attributesOf(last))
  changes.delete(range.to - range.from)
  let format: LineFormat = rest.line
  if (tail === 0 && isSingle && isBlank && last.block === 'p')
    format = { ...present, align: last.align ?? present.align }
  else if (tail === 0 && (!isSingle || isBlank)) format = last
  else if (place !== rest.place && !isBlank && !endsApart) format = present
  // A number starts one line only.
  if (format === present && length > 0 && (startsApart || !(isSingle || beginsLine))) {
    const { start, ...continued } = formatOf(attributesOf(present))
    format = continued
  }
  formatEnd(changes, range.to + tail, rest.line, format)
  return { changes: changes.list, selected: caretAt(caret) }
}

/** Items inserted into a list are at its level, with their own lists below. */
function atLevelOf(present: Line, inserted: readonly Line[]): readonly Line[] {
  const there = listOf(present.block)
  const first = listOf(inserted[0]?.block ?? '')
  if (!there || !first || there.level === first.level) return inserted
  return inserted.map((line) => {
    const list = listOf(line.block)
    if (!list) return line
    const level = Math.min(deepestLevel, Math.max(1, list.level + there.level - first.level))
    return { ...line, block: `${list.kind}${level}` }
  })
}

/**
 * Splits the changes into batches that each insert at most `most` UTF-16 units, so that each fits
 * into a message.
 */
export function inBatches(changes: readonly Change[], most: number): Change[][] {
  const batches: Change[][] = []
  let batch: Change[] = []
  let written = 0
  let size = 0
  const close = () => {
    batches.push(batch)
    batch = [{ retain: written }]
    size = 0
  }
  for (const change of changes) {
    if ('insert' in change)
      for (const insert of piecesOf(change.insert, most)) {
        const cost = insert.length + JSON.stringify(change.attributes ?? {}).length
        if (size > 0 && size + cost > most) close()
        batch.push({ insert, attributes: { ...change.attributes } })
        size += cost
        written += insert.length
      }
    else {
      batch.push(change)
      if ('retain' in change) written += change.retain
    }
  }
  return [...batches, batch]
}
