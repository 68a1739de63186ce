// Footnotes, which a document keeps as text: "[^1]" in a line, and a paragraph "[^1]: The note".

import type { Line, Marks } from './rich-text.ts'

const definition = /^\[\^([\p{L}\p{N}-]{1,40})\]: /u
const call = /\[\^([\p{L}\p{N}-]{1,40})\]/gu
const wholeLabel = /^[\p{L}\p{N}-]{1,40}$/u

export const callOf = (label: string) => `[^${label}]`
export const startOfNote = (label: string) => `[^${label}]: `

/** Ids that programs give to a note, which are also the fragments of the links that call it. */
const notes: readonly RegExp[] = [
  // Word: footnotes, endnotes.
  /^_?ftn(\d+)$/,
  /^_?(edn\d+)$/,
  // LibreOffice.
  /^sdfootnote(\d+)(?:sym)?$/,
  /^sd(endnote\d+)(?:sym)?$/,
  // Google Docs.
  /^ftnt(\d+)$/,
  // GitHub and its Markdown.
  /^user-content-fn-(.+)$/,
  // Pandoc, kramdown, Hugo.
  /^fn[:-]?(\d+)$/,
  /^footnote-?(\d+)$/,
]

/** The same for the place that calls the note. */
const places: readonly RegExp[] = [
  /^_?ftnref(\d+)$/,
  /^_?(edn)ref(\d+)$/,
  /^sdfootnote(\d+)anc$/,
  /^sd(endnote\d+)anc$/,
  /^ftnt_ref(\d+)$/,
  /^user-content-fnref-(.+)$/,
  /^fnref[:-]?(\d+)(?::\d+)?$/,
  /^footnote-(?:anchor|ref)-?(\d+)$/,
]

/** GitHub adds it, since a page may have several texts. */
const digest = /-[\da-f]{32}(?=-\d{1,4}$|$)/

function labelIn(name: string, patterns: readonly RegExp[]): string | null {
  for (const pattern of patterns) {
    const label = pattern.exec(name)?.slice(1).join('').replace(digest, '').toLowerCase()
    if (label !== undefined && wholeLabel.test(label)) return label
  }
  return null
}

/** The label of the note with this id or fragment; null if none. */
export const noteNamed = (name: string) => labelIn(name, notes)

/** The label of the note that is called where this fragment leads; null if none. */
export const noteCalledAt = (name: string) => labelIn(name, places)

/** Whether the words of a link are a note's number or sign. */
export const isCallSign = (words: string) =>
  /^[\s[(]*(?:\d{1,4}|[ivxlc]{1,6}|[a-z]|[*†‡§¶]{1,4})[\s\])]*$/iu.test(words)

export const noLabels: ReadonlySet<string> = new Set()

export interface Notes {
  /** The label of the note that the line is; null if it is none. */
  readonly labelOf: (line: Line) => string | null
  /** The labels of the notes that the line may call. */
  readonly callableIn: (line: Line) => ReadonlySet<string>
}

/** The notes that lines both contain and call. Other text of this form is plain text. */
export function notesIn(lines: readonly Line[]): Notes {
  const first = new Map<string, Line>()
  const called = new Set<string>()
  for (const line of lines) {
    const label = labelOfNote(line)
    // Markdown reads the first note of a label, and no note that is never called.
    if (label !== null && !first.has(label)) first.set(label, line)
    if (mayCall(line))
      for (const { text, marks } of line.runs)
        if (isPlain(marks)) for (const [, label = ''] of text.matchAll(call)) called.add(label)
  }
  const labels = new Set([...first.keys()].filter((label) => called.has(label)))
  return {
    labelOf(line) {
      const label = labelOfNote(line)
      return label !== null && labels.has(label) && first.get(label) === line ? label : null
    },
    callableIn: (line) => (mayCall(line) ? labels : noLabels),
  }
}

function labelOfNote({ block, align, runs }: Line): string | null {
  const [start] = runs
  if (!start || block !== 'p' || align !== null || Object.keys(start.marks).length > 0) return null
  const [prefix = '', label] = definition.exec(start.text) ?? []
  const hasText = runs.some(({ text }, index) => text.slice(index === 0 ? prefix.length : 0).trim() !== '')
  // Markdown compares labels without case.
  const isStable = label !== undefined && label === label.toUpperCase().toLowerCase()
  return isStable && hasText ? label : null
}

/** Aligned text is HTML in Markdown. */
const mayCall = ({ block, align, runs }: Line) =>
  block !== 'pre' && align === null && !definition.test(runs[0]?.text ?? '')

/** Markdown has no calls in code; a note that a link contained would end it. */
const isPlain = ({ code, link }: Marks) => code === undefined && link === undefined

/** Splits text at the calls of these labels: alternately text and label, beginning with text. */
export function splitAtCalls(text: string, labels: ReadonlySet<string>): string[] {
  if (labels.size === 0) return [text]
  const parts: string[] = []
  let from = 0
  for (const found of text.matchAll(call)) {
    const [words, label = ''] = found
    if (!labels.has(label)) continue
    parts.push(text.slice(from, found.index), label)
    from = found.index + words.length
  }
  return [...parts, text.slice(from)]
}

/** Replaces the calls of the labels that have a replacement. */
export const replaceCalls = (text: string, replacements: ReadonlyMap<string, string>) =>
  text.replaceAll(call, (words, label: string) => replacements.get(label) ?? words)
