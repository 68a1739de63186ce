// What commands read of their command line, and how they say what is wrong with it.

import { parseArgs } from 'node:util'
import { z } from 'zod'

export const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most)

/** The same, for the items of a list. */
export const wholeText = (least: number, most: number) =>
  z.string().transform(Number).pipe(z.number().int().min(least).max(most))

export const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean),
)

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readFlags<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  argv: readonly string[],
): z.output<z.ZodObject<Shape>> {
  const options = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, { type: 'string' as const }]),
  )
  const { values } = parseArgs({ args: [...argv], options })
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const flag = String(issue?.path[0] ?? '')
  throw new Error(`--${flag} is ${JSON.stringify(values[flag])}: ${issue?.message}.`)
}
