// Copies what an application gives as JSON, and refuses what JSON would change or lose.

import { maxJsonDepth } from './json-depth.ts'

/**
 * A copy of JSON data: null, true, false, finite numbers, texts, lists and plain objects of these. Fields that are
 * undefined are left out. Throws a `TypeError` that names anything else by its path, such as `data.items.0.when`.
 */
export function copyJson(value: unknown, path: string, levels = maxJsonDepth): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value))
    return value
  const isList = Array.isArray(value)
  if (!isList && !isPlain(value))
    throw new TypeError(`${path} is ${kindOf(value)}, which JSON does not have.`)
  if (levels === 0)
    throw new TypeError(`${path} is nested more than ${maxJsonDepth} levels deep, or contains itself.`)
  if (isList) return Array.from(value, (item, place) => copyJson(item, `${path}.${place}`, levels - 1))
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(
    fields.map(([name, field]) => [name, copyJson(field, `${path}.${name}`, levels - 1)]),
  )
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
