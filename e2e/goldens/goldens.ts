// `npm run goldens`: compares everything that a user or a foreign client sees with its frozen form.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { diff } from 'node:util'
import { leaveWhenDone, whenReaderIsGone } from '../../scripts/process.ts'
import { frozen, type Golden, type GoldenSet } from './golden.ts'

/** By the word that selects it, which is the name of its folder. */
const kinds: Readonly<Record<string, (isUpdate: boolean) => Promise<GoldenSet>>> = {
  wire: async () => ({ goldens: await (await import('./wire.ts')).wireGoldens() }),
  logs: async () => ({ goldens: await (await import('./logs.ts')).logGoldens() }),
  reports: async () => ({ goldens: await (await import('./reports.ts')).reportGoldens() }),
  pages: async (isUpdate) => (await import('./pages.ts')).pageGoldens(isUpdate),
}

export interface Comparison {
  /** A text for each golden that moved. */
  readonly moved: readonly string[]
  readonly same: number
  readonly skipped: string | null
}

/** Writes the moved files to `actual`, a folder of its own. */
export async function compare(kind: string, actual: string): Promise<Comparison> {
  const { goldens, skipped } = await make(kind, false)
  const moved: string[] = []
  for (const { path, content } of goldens) {
    const former = await readFile(join(frozen, path)).catch(() => null)
    const difference = former ? await differenceOf(path, former, content, actual) : 'is new'
    if (difference === null) continue
    await write(join(actual, path), content)
    moved.push(`${path} ${difference}`)
  }
  const made = new Set(goldens.map(({ path }) => path))
  for (const path of await frozenFiles(kind)) {
    const isSkipped = skipped?.endings.some((ending) => path.endsWith(ending))
    if (!made.has(path) && !isSkipped) moved.push(`${path} is not made any more`)
  }
  return { moved, same: goldens.length - moved.length, skipped: skipped?.sentence ?? null }
}

async function make(kind: string, isUpdate: boolean): Promise<GoldenSet> {
  const found = kinds[kind]
  if (!found) throw new Error(`There are no goldens "${kind}"; there are ${Object.keys(kinds).join(', ')}.`)
  return found(isUpdate)
}

async function update(kind: string): Promise<string> {
  const { goldens } = await make(kind, true)
  for (const path of await frozenFiles(kind)) await rm(join(frozen, path))
  for (const { path, content } of goldens) await write(join(frozen, path), content)
  return `${goldens.length} written`
}

/** Without the logs that are inputs, which no command rewrites. */
async function frozenFiles(kind: string): Promise<readonly string[]> {
  const entries = await readdir(join(frozen, kind), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.gz'))
    .map(({ parentPath, name }) => relative(frozen, join(parentPath, name)).replaceAll('\\', '/'))
    .toSorted()
}

async function write(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
}

/** Null if they are the same. */
async function differenceOf(
  path: string,
  former: Buffer,
  content: Golden['content'],
  actual: string,
): Promise<string | null> {
  if (typeof content === 'string')
    return former.toString() === content ? null : linesOf(former.toString(), content)
  const { comparePictures } = await import('./pages.ts')
  const { words, picture } = comparePictures(former, content)
  if (picture) await write(join(actual, path.replace(/\.png$/, '.difference.png')), picture)
  return words
}

const maxLines = 20

/** The lines that moved, with their numbers: `-` as frozen, `+` as they are now. */
function linesOf(former: string, now: string): string {
  const numbers = { '-': 0, '+': 0 }
  const moved: { sign: '-' | '+'; number: number; line: string }[] = []
  // Node's own: 1 is in the first alone, -1 in the second.
  for (const [side, line] of diff(former.split('\n'), now.split('\n'))) {
    if (side >= 0) numbers['-'] += 1
    if (side <= 0) numbers['+'] += 1
    const sign = side > 0 ? '-' : '+'
    if (side !== 0) moved.push({ sign, number: numbers[sign], line })
  }
  const shown = moved.slice(0, maxLines).map(({ sign, number, line }, index) => {
    const beside = moved[sign === '-' ? index + 1 : index - 1]
    return `    ${sign} ${String(number).padStart(4)}  ${around(line, beside?.line ?? '')}`
  })
  const rest = moved.length - shown.length
  return [`has moved:`, ...shown, ...(rest > 0 ? [`      and ${rest} more lines`] : [])].join('\n')
}

const maxCharacters = 160

/** The part of a long line where it begins to differ. */
function around(line: string, other: string): string {
  if (line.length <= maxCharacters) return line
  let index = 0
  while (index < line.length && line[index] === other[index]) index += 1
  const start = index < maxCharacters / 2 || index === line.length ? 0 : index - maxCharacters / 2
  const end = start + maxCharacters
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`
}

const help = `npm run goldens -- [KIND…] [--update]

  Compares what a user or a foreign client sees with what is kept in e2e/goldens/frozen.

  wire     transcripts of the wire in every mode, byte for byte
  logs     what is read from the logs that released versions left
  reports  reports, drawn again from committed samples and from made-up runs
  pages    pictures and words of the page in its states, in Chromium

  --update  keeps what is there now

  Exit status: 0 if nothing has moved, else 1.
`

/** Resolves to the exit status. */
async function run(words: readonly string[]): Promise<number> {
  if (words.some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(help)
    return 0
  }
  const named = words.filter((word) => !word.startsWith('-'))
  const unknown = words.find((word) => word !== '--update' && !Object.hasOwn(kinds, word))
  if (unknown !== undefined)
    throw new Error(
      `There are no goldens "${unknown}"; there are ${Object.keys(kinds).join(', ')}, and --update.`,
    )
  const actual = await mkdtemp(join(tmpdir(), 'crosswind-goldens-'))
  let hasMoved = false
  for (const kind of named.length > 0 ? named : Object.keys(kinds)) {
    const startedAt = performance.now()
    const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
    if (words.includes('--update')) {
      console.log(`  ${kind}: ${await update(kind)} (${seconds()})`)
      continue
    }
    const { moved, same, skipped } = await compare(kind, actual)
    for (const one of moved) console.log(`  ${one}\n`)
    hasMoved ||= moved.length > 0
    console.log(`  ${kind}: ${same} as frozen, ${moved.length} moved (${seconds()})`)
    if (skipped !== null) console.log(`  ${skipped}`)
  }
  if (hasMoved) console.log(`\n  What is there now: ${actual}\n  If it is meant: npm run goldens -- --update`)
  else await rm(actual, { recursive: true })
  return hasMoved ? 1 : 0
}

if (import.meta.main) {
  whenReaderIsGone()
  leaveWhenDone()
  try {
    process.exitCode = await run(process.argv.slice(2))
  } catch (error) {
    console.error(`\n  ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
