// Data of applications: JSON or bytes. Refuses what JSON would change or lose.

import { fromBase64, toBase64 } from './base64.ts'
import type { Bodies } from './bodies.ts'
import { maxJsonDepth } from './json-depth.ts'

export type Content = Pick<Bodies['json'], 'data' | 'bytes'>

/** A copy of data, as the body of a message. Throws a `TypeError` as `copyJson`. */
export function contentOf(data: unknown, path: string): Content {
  const bytes = asBytes(data)
  return bytes ? { bytes: toBase64(bytes) } : { data: copyJson(data, path) }
}

/** Whether it was not erased. */
export const hasContent = ({ data, bytes }: Content): boolean => data !== undefined || bytes !== undefined

/** What of a body is content. */
export const contentIn = ({ data, bytes }: Content): Content => (bytes === undefined ? { data } : { bytes })

/** The data in a body: bytes are a `Uint8Array`. */
export const dataIn = ({ data, bytes }: Content): unknown => (bytes === undefined ? data : fromBase64(bytes))

/** The bytes of a buffer or a view of one, such as a `Uint8Array`; null for anything else. */
function asBytes(data: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : null
}

/**
 * A copy of JSON data: null, true, false, finite numbers, texts, lists and plain objects of these. Fields that are
 * undefined are left out. Throws a `TypeError` that names anything else by its path, such as `data.items.0.when`.
 */
export const copyJson = (value: unknown, path: string): unknown => copyAt(path, value, path, maxJsonDepth)

function copyAt(root: string, value: unknown, path: string, levels: number): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value))
    return value
  const isList = Array.isArray(value)
  if (!isList && !isPlain(value))
    throw new TypeError(`${path} is ${kindOf(value)}, which JSON does not have${wayOut(value)}.`)
  if (levels === 0)
    throw new TypeError(`${root} is nested more than ${maxJsonDepth} levels deep, or contains itself.`)
  const copyOf = (field: unknown, name: string | number) => copyAt(root, field, `${path}.${name}`, levels - 1)
  if (isList) return Array.from(value, copyOf)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(fields.map(([name, field]) => [name, copyOf(field, name)]))
}

/** Also from another window: then its prototype is a different one. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Such as `a Date`, `undefined`, `NaN` or `10n`. */
function kindOf(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'object') return `a ${value?.constructor?.name}`
  return typeof value === 'number' || value === undefined ? String(value) : `a ${typeof value}`
}

const wayOut = (value: unknown) => (asBytes(value) ? ': publish bytes alone, or as text' : '')
