// PROTOCOL.md as text: its examples and the rows of its tables.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')
export const protocol = readFileSync(join(root, 'PROTOCOL.md'), 'utf8')

/** What is in the fenced blocks of that language. */
export function blocksOf(language: string): string[] {
  return Array.from(protocol.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, found, text = '']) =>
    found === language ? text : '',
  ).filter((text) => text !== '')
}

export function blockWith(language: string, part: string): string {
  const [block, ...others] = blocksOf(language).filter((text) => text.includes(part))
  assert.ok(
    block !== undefined && others.length === 0,
    `PROTOCOL.md has not one ${language} block with ${part}`,
  )
  return block
}

/** The cells of the tables' rows in that section, without their backquotes. */
export function rowsOf(heading: string): string[][] {
  const [, section = ''] = protocol.split(`\n## ${heading}\n`)
  const [text = ''] = section.split('\n## ')
  return Array.from(text.matchAll(/^\|(.+)\|$/gm), ([, row = '']) =>
    row.split('|').map((cell) => cell.replaceAll('`', '').trim()),
  )
}
