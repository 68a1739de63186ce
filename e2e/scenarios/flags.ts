// How scenarios read their command line: every flag checked by a schema, and one sentence for what is wrong.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import type { z } from 'zod'
import { whole, words } from '../bench/flags.ts'

/** Words of a list with commas, each of them once. */
export const wordsOnce = words.transform((each) => [...new Set(each)])

/** Of chance; drawn where none is given. */
export const seed = whole(0, 2 ** 32 - 1).default(() => Math.floor(Math.random() * 2 ** 32))

/**
 * Every flag of the schema takes one text, but for `help` and those that `others` describes. Throws one sentence that names
 * the flag, the value and what is allowed.
 */
export function readFlags<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  argv: readonly string[],
  others: ParseArgsOptionsConfig = {},
): z.output<z.ZodObject<Shape>> {
  const texts = Object.keys(schema.shape).map((name) => [name, { type: 'string' }] as const)
  const options = { ...Object.fromEntries(texts), help: { type: 'boolean' }, ...others } as const
  const { values } = parseArgs({ args: [...argv], options })
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  throw new Error(sentenceFor(parsed.error, values))
}

function sentenceFor({ issues: [issue] }: z.ZodError, values: Readonly<Record<string, unknown>>): string {
  const flag = String(issue?.path[0] ?? '')
  // A rule between flags names them itself.
  if (flag === '') return `${issue?.message}.`
  return `--${flag} is ${JSON.stringify(values[flag])}: ${issue?.message}.`
}
