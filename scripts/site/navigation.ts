// The documentation's pages, in the groups and with the descriptions of README.md.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../child-process.mjs'
import { filesBelow } from '../preparation.mjs'
import { plain, titleOf } from './markdown.ts'

export interface Page {
  /** A file or folder of the repository, perhaps with an anchor: `docs/yjs.md#offline`. */
  readonly path: string
  readonly name: string
  /** What the page is about. */
  readonly description: string
  /** Places in the page, or pages in the folder. */
  readonly parts: readonly { readonly path: string; readonly name: string }[]
}

export interface Group {
  readonly name: string
  readonly pages: readonly Page[]
}

export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Reads the list of README.md: groups in bold, and in each item a page, then places in it. */
export function navigation(readme = read('README.md')): Group[] {
  const [, list = ''] = readme.split('\n## Documentation\n')
  const [section = ''] = list.split('\n## ')
  return section
    .split(/^\*\*(?=.+\*\*$)/m)
    .slice(1)
    .map((text) => ({
      name: text.slice(0, text.indexOf('**')),
      pages: Array.from(text.matchAll(/^- (.+(?:\n {2}.+)*)/gm), ([, item = '']) => pageOf(item)),
    }))
}

function pageOf(item: string): Page {
  const [first, ...parts] = Array.from(
    item.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g),
    ([, name = '', path = '']) => ({
      name: plain(name),
      path,
    }),
  )
  if (first === undefined) throw new Error(`README.md lists no page in: ${item}`)
  const description = plain(item).slice(first.name.length).replace(/^:? /, '')
  return { ...first, description, parts: isFolder(first.path) ? pagesBelow(first.path) : parts }
}

/** Where the site's source has a page: README.md is its first, and a folder has a list. */
export function addressOf(path: string): string {
  if (path === 'README.md') return 'index.md'
  return isFolder(path) ? `${path}/index.md` : path
}

const isFolder = (path: string) =>
  statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true

function pagesBelow(folder: string) {
  const files = filesBelow(folder).filter((path) => path.endsWith('.md'))
  return files.map((path) => ({ path, name: titleOf(read(path)) }))
}
