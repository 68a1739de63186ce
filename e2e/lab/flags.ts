// Parses command lines; a schema checks each flag.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { z } from 'zod'
import { suggestion } from '../../server/config/suggestion.ts'

export const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most)

/** Comma-separated list. */
export const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean),
)

/** Comma-separated list without repetitions. */
export const wordsOnce = words.transform((each) => [...new Set(each)])

/** Random by default. */
export const seed = whole(0, 2 ** 32 - 1).default(() => Math.floor(Math.random() * 2 ** 32))

/**
 * Each flag takes one text, except `help` and `others`. Throws one sentence with the flag, its value and the allowed
 * ones.
 */
export function readFlags<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  argv: readonly string[],
  others: ParseArgsOptionsConfig = {},
): z.output<z.ZodObject<Shape>> {
  const texts = Object.keys(schema.shape).map((name) => [name, { type: 'string' }] as const)
  const options = { ...Object.fromEntries(texts), help: { type: 'boolean' }, ...others } as const
  const { values } = parseKnown(argv, options)
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const flag = String(issue?.path[0] ?? '')
  // A rule between flags names them in its message.
  const where =
    flag === '' ? '' : `--${flag} is ${JSON.stringify((values as Record<string, unknown>)[flag])}: `
  throw new Error(`${where}${issue?.message}.`)
}

function parseKnown<Options extends ParseArgsOptionsConfig>(argv: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...argv], options })
  } catch (error) {
    const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
    const stray = tokens.find((token) => token.kind === 'option' && !(token.name in options))
    if (stray?.kind !== 'option') throw error
    const names = Object.keys(options).map((name) => `--${name}`)
    throw new Error(
      `There is no flag ${stray.rawName}${suggestion(stray.rawName, names, '; --help lists them.')}`,
      {
        cause: error,
      },
    )
  }
}
