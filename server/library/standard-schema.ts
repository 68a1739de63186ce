// Schemas of any library that follows Standard Schema, version 1 (https://standardschema.dev).

import { cutText } from '../../protocol/graphemes.ts'

export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult | Promise<SchemaResult>
  }
}

export type SchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export function isSchema(given: unknown): given is StandardSchema {
  const { '~standard': standard } = Object(given)
  return typeof standard?.validate === 'function'
}

/** Maximum length of a path or a message, which may contain a client's words. */
const maxCharacters = 200

/** `items.0.name: Expected a text.` */
export function inWords({ message, path = [] }: Issue): string {
  const steps = path.map((step) => String(typeof step === 'object' ? step.key : step))
  const words = cutText(message, maxCharacters).replace(/\.$/, '')
  return `${steps.length > 0 ? `${cutText(steps.join('.'), maxCharacters)}: ` : ''}${words}.`
}
