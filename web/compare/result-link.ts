// Encodes a result compactly in an address's fragment, and validates it on reading.

import { windowHttpVersions, windowModeNamed } from '../../protocol/modes.ts'
import { failures, maxRoundsAsked, type Result, type Row } from './comparison.ts'

const prefix = '#compared='
const version = '1'

/** Length limit of a shared address: no result is longer. */
const maxCharacters = 20_000

/** Seconds since the epoch, browser, and for each mode its counts, and its medians in µs; numbers in base 36. */
export function fragmentOf({ at, browser, rows }: Result): string {
  const head = [version, inBase36(at / 1000), encodeURIComponent(browser)]
  const parts = rows.map(({ mode, serverHttp, sent, received, medians, failure }) =>
    [
      mode.name,
      serverHttp ?? '',
      inBase36(sent),
      inBase36(received),
      failure ?? '',
      medians.map((median) => (median === null ? '' : inBase36(median * 1000))).join('.'),
    ].join('*'),
  )
  return prefix + [...head, ...parts].join('~')
}

const inBase36 = (value: number) => Math.round(value).toString(36)

/** Rounded as a link rounds it, so that both show the same. */
export function asLinked(result: Result): Result {
  const read = resultIn(fragmentOf(result))
  return typeof read === 'object' && read ? read : result
}

/** Null if the fragment is not a result; one sentence if it is a damaged one. */
export function resultIn(fragment: string): Result | string | null {
  if (!fragment.startsWith(prefix)) return null
  const [given, at = '', browser = '', ...parts] = fragment.slice(prefix.length).split('~')
  if (given !== version || fragment.length > maxCharacters) return unreadable
  const seconds = numberIn(at, 8_640_000_000_000)
  const named = textIn(browser)
  const rows = parts.map(rowIn)
  const isWhole = rows.length > 0 && new Set(rows.map((row) => row?.mode.name)).size === rows.length
  const isEven = rows.every((row) => row?.medians.length === rows[0]?.medians.length)
  if (seconds === null || named === null || !isWhole || !isEven || rows.includes(null)) return unreadable
  return { at: seconds * 1000, browser: named, rows: rows as Row[] }
}

const unreadable =
  'This link carries no readable result: part of it is missing, or another version made it. Ask for the link again, or measure here.'

function rowIn(text: string): Row | null {
  const [name = '', http = '', sent = '', received = '', why = '', medians = '', ...more] = text.split('*')
  const mode = windowModeNamed(name)
  const serverHttp = windowHttpVersions.find((known) => known === http) ?? null
  const failure = failures.find((known) => known === why) ?? null
  const sentCount = numberIn(sent, 1e6)
  const receivedCount = numberIn(received, 1e6)
  const list = medians
    .split('.')
    .map((median) => (median === '' ? null : (numberIn(median, 1e9) ?? Number.NaN)))
  const isRight =
    more.length === 0 &&
    (serverHttp !== null || http === '') &&
    (failure !== null || why === '') &&
    list.length <= maxRoundsAsked &&
    !list.some(Number.isNaN)
  if (!mode || !isRight || sentCount === null || receivedCount === null || receivedCount > sentCount)
    return null
  return {
    mode,
    serverHttp,
    failure,
    sent: sentCount,
    received: receivedCount,
    medians: list.map((micros) => (micros === null ? null : micros / 1000)),
  }
}

/** Null for other text, and above `most`. */
function numberIn(text: string, most: number): number | null {
  if (!/^[0-9a-z]{1,11}$/.test(text)) return null
  const value = Number.parseInt(text, 36)
  return value <= most ? value : null
}

/** A browser's name and version. */
function textIn(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text)
    return /^[A-Za-z0-9 .]{0,40}$/.test(decoded) ? decoded : null
  } catch {
    return null
  }
}
