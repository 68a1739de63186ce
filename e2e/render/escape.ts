// Keeps text from being read as markup: a mode, a browser or a command may hold any character.

/** For HTML, as content and in quoted attributes. */
export function escapeHtml(plain: string): string {
  return plain.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** For Markdown, in running text and in the cell of a table. */
export function escapeMarkdown(plain: string): string {
  return plain
    .replace(/[\\`*_[\]|#~]/g, '\\$&')
    .replace(/[&<>]/g, (character) => entities[character] ?? character)
    .replace(/\s+/g, ' ')
}

/** A command as a code block; its fence is longer than any run of backticks within. */
export function markdownCode(plain: string): string {
  const longest = Math.max(2, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}sh\n${plain}\n${fence}`
}

/** A field of a CSV row (RFC 4180, section 2): quoted where it must be. */
export function escapeCsv(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
