// The changes that make one list of lines equal to another.

import diff from 'fast-diff'
import {
  type Attributes,
  attributesOf,
  type Change,
  isEnded,
  type Line,
  sameFormat,
  sameMarks,
  startOfLine,
  type TextRange,
} from './rich-text.ts'

/** Limit for comparing changed lines character by character. */
const maxCompared = 4000

/** Number of distinct lines that can be encoded as one code unit each, without surrogates. */
const maxLines = 0xd800

/**
 * The selection before and after a change, as positions in its text: shows which of several equal
 * characters is new.
 */
interface SelectionHint {
  readonly before: TextRange
  readonly after: TextRange
}

/**
 * Returns the changes from `now`, the lines of a document, to `then`, each of whose lines gets an end.
 * Text that both have stays, with its authors; only its formatting may change.
 */
export function changesBetween(
  now: readonly Line[],
  then: readonly Line[],
  hint: SelectionHint | null = null,
): Change[] {
  const most = Math.min(now.length, then.length)
  let same = 0
  while (same < most && isSameLine(now[same], then[same])) same += 1
  let sameAtEnd = 0
  while (sameAtEnd < most - same && isSameLine(now.at(-1 - sameAtEnd), then.at(-1 - sameAtEnd)))
    sameAtEnd += 1
  const skipped = startOfLine(now, same)
  const before = now.slice(same, now.length - sameAtEnd)
  const after = then.slice(same, then.length - sameAtEnd)
  const moved = hint && { before: moveBy(hint.before, -skipped), after: moveBy(hint.after, -skipped) }
  const changes = compare(
    skipped,
    before.flatMap((line) => spansOf(line, sameAtEnd > 0 || line !== now.at(-1) || isEnded(line))),
    after.flatMap((line) => spansOf(line, true)),
    moved,
  )
  while (changes.length > 0 && isIdle(changes.at(-1))) changes.pop()
  return changes
}

function isSameLine(one: Line | undefined, other: Line | undefined): boolean {
  if (one === other) return true
  if (!one || !other || !isEnded(one) || !sameFormat(one, other)) return false
  const { runs } = other
  return (
    one.runs.length === runs.length &&
    one.runs.every(({ text, marks }, index) => {
      const run = runs[index]
      return run !== undefined && text === run.text && sameMarks(marks, run.marks)
    })
  )
}

const moveBy = ({ from, to }: TextRange, by: number): TextRange => ({ from: from + by, to: to + by })

const isIdle = (change: Change | undefined) =>
  change !== undefined && 'retain' in change && change.attributes === undefined

/** Text with uniform attributes. */
interface Span {
  readonly text: string
  readonly attributes: Attributes
}

function spansOf(line: Line, hasEnd: boolean): Span[] {
  const spans: Span[] = line.runs.map(({ text, marks }) => ({ text, attributes: { ...marks } }))
  return hasEnd ? [...spans, { text: '\n', attributes: attributesOf(line) }] : spans
}

function retain(changes: Change[], count: number): void {
  const last = changes.at(-1)
  if (last && 'retain' in last && !last.attributes)
    changes[changes.length - 1] = { retain: last.retain + count }
  else if (count > 0) changes.push({ retain: count })
}

function compare(
  skipped: number,
  before: readonly Span[],
  after: readonly Span[],
  hint: SelectionHint | null,
): Change[] {
  const present = reader(before)
  const wanted = reader(after)
  const changes: Change[] = []
  retain(changes, skipped)
  let deleted: Change[] = []
  for (const [kind, { length }] of compareTexts(textOf(before), textOf(after), hint)) {
    if (kind === diff.DELETE) {
      deleted.push({ delete: length })
      present.read(length)
      continue
    }
    if (kind === diff.INSERT)
      // Copied, because Yjs adds to it.
      for (const { text, attributes } of wanted.read(length))
        changes.push({ insert: text, attributes: { ...attributes } })
    // Text goes before what it replaces: it stays behind the character to its left.
    changes.push(...deleted)
    deleted = []
    if (kind === diff.EQUAL)
      for (const { text, attributes } of wanted.read(length))
        for (const span of present.read(text.length)) {
          const changed = differences(span.attributes, attributes)
          if (changed) changes.push({ retain: span.text.length, attributes: changed })
          else retain(changes, span.text.length)
        }
  }
  return [...changes, ...deleted]
}

