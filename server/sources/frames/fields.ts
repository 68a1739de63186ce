// Takes the fields of a body one after another, each of an exact width and closed by a comma or the body's end.

const COMMA = 0x2c
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const SPACE = 0x20
const ZERO = 0x30
const LETTER_A = 0x41
const LETTER_Z = 0x5a

/** What stands between a frame's first mark and its sum; `bytes` may be longer. */
export interface Body {
  readonly bytes: Buffer
  readonly length: number
}

/** As text, a character a byte. */
export function textOf({ bytes, length }: Body): string {
  return bytes.toString('latin1', 0, length)
}

/** How far the taking has come. A field that is not what it should be breaks it: see `areWhole` before believing any. */
export interface Fields {
  readonly bytes: Uint8Array
  readonly length: number
  at: number
  isBroken: boolean
}

/** Bytes and no expressions on text: those take five times as long. */
export function fieldsOf({ bytes, length }: Body, at = 0): Fields {
  return { bytes, length, at, isBroken: false }
}

/** Whether each field was what it should be, and none is left. */
export function areWhole(fields: Fields): boolean {
  return !fields.isBroken && fields.at === fields.length + 1
}

/** `Q`: one letter, A to Z. */
export function takeLetter(fields: Fields): string {
  const letter = String.fromCharCode(next(fields))
  if (!isLetter(fields)) fields.isBroken = true
  fields.at += 1
  close(fields)
  return letter
}

/** The nothing behind a last comma. */
export function takeNothing(fields: Fields): void {
  close(fields)
}

/** Exactly this. */
export function takeWord(fields: Fields, word: string): void {
  for (let i = 0; i < word.length; i++) {
    if (next(fields) !== word.charCodeAt(i)) fields.isBroken = true
    fields.at += 1
  }
  close(fields)
}

/** Digits, exactly `width` of them; null when empty. */
export function takeWhole(fields: Fields, width: number): number | null {
  if (isEmpty(fields)) return null
  const value = digits(fields, width, width)
  close(fields)
  return value
}

/** `002.74`; null when empty. */
export function takeSize(fields: Fields): number | null {
  if (isEmpty(fields)) return null
  const value = size(fields)
  close(fields)
  return value
}

/** `-002.74`; null when empty. Zero has no sign, though `-000.00` has one. */
export function takeSigned(fields: Fields): number | null {
  if (isEmpty(fields)) return null
  const sign = next(fields)
  if (sign !== PLUS && sign !== MINUS) fields.isBroken = true
  fields.at += 1
  const value = size(fields)
  close(fields)
  return sign === MINUS ? 0 - value : value
}

/** Whether the next field begins with a sign. */
export function isSigned(fields: Fields): boolean {
  return next(fields) === PLUS || next(fields) === MINUS
}

/** Whether the next field begins with a letter. */
export function isLetter(fields: Fields): boolean {
  return next(fields) >= LETTER_A && next(fields) <= LETTER_Z
}

const statuses = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'))

/** `00`, which some units pad with a space: ` 00`, `00 ` and ` 0` are the same. */
export function takeStatus(fields: Fields): string {
  const isPaddedBefore = skipSpace(fields)
  const code = digits(fields, isPaddedBefore ? 1 : 2, 2)
  if (!isPaddedBefore) skipSpace(fields)
  close(fields)
  return statuses[code] ?? ''
}

/**
 * More than three digits before the point are for ft/min, in which 999.99 is a breeze of 5 m/s: no source shows such a
 * frame, so this is how a `%06.2f` grows. In any other unit the range refuses them.
 */
function size(fields: Fields): number {
  const from = fields.at
  const wholePart = digits(fields, 3, 5)
  const isPadded = fields.at - from > 3 && fields.bytes[from] === ZERO
  if (isPadded || next(fields) !== POINT) fields.isBroken = true
  fields.at += 1
  // Hundredths divided once: the very number that the text would be read as.
  return (wholePart * 100 + digits(fields, 2, 2)) / 100
}

function digits(fields: Fields, fewest: number, most: number): number {
  const from = fields.at
  let value = 0
  for (let digit = next(fields) - ZERO; digit >= 0 && digit <= 9; digit = next(fields) - ZERO) {
    value = value * 10 + digit
    fields.at += 1
  }
  const width = fields.at - from
  if (width < fewest || width > most) fields.isBroken = true
  return value
}

function skipSpace(fields: Fields): boolean {
  if (next(fields) !== SPACE) return false
  fields.at += 1
  return true
}

function isEmpty(fields: Fields): boolean {
  if (next(fields) !== COMMA) return false
  fields.at += 1
  return true
}

function close(fields: Fields): void {
  if (fields.at !== fields.length && next(fields) !== COMMA) fields.isBroken = true
  fields.at += 1
}

/** 0, which no field holds, behind the end. */
function next({ bytes, at, length }: Fields): number {
  return at < length ? (bytes[at] ?? 0) : 0
}
