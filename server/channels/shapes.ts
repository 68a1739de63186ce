// Shapes of clients' data: a check names the field that does not fit, and what it must be.

import { isChannelName, maxChannelBytes } from '../../protocol/messages.ts'

/**
 * `path` locates the invalid value (`body.versions.0.at`; empty for the value itself); `must` says
 * what is expected.
 */
export interface Misfit {
  readonly path: string
  readonly must: string
}

/** Returns null if the value fits. */
export type Check = (value: unknown) => Misfit | null
type Fields = Readonly<Record<string, Check>>

/** A check by a function; `must` follows "must be" in the refusal. */
export const rule =
  (must: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? null : { path: '', must }

/** A text for which `fits` is true. */
export const matching = (must: string, fits: (text: string) => boolean) =>
  rule(must, (value) => typeof value === 'string' && fits(value))

/** The misfit of a value that is a field (`step`) of another one. */
export function within(step: string | number, misfit: Misfit | null): Misfit | null {
  return misfit && { ...misfit, path: misfit.path === '' ? String(step) : `${step}.${misfit.path}` }
}

/** An object with exactly these fields: `object({ names: list(20, text) }, { note: text })`. */
export function object(required: Fields, optional: Fields = {}): Check {
  const checks = Object.entries(required)
  const further = Object.entries(optional)
  const must = `an object of ${[...Object.keys(required), ...Object.keys(optional).map((name) => `${name} (optional)`)].join(', ')}`
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { path: '', must }
    const fields = value as Record<string, unknown>
    let count = checks.length
    for (const [name, check] of checks) {
      const misfit = check(fields[name])
      if (misfit) return within(name, misfit)
    }
    for (const [name, check] of further) {
      if (fields[name] === undefined) continue
      count += 1
      const misfit = check(fields[name])
      if (misfit) return within(name, misfit)
    }
    return Object.keys(fields).length === count ? null : { path: '', must }
  }
}

/** A list of 1 to `most` values, each of which must pass `check`. */
export function list(most: number, check: Check): Check {
  const must = `a list of 1 to ${most}`
  return (value) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > most) return { path: '', must }
    for (const [index, one] of value.entries()) {
      const misfit = check(one)
      if (misfit) return within(index, misfit)
    }
    return null
  }
}

/** Null, or what passes `check`. */
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value)

export const number = rule('a number', Number.isFinite)
export const text = rule('a text', (value) => typeof value === 'string')
export const boolean = rule('true or false', (value) => typeof value === 'boolean')

const plainName = /^[A-Za-z0-9_.-]+$/

/** A name of 1 to `most` ASCII letters, digits, "-", "_" and ".". */
export const nameOf = (most: number) =>
  matching(
    `1 to ${most} letters, digits, "-", "_" or "."`,
    (text) => text.length <= most && plainName.test(text),
  )

/** The rule of `isChannelName`; follows "must be". */
export const channelName = matching(
  `1 to ${maxChannelBytes} bytes of letters and digits of any script, "-", "_" and ".", in Unicode normalization form C`,
  isChannelName,
)

/** RFC 4648, section 4. */
export const isBase64 = (given: string) => given.length % 4 === 0 && base64Pattern.test(given)
const base64Pattern = /^[A-Za-z0-9+/]*={0,2}$/

/** The body of the kind `json`, as clients send it. */
export const jsonBody: Check = (body) => ('bytes' in Object(body) ? bytesBody : dataBody)(body)
const dataBody = object({ data: rule('JSON', (data) => data !== undefined) })
const base64 = matching('base64 with padding', isBase64)
const bytesBody = object({ bytes: base64 })

const seq = rule('the number of a message', (value) => Number.isSafeInteger(value) && Number(value) > 0)

/** The body of the kind `change`, as clients send it. */
export const changeBody: Check = (body) => ('bytes' in Object(body) ? changeToBytes : changeToData)(body)
const changeToData = object({ seq }, { data: () => null })
const changeToBytes = object({ seq, bytes: base64 })

/** The body of the kind `update`, as clients send it. */
export const updateBody = object({ update: matching('base64 with padding', isBase64) })