const textOf = (spans: readonly Span[]) => spans.map(({ text }) => text).join('')

function reader(spans: readonly Span[]) {
  let index = 0
  let used = 0
  return {
    read(count: number): Span[] {
      const found: Span[] = []
      for (let left = count; left > 0; ) {
        const span = spans[index]
        if (!span) break
        const text = span.text.slice(used, used + left)
        found.push({ text, attributes: span.attributes })
        left -= text.length
        used += text.length
        if (used === span.text.length) {
          index += 1
          used = 0
        }
      }
      return found
    },
  }
}

function differences(now: Attributes, then: Attributes): Attributes | null {
  const changed: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(now), ...Object.keys(then)]))
    if (JSON.stringify(now[name]) !== JSON.stringify(then[name])) changed[name] = then[name] ?? null
  return Object.keys(changed).length > 0 ? changed : null
}

/** Compares by lines first: comparing long texts by characters may take seconds. */
function compareTexts(now: string, then: string, hint: SelectionHint | null): diff.Diff[] {
  if (now.length + then.length <= maxCompared) return diff(now, then, hint ? cursorIn(hint) : undefined)
  const units = new Map<string, string>()
  const lines: string[] = []
  const encode = (text: string) =>
    Array.from(text.match(/[^\n]*\n|[^\n]+$/g) ?? [], (line) => {
      const unit = units.get(line) ?? String.fromCharCode(lines.push(line) - 1)
      units.set(line, unit)
      return unit
    }).join('')
  const before = encode(now)
  const after = encode(then)
  if (lines.length > maxLines) return replacement(now, then)
  const decode = (text: string) =>
    text
      .split('')
      .map((unit) => lines[unit.charCodeAt(0)])
      .join('')
  const found: diff.Diff[] = []
  let removed = ''
  for (const [kind, text] of diff(before, after)) {
    const words = decode(text)
    if (kind === diff.DELETE) {
      removed += words
      continue
    }
    if (kind === diff.INSERT && removed !== '') found.push(...compareLong(removed, words))
    else {
      if (removed !== '') found.push([diff.DELETE, removed])
      found.push([kind, words])
    }
    removed = ''
  }
  if (removed !== '') found.push([diff.DELETE, removed])
  return found
}

/** Lengths of the common prefix, and of the common suffix after it. */
export function commonEnds<Item>(one: ArrayLike<Item>, other: ArrayLike<Item>) {
  const most = Math.min(one.length, other.length)
  let start = 0
  while (start < most && one[start] === other[start]) start += 1
  let end = 0
  while (end < most - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1
  return { start, end }
}

/** For long texts, finds only the common start and end. */
function compareLong(now: string, then: string): diff.Diff[] {
  if (now.length + then.length <= maxCompared) return diff(now, then)
  let { start, end } = commonEnds(now, then)
  if (/[\uD800-\uDBFF]/.test(now[start - 1] ?? '')) start -= 1
  if (/[\uDC00-\uDFFF]/.test(now.at(-end) ?? '') && end > 0) end -= 1
  const added = now.slice(start, now.length - end)
  const removed = then.slice(start, then.length - end)
  const isShort = added.length + removed.length <= maxCompared
  const parts: diff.Diff[] = [
    [diff.EQUAL, now.slice(0, start)],
    ...(isShort ? diff(added, removed) : replacement(added, removed)),
    [diff.EQUAL, now.slice(now.length - end)],
  ]
  return parts.filter(([, text]) => text !== '')
}

const replacement = (now: string, then: string): diff.Diff[] => [
  [diff.DELETE, now],
  [diff.INSERT, then],
]

const cursorIn = ({ before, after }: SelectionHint): diff.CursorInfo => ({
  oldRange: { index: before.from, length: before.to - before.from },
  newRange: { index: after.from, length: after.to - after.from },
})
