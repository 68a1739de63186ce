// Command-line flags, declared once by a schema that parses them and generates their help.

import { parseArgs } from 'node:util'
import { z } from 'zod'
import { suggestion } from '../../scripts/suggestion.ts'

interface FlagNotes {
  /** Placeholder for its value, such as `N`; empty for a switch. */
  readonly value: string
  readonly meaning: string
  /** Replaces the schema's default in the help. */
  readonly initial?: string | undefined
}

const flagNotes = z.registry<FlagNotes>()

/** Adds the help text. A boolean is a switch, and an array of texts a repeatable flag. */
export function flag<Schema extends z.ZodType>(
  schema: Schema,
  value: string,
  meaning: string,
  initial?: string,
): Schema {
  // A copy: one schema may serve several flags.
  const own = schema.clone()
  flagNotes.add(own, { value, meaning, initial })
  return own
}

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

/** Comma-separated list of known names. */
export const names = <const Name extends string>(known: readonly Name[]) =>
  wordsOnce.pipe(z.array(z.enum(known, `there ${known.length > 1 ? 'are' : 'is'} ${known.join(', ')}`)))

/** Comma-separated whole numbers, each once, ascending. */
export const numbers = (initial: string, least: number, most: number) =>
  wordsOnce
    .refine(
      (list) => list.length > 0 && list.every((word) => whole(least, most).safeParse(word).success),
      `must be whole numbers from ${least} to ${most}`,
    )
    .transform((list) => list.map(Number).sort((one, other) => one - other))
    .prefault(initial)

export const file = z.string().min(1).optional()

/** Random by default. */
export const seed = flag(
  whole(0, 2 ** 32 - 1).default(() => Math.floor(Math.random() * 2 ** 32)),
  'N',
  'repeats the random choices',
  'drawn, and printed',
)

export const headed = flag(z.boolean().default(false), '', 'shows the windows')

const innermost = (schema: unknown): z.ZodType => {
  const { innerType } = (schema as z.ZodDefault).def
  return innerType ? innermost(innerType) : (schema as z.ZodType)
}

/**
 * Throws one sentence with the flag, its value and the allowed ones. `--help` is always allowed.
 */
export function readFlags<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  argv: readonly string[],
): z.output<z.ZodObject<Shape>> {
  const options = Object.entries(schema.shape).map(([name, one]) => {
    const { type } = innermost(one).def
    const isSwitch = type === 'boolean'
    return [name, { type: isSwitch ? 'boolean' : 'string', multiple: type === 'array' }] as const
  })
  const { help: _, ...values } = parseKnown(argv, Object.fromEntries(options))
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const [name] = issue?.path ?? []
  const place = name === undefined ? '' : `--${String(name)} is ${JSON.stringify(values[String(name)])}: `
  throw new Error(`${place}${issue?.message}.`)
}

type ParseOptions = Record<string, { readonly type: 'boolean' | 'string'; readonly multiple: boolean }>

function parseKnown(argv: readonly string[], known: ParseOptions): Record<string, unknown> {
  const options = { ...known, help: { type: 'boolean', multiple: false } } as ParseOptions
  try {
    return parseArgs({ args: [...argv], options }).values
  } catch (cause) {
    const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
    const stray = tokens.find((token) => token.kind === 'option' && !(token.name in options))
    if (stray?.kind !== 'option') throw cause
    const there = Object.keys(options).map((name) => `--${name}`)
    const advice = suggestion(stray.rawName, there, '; --help lists them.')
    throw new Error(`There is no flag ${stray.rawName}${advice}`, { cause })
  }
}

const helpWidth = 100

/** One entry per flag, with its default in brackets, in schema order. */
export function flagsHelp(shape: z.ZodRawShape): string {
  const rows = Object.entries(shape).map(([name, schema]) => {
    const { value, meaning, initial } = flagNotes.get(schema as z.ZodType) ?? { value: '', meaning: '' }
    const usual = initial ?? formatDefault(schema as z.ZodType)
    return [`--${name} ${value}`.trimEnd(), usual === '' ? meaning : `${meaning} (${usual})`] as const
  })
  const indent = 4 + Math.min(22, Math.max(...rows.map(([name]) => name.length)))
  return rows
    .map(([name, meaning]) => {
      const lines = wrapped(meaning, helpWidth - indent).join(`\n${' '.repeat(indent)}`)
      const gap = name.length + 4 > indent ? `\n${' '.repeat(indent)}` : ' '.repeat(indent - 2 - name.length)
      return `  ${name}${gap}${lines}`
    })
    .join('\n')
}

/** Empty for a switch, and without a default. */
function formatDefault(schema: z.ZodType): string {
  const { data } = schema.safeParse(undefined)
  if (Array.isArray(data)) return data.join(',')
  return data === undefined || typeof data === 'boolean' ? '' : String(data)
}

/** Lines of at most this many characters. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
