// Sentences on what a paste or an import lost.

/** Names what was lost; null if nothing. */
export function formatUnkept(names: readonly string[]): string | null {
  if (names.length === 0) return null
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} more`] : names
  return `Not kept: ${new Intl.ListFormat('en-GB').format(shown)}.`
}

interface Losses {
  readonly unkept: readonly string[]
  /** The encoding assumed because the file is not in UTF-8 and declares none; null otherwise. */
  readonly assumed: string | null
}

/** What was lost, and how it was read; empty if nothing needs to be said. */
export function importNotes({ unkept, assumed }: Losses): readonly string[] {
  const encoding = assumed === null ? null : `It was read as ${assumed}, since it is not in UTF-8.`
  return [encoding, formatUnkept(unkept)].filter((note) => note !== null)
}
