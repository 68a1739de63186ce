// The kinds of setting there are. Each is a zod schema with what people and flags need to know about it.

import { z } from 'zod'

export interface FieldNotes {
  /** One line for people, ending without a full stop. */
  readonly meaning: string
  /** What may stand there, to follow "allowed are". */
  readonly allowed: string
  /** A flag's or variable's text as the value it stands for; the schema judges it. */
  readonly fromText: (text: string) => unknown
}

/** The notes on each field, by its schema. */
export const fieldNotes = z.registry<FieldNotes>()
/** A group's one line for people, by its schema. */
export const groupNotes = z.registry<{ readonly meaning: string }>()

const asIs = (text: string) => text

/** One of `values`. A number may be given for a text that looks the same, and the other way round. */
export function choice<const Value extends string | number>(
  values: readonly Value[],
  initial: NoInfer<Value>,
  meaning: string,
) {
  const same = (given: unknown) => values.find((value) => String(value) === String(given)) ?? given
  const notes = { meaning, allowed: values.join(', '), fromText: asIs }
  return z
    .preprocess(same, z.literal([...values]))
    .default(initial)
    .register(fieldNotes, notes)
}

/** A whole number in a range, both ends included. */
export function whole(from: number, to: number, initial: number, meaning: string) {
  const notes = { meaning, allowed: `whole numbers from ${from} to ${to}`, fromText: numberFrom }
  return z.int().min(from).max(to).default(initial).register(fieldNotes, notes)
}

/** Any number in a range, both ends included. */
export function quantity(from: number, to: number, initial: number, meaning: string) {
  const notes = { meaning, allowed: `numbers from ${from} to ${to}`, fromText: numberFrom }
  return z.number().min(from).max(to).default(initial).register(fieldNotes, notes)
}

/** Text that is not empty. */
export function text(allowed: string, initial: string, meaning: string) {
  return z.string().min(1).default(initial).register(fieldNotes, { meaning, allowed, fromText: asIs })
}

/** A path, or null for none. */
export function path(meaning: string) {
  const fromText = (given: string) => (given === 'null' ? null : given)
  const notes = { meaning, allowed: 'paths, or null', fromText }
  return z.string().min(1).nullable().default(null).register(fieldNotes, notes)
}

/** A list of web origins (RFC 6454), empty by default; in a flag they are separated by commas. */
export function originList(meaning: string) {
  const allowed = 'origins such as https://editor.example:8443, separated by commas'
  const fromText = (given: string) => given.split(',').map((item) => item.trim())
  return z.array(z.string().refine(isOrigin)).default([]).register(fieldNotes, { meaning, allowed, fromText })
}

/** Settings that belong together, under one key. */
export function group<Shape extends z.ZodRawShape>(meaning: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as never)
    .register(groupNotes, { meaning })
}

const isOrigin = (given: string) => URL.canParse(given) && new URL(given).origin === given

const numberFrom = (given: string) => (/^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given)
