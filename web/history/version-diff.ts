// The changes that make one version of a text equal to another.

import diff from 'fast-diff'
import type { Attributes, Change } from '../../server/document/rich-text.ts'
import type { Piece } from './replay.ts'

/** Characters of changed lines that are compared one by one. */
const mostCompared = 4000

/** Lines that fit into one code unit each, without surrogates. */
const mostLines = 0xd800

/** What both have in common stays, with its authors; only its formatting may change. */
export function changesBetween(now: readonly Piece[], then: readonly Piece[]): Change[] {
  const [present, past] = [attributesOf(now), attributesOf(then)]
  const changes: Change[] = []
  for (const [kind, text] of compareTexts(textOf(now), textOf(then))) {
    if (kind === diff.DELETE) {
      changes.push({ delete: text.length })
      present.skip(text.length)
    } else if (kind === diff.INSERT) {
      for (let start = 0; start < text.length; ) {
        const { attributes, length } = past.take(text.length - start)
        // A copy: Yjs adds to it.
        changes.push({ insert: text.slice(start, start + length), attributes: { ...attributes } })
        start += length
      }
    } else {
      for (let left = text.length; left > 0; ) {
        const wanted = past.take(left)
        for (let rest = wanted.length; rest > 0; ) {
          const { attributes, length } = present.take(rest)
          const changed = differences(attributes, wanted.attributes)
          changes.push({ retain: length, ...(changed && { attributes: changed }) })
          rest -= length
        }
        left -= wanted.length
      }
    }
  }
  while (changes.length > 0 && isIdle(changes.at(-1))) changes.pop()
  return changes
}

const isIdle = (change: Change | undefined) =>
  change !== undefined && 'retain' in change && change.attributes === undefined

const textOf = (pieces: readonly Piece[]) => pieces.map(({ insert }) => insert).join('')

/** Reads attributes along the text. */
function attributesOf(pieces: readonly Piece[]) {
  let [place, used] = [0, 0]
  function take(most: number): { attributes: Attributes; length: number } {
    const { insert, attributes = {} } = pieces[place] ?? { insert: ' '.repeat(most) }
    const length = Math.min(most, insert.length - used)
    used += length
    if (used === insert.length) [place, used] = [place + 1, 0]
    return { attributes, length }
  }
  return {
    take,
    skip(count: number): void {
      for (let left = count; left > 0; ) left -= take(left).length
    },
  }
}

function differences(now: Attributes, then: Attributes): Attributes | null {
  const changed: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(now), ...Object.keys(then)]))
    if (JSON.stringify(now[name]) !== JSON.stringify(then[name])) changed[name] = then[name] ?? null
  return Object.keys(changed).length > 0 ? changed : null
}

/** By lines first: comparing long texts by characters may take seconds. */
function compareTexts(now: string, then: string): diff.Diff[] {
  const units = new Map<string, string>()
  const lines: string[] = []
  const encode = (text: string) =>
    Array.from(text.match(/[^\n]*\n|[^\n]+$/g) ?? [], (line) =>
      units.getOrInsertComputed(line, () => String.fromCharCode(lines.push(line) - 1)),
    ).join('')
  const [before, after] = [encode(now), encode(then)]
  if (lines.length > mostLines)
    return [
      [diff.DELETE, now],
      [diff.INSERT, then],
    ]
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
    if (kind === diff.INSERT && removed !== '' && removed.length + words.length <= mostCompared)
      found.push(...diff(removed, words))
    else {
      if (removed !== '') found.push([diff.DELETE, removed])
      found.push([kind, words])
    }
    removed = ''
  }
  if (removed !== '') found.push([diff.DELETE, removed])
  return found
}
