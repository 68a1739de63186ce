// The API reference: a page for each entry point of the packages, made from types and their docstrings.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { root } from '../child-process.mjs'
import { type Door, joinedTypes, writeDeclarations } from '../declarations.mjs'
import { libraries } from '../libraries.mjs'

interface Declaration {
  readonly name: string
  readonly isExported: boolean
  readonly rank: number
  /** Markdown. */
  readonly description: string
  readonly code: string
}

/** The Markdown of each page by its path; `docs/api/index.md` lists the others. Rejects with StepFailure. */
export async function apiPages(): Promise<Map<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-api-'))
  try {
    const pages = new Map<string, string>()
    const items: string[] = []
    for (const name of Object.keys(libraries))
      for (const doors of sameDoors(await writeDeclarations(name, join(folder, name)))) {
        const [{ name: title, source, file }] = doors
        const page = title.replace('@crosswind/', '').replaceAll('/', '-')
        const about = aboutOf(source)
        pages.set(`docs/api/${page}.md`, pageOf(doors, about, declarationsIn(await joinedTypes(file))))
        items.push(`- [${title}](${page}.md): ${about}`)
      }
    const list = ['# API', 'Each entry point of the packages, with the types behind it.', items.join('\n')]
    return pages.set('docs/api/index.md', `${list.join('\n\n')}\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Groups entry points that have the same types. */
function sameDoors(doors: readonly Door[]): [Door, ...Door[]][] {
  const groups = Map.groupBy(doors, ({ file }) => file)
  return Array.from(groups.values(), (group) => group as [Door, ...Door[]])
}

/** What the header of the source says: `The library's door for drafts: messages …` → `Messages …` */
function aboutOf(source: string): string {
  const header = /^\/\/ (?:The \w+'s (?:door|library)[^:]*: )?(.*)/
  const [, about = ''] = header.exec(readFileSync(join(root, source), 'utf8')) ?? []
  return about.charAt(0).toUpperCase() + about.slice(1)
}

function pageOf(doors: readonly Door[], about: string, all: readonly Declaration[]): string {
  const exported = all.filter(({ isExported }) => isExported).toSorted((a, b) => a.rank - b.rank)
  const others = all.filter(({ isExported }) => !isExported)
  const [title = '', ...same] = doors.map(({ name }) => name)
  return [
    `# ${title}`,
    about,
    ...(same.length > 0 ? [`The same types: \`${same.join('`, `')}\`.`] : []),
    ...exported.flatMap((found) => section('##', found)),
    ...(others.length > 0 ? ['## Types behind these'] : []),
    ...others.flatMap((found) => section('###', found)),
  ].join('\n\n')
}

function section(depth: string, { name, description, code }: Declaration): string[] {
  return [`${depth} ${name}`, ...(description === '' ? [] : [description]), `\`\`\`ts\n${code}\n\`\`\``]
}

/** The declarations of a file that `joinedTypes` made, in its order. */
function declarationsIn(text: string): Declaration[] {
  const { program, comments } = parseSync('types.d.ts', text)
  const exported = new Set<string>()
  const found: { node: (typeof program.body)[number]; name: string; rank: number }[] = []
  for (const statement of program.body) {
    const node =
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration ?? statement) : statement
    const names = namesOf(node)
    if (node !== statement || node.type === 'ExportNamedDeclaration')
      for (const name of names) exported.add(name)
    if (node.type === 'ExportNamedDeclaration' || node.type === 'ImportDeclaration') continue
    found.push(...names.map((name) => ({ node: statement, name, rank: rankOf(node.type) })))
  }
  return found.map(({ node, name, rank }) => {
    const comment = comments.findLast(
      ({ end }) => end <= node.start && text.slice(end, node.start).trim() === '',
    )
    return {
      name,
      rank,
      isExported: exported.has(name),
      description: comment?.type === 'Block' ? proseOf(comment.value) : '',
      code: text
        .slice(node.start, node.end)
        .replace(/^(export )?(declare )?/, '')
        .replaceAll(/^ *#private;\n/gm, ''),
    }
  })
}

/** Functions come first, types last. */
function rankOf(type: string): number {
  const order = ['TSDeclareFunction', 'ClassDeclaration', 'VariableDeclaration']
  return order.includes(type) ? order.indexOf(type) : order.length
}

function namesOf(node: ReturnType<typeof parseSync>['program']['body'][number]): string[] {
  if (node.type === 'ExportNamedDeclaration')
    return node.specifiers.flatMap(({ local }) => ('name' in local ? [local.name] : []))
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  return 'id' in node && node.id !== null && 'name' in node.id ? [node.id.name] : []
}

function proseOf(comment: string): string {
  return comment.replaceAll(/^\s*\*+ ?/gm, '').trim()
}
