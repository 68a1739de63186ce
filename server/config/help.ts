// Describes every setting: a text for the terminal, and a table for the README.

import { type ConfigKey, configKeys } from './keys.ts'

const head = `Crosswind keeps every open window in step, over the transport you choose.

  npm start                               as crosswind.config.ts says
  npm start -- --transport websocket      a flag goes before the file
  CROSSWIND_PORT=9443 npm start           so does a variable; a flag goes before that
  npm start -- --config other.config.ts   takes another file
  npm start -- --help                     prints this

Each setting stands with its default, and below it the flag and the variable that change it.`

const leftWidth = 44

/** The help text: every key with default, flag, variable, meaning and what is allowed. At most 100 columns wide. */
export function configHelp(): string {
  const sections = Map.groupBy(configKeys, ({ group }) => group)
  return [head, ...sections.entries().map(([group, keys]) => section(group, keys))].join('\n\n').concat('\n')
}

function section(group: string | null, keys: readonly ConfigKey[]): string {
  return [...(group === null ? [] : [group]), ...keys.map(entry)].join('\n')
}

function entry({ key, initial, flag, variable, meaning, allowed }: ConfigKey): string {
  const right = wrap(meaning, 100 - leftWidth)
  const left = [`  ${key} = ${shown(initial)}`, `    ${flag}`, `    ${variable}`]
  const lines = [...right, ...wrap(`Allowed: ${allowed}`, 100 - leftWidth)]
  const height = Math.max(left.length, lines.length)
  return Array.from({ length: height }, (_, row) =>
    `${(left[row] ?? '').padEnd(leftWidth)}${lines[row] ?? ''}`.trimEnd(),
  ).join('\n')
}

/** The README's table, in Markdown, made from the same settings. */
export function configTable(): string {
  const row = ({ key, initial, flag, variable, meaning, allowed }: ConfigKey) =>
    `| \`${key}\` | \`${shown(initial)}\` | ${meaning}. Allowed: ${allowed} | \`${flag}\` \`${variable}\` |`
  return ['| key | default | meaning | flag and variable |', '|---|---|---|---|', ...configKeys.map(row)]
    .join('\n')
    .concat('\n')
}

const shown = (initial: unknown) => (typeof initial === 'string' ? initial : JSON.stringify(initial))

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    const fits = last !== undefined && last.length + 1 + word.length <= width
    if (fits) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
