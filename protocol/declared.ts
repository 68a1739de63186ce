// Types of what a channel carries, from the declaration of channels that server and client share.

/** A declaration's names are channels, or prefixes of them and `*`. */
type Matches<Pattern> = Pattern extends `${infer Prefix}*` ? `${Prefix}${string}` : Pattern

/** The rule of a channel; never if the declaration has none. */
type RuleOf<Declared, Name> = {
  [Pattern in keyof Declared]: Name extends Matches<Pattern> ? Declared[Pattern] : never
}[keyof Declared]

/** The types of a Standard Schema. */
interface Typed<Input, Output> {
  readonly '~standard': { readonly types?: { readonly input: Input; readonly output: Output } | undefined }
}

/** The names of declared channels. */
export type DeclaredName<Declared> = Matches<keyof Declared>

/** The names that a server's methods take: any, if nothing is declared. */
export type NameIn<Declared> = unknown extends Declared ? string : DeclaredName<Declared> & string

/** A name for types that are given; without these, only where nothing is declared. */
export type AnyName<Declared, Data> = unknown extends Declared
  ? string
  : unknown extends Data
    ? never
    : string

/** What readers get: what the schema returns; undefined of an erased message, where messages may be erased. */
export type DataOf<Declared, Name> =
  | (RuleOf<Declared, Name> extends { readonly validate: Typed<infer _Input, infer Output> }
      ? Output
      : unknown)
  | Erased<RuleOf<Declared, Name>>

/** What an erased message has instead of data; never on channels where none can be erased. */
type Erased<Rule> = Rule extends { readonly changes: infer Changes }
  ? Changes extends true | 'server'
    ? undefined
    : never
  : never

/** What clients publish: what the schema takes. */
export type SentOf<Declared, Name> =
  RuleOf<Declared, Name> extends { readonly validate: Typed<infer Input, infer _Output> } ? Input : unknown

/** The states that others show. */
export type StateOf<Declared, Name> =
  RuleOf<Declared, Name> extends { readonly presence: Typed<infer _Input, infer Output> } ? Output : unknown

/** The state that a client shows. */
export type OwnStateOf<Declared, Name> =
  RuleOf<Declared, Name> extends { readonly presence: Typed<infer Input, infer _Output> } ? Input : unknown
