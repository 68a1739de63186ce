// `npm run docs`: builds the documentation's site in dist/site, from Markdown and the packages' types.

import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import { root, StepFailure, showFailure, step } from '../child-process.mjs'
import { filesBelow } from '../preparation.mjs'
import { apiPages } from './api-pages.ts'
import { brokenLinks } from './broken-links.ts'
import { titleOf, withLinks } from './markdown.ts'
import { addressOf, type Group, navigation, read } from './navigation.ts'

const source = join(root, 'dist/site-source')
const site = join(root, 'dist/site')

/** Shown as a page of code. */
const isCode = /\.([cm]?[jt]sx?|go|html|mod|py|sh|ya?ml)$|package\.json$/
const isPicture = /\.(gif|png|svg)$/

/** The site's pages as Markdown, for VitePress: README.md and all that it links to. */
class Pages {
  readonly #texts = new Map<string, string>()
  readonly #files = new Set<string>()
  readonly #descriptions: ReadonlyMap<string, string>

  constructor(groups: readonly Group[]) {
    const pages = groups.flatMap((group) => group.pages)
    this.#descriptions = new Map(pages.map(({ path, description }) => [addressOf(path), description]))
  }

  /** By address. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  /** Files and folders that the site has as they are. */
  get files(): ReadonlySet<string> {
    return this.#files
  }

  add(path: string, given?: string): void {
    const address = addressOf(path)
    if (this.#texts.has(address)) return
    const markdown = given ?? read(path)
    // Pages may link to each other.
    this.#texts.set(address, markdown)
    const text = withLinks(markdown, (target) => this.#link(path, target))
    this.#texts.set(address, text)
    const head = {
      description: this.#descriptions.get(address),
      // The types behind an entry point are many.
      outline: path.startsWith('docs/api/') ? 2 : undefined,
    }
    // JSON is YAML.
    write(join(source, address), `---\n${JSON.stringify(head)}\n---\n${text}`)
  }

  /** A link from a page, as it must be on the site. Adds what it leads to. */
  #link(page: string, target: string): string {
    const [, address = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(target) ?? []
    if (address === '' || /^\w+:/.test(address)) return `](${target})`
    const path = posix.join(posix.dirname(page), address).replace(/\/$/, '')
    const isPage = path.endsWith('.md') && !path.startsWith('reports/reference-')
    if (isPage) this.add(path)
    const shown = isPage || path === 'docs/api' ? addressOf(path) : this.#addOther(path)
    const link = posix.relative(posix.dirname(page), shown) + anchor
    // VitePress would look for a page.
    const isFile = !shown.endsWith('.md') && !isPicture.test(shown)
    return `](${link})${isFile ? '{target="_self"}' : ''}`
  }

  /** Adds a file or folder that is no page. Returns the path of what shows it. */
  #addOther(path: string): string {
    if (isPicture.test(path)) copy(path, source)
    else if (path.startsWith('reports/')) this.#files.add(dirname(path))
    else if (statSync(join(root, path)).isDirectory() || isCode.test(path)) return this.#addListing(path)
    else this.#files.add(path)
    return path.replace(/report\.md$/, 'report.html')
  }

  #addListing(path: string): string {
    const files = filesBelow(path)
    const items = files.map((file) => {
      const name = posix.relative(path, file)
      if (file.endsWith('.md')) return `- [${titleOf(read(file))}](${name})`
      const language = extname(file).slice(1).replace('mjs', 'js').replace('mod', '')
      const block = `\`\`\`\`${language}\n${read(file)}\`\`\`\``
      return name === '' ? block : `## ${name}\n\n${block}`
    })
    const listing = statSync(join(root, path)).isDirectory() ? `${path}/index.md` : `${path}.md`
    const title = path === 'docs/decisions' ? 'Decisions' : path
    this.add(listing, `# ${title}\n\n${items.join('\n')}\n`)
    return listing
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function copy(path: string, folder: string): void {
  cpSync(join(root, path), join(folder, path), { recursive: true })
}

/** The site as Markdown, for programs: each page, the list of them, and the text of those in the list. */
function writeMarkdown(texts: ReadonlyMap<string, string>, groups: readonly Group[]): void {
  for (const [address, text] of texts) write(join(site, address), text)
  const lists = groups.map(({ name, pages }) => {
    const items = pages.map((page) => `- [${page.name}](${addressOf(page.path)}): ${page.description}`)
    return `## ${name}\n\n${items.join('\n')}\n`
  })
  const [title = '', about = ''] = read('README.md').split('\n\n')
  writeFileSync(join(site, 'llms.txt'), [title, about.replaceAll(/^/gm, '> '), ...lists].join('\n\n'))
  const paths = ['README.md', ...groups.flatMap(({ pages }) => pages.map(({ path }) => path))]
  writeFileSync(join(site, 'llms-full.txt'), paths.map((path) => texts.get(addressOf(path))).join('\n'))
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { base: { type: 'string', default: '/' } } })
  const groups = navigation()
  rmSync(source, { recursive: true, force: true })
  const pages = new Pages(groups)
  await step('reading the types', async () => {
    for (const [path, text] of await apiPages()) pages.add(path, text)
  })
  pages.add('README.md')
  await build(join(root, 'docs'), { base: values.base })
  for (const path of pages.files) copy(path, site)
  writeMarkdown(pages.texts, groups)
  const broken = brokenLinks(site, values.base)
  if (broken.length > 0) throw new StepFailure('Links of the site lead nowhere.', broken.join('\n'))
  process.stdout.write(`  The site is in ${site}; node_modules/.bin/vitepress preview docs shows it.\n`)
}

try {
  await main()
} catch (error) {
  if (!(error instanceof StepFailure)) throw error
  showFailure(error)
  process.exitCode = 1
}
