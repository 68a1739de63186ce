// The settings as a list: key, flag, environment variable, default, meaning, each derived from the schema.

import { z } from 'zod'
import { type FieldNotes, fieldNotes, groupNotes } from './fields.ts'
import { configSchema } from './schema.ts'

export interface ConfigKey extends FieldNotes {
  /** As in the config file, `sensor.baudRate`. */
  readonly key: string
  readonly path: readonly string[]
  /** `--sensor-baud-rate` */
  readonly flag: string
  /** `CROSSWIND_SENSOR_BAUD_RATE` */
  readonly variable: string
  readonly initial: unknown
  readonly schema: z.ZodType
  /** What the group it stands in is about; null for one at the top. */
  readonly group: string | null
}

/** All settings, in the order of the schema. */
export const configKeys: readonly ConfigKey[] = keysOf(configSchema, [], null)

function keysOf(object: z.ZodObject, parents: readonly string[], group: string | null): ConfigKey[] {
  return Object.entries(object.shape).flatMap(([name, schema]) => {
    const path = [...parents, name]
    if (!(schema instanceof z.ZodType)) throw new TypeError(`${path.join('.')} is no zod schema`)
    const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
    if (inner instanceof z.ZodObject) return keysOf(inner, path, groupNotes.get(schema)?.meaning ?? name)
    return [keyOf(path, schema, group)]
  })
}

function keyOf(path: readonly string[], schema: z.ZodType, group: string | null): ConfigKey {
  const notes = fieldNotes.get(schema)
  if (notes === undefined) throw new TypeError(`${path.join('.')} has no notes`)
  const words = path.map(kebabCase).join('-')
  return {
    ...notes,
    key: path.join('.'),
    path,
    flag: `--${words}`,
    variable: `CROSSWIND_${words.replaceAll('-', '_').toUpperCase()}`,
    initial: schema.parse(undefined),
    schema,
    group,
  }
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
