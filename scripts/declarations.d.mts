// Types of declarations.mjs for TypeScript.

export interface Door {
  /** `@crosswind/client/yjs` */
  readonly name: string
  /** Its source, relative to the project's root. */
  readonly source: string
  /** Its declarations. */
  readonly file: string
}

export function writeDeclarations(
  name: string,
  folder: string,
  options?: readonly string[],
): Promise<readonly Door[]>
export function joinedTypes(entry: string, own?: readonly string[]): Promise<string>
