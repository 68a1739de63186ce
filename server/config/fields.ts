// Fields of settings and flags: how each is checked, read from text and described.

import { z } from 'zod'

/**
 * How a setting or flag is read from text; its meaning is the schema's description, one line
 * without a full stop.
 */
interface FieldNotes {
  readonly allowed: string
  /** The schema validates the result. */
  readonly fromText: (text: string) => unknown
}

export const fieldNotes = z.registry<FieldNotes>()

const numberFrom = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** A setting or flag; by default its text is its value. */
export function field<Schema extends z.ZodType>(
  schema: Schema,
  allowed: string,
  fromText: FieldNotes['fromText'] = (text) => text,
): Schema {
  fieldNotes.add(schema as z.ZodType, { allowed, fromText })
  return schema
}

/** One of these values, by default `initial`. Accepts a number for an equal text, and vice versa. */
export function choice<const Value extends string | number>(
  values: readonly Value[],
  initial: NoInfer<Value>,
) {
  const same = (given: unknown) => values.find((value) => String(value) === String(given)) ?? given
  return field(z.preprocess(same, z.literal([...values])).default(initial), values.join(', '))
}

/** A number from `from` to `to`, both included. */
export function quantity(from: number, to: number, initial: number) {
  const schema = z.number().min(from).max(to).default(initial)
  return field(schema, `numbers from ${from} to ${to}`, numberFrom)
}

/** A whole number from `from` to `to`, both included. */
export function whole(from: number, to: number, initial: number) {
  const schema = z.int().min(from).max(to).default(initial)
  return field(schema, `whole numbers from ${from} to ${to}`, numberFrom)
}

/** The word `auto`, or a whole number from `from` to `to`, both included. */
export function wholeOrAuto(from: number, to: number, initial: number) {
  const schema = z.union([z.literal('auto'), z.int().min(from).max(to)]).default(initial)
  return field(schema, `auto, or whole numbers from ${from} to ${to}`, numberFrom)
}

/** A text that fits `pattern`; `allowed` describes such texts in error messages. */
export function text(allowed: string, initial: string, pattern = /./) {
  return field(z.string().regex(pattern).default(initial), allowed)
}

/** A setting of another kind, or null, which is its default. */
export function orNull<Schema extends z.ZodType>(schema: Schema, allowed: string) {
  const fromText = (given: string) => (given === 'null' ? null : given)
  return field(schema.nullable().default(null), `${allowed}, or null`, fromText)
}

/** A path of a file or folder, or null. */
export const path = () => orNull(z.string().min(1), 'paths')

/** Comma-separated in a flag. */
export function list(items: z.ZodArray<z.ZodString>, initial: readonly string[], allowed: string) {
  const fromText = (given: string) => given.split(',').map((item) => item.trim())
  return field(items.default([...initial]), `${allowed}, separated by commas`, fromText)
}

/** Settings that belong together; `group({ … }).describe('The pump')` gives them a heading. */
export const group = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).prefault({} as never)

export type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value

export interface ConfigKey extends FieldNotes {
  /** As in the config file, `sensor.baudRate`. */
  readonly key: string
  readonly meaning: string
  readonly path: readonly string[]
  readonly flag: string
  readonly variable: string
  readonly initial: unknown
  readonly schema: z.ZodType
  /** The description of its group; null at the top level. */
  readonly group: string | null
}

/**
 * Keys of all settings of a schema, whose fields are made by `field` and the functions above, in groups.
 * `prefix` begins the names of the environment variables.
 */
export function keysOf(
  schema: z.ZodObject,
  { prefix = 'CROSSWIND' }: { readonly prefix?: string } = {},
): ConfigKey[] {
  return keysBelow(schema, prefix, [], null)
}

function keysBelow(
  object: z.ZodObject,
  prefix: string,
  parents: readonly string[],
  group: string | null,
): ConfigKey[] {
  return Object.entries(object.shape).flatMap(([name, schema]) => {
    const path = [...parents, name]
    if (!(schema instanceof z.ZodType)) throw new TypeError(`${path.join('.')} is not a zod schema`)
    const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
    if (inner instanceof z.ZodObject) return keysBelow(inner, prefix, path, schema.description ?? name)
    const notes = fieldNotes.get(schema)
    if (notes === undefined) throw new TypeError(`${path.join('.')} has no notes`)
    const flag = flagOf(path)
    const variable = `${prefix}_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`
    const initial = schema.parse(undefined)
    const { description: meaning = '' } = schema
    return [{ ...notes, meaning, key: path.join('.'), path, flag, variable, initial, schema, group }]
  })
}

/** `--sensor-baud-rate` for `['sensor', 'baudRate']`. */
export function flagOf(path: readonly string[]): string {
  const kebabCase = (name: string) => name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)
  return `--${path.map(kebabCase).join('-')}`
}
