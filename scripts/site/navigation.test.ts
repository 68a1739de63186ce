// The documentation's pages: README.md lists them all, and their links lead somewhere, also on a code host.

import assert from 'node:assert/strict'
import { globSync, statSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { test } from 'node:test'
import { root } from '../child-process.mjs'
import { anchorsIn, linksIn } from './markdown.ts'
import { addressOf, navigation, read } from './navigation.ts'

const pages = globSync(['*.md', 'docs/**/*.md', '{client,server,e2e,examples,reports}/README.md'], {
  cwd: root,
}).map((path) => path.split(sep).join('/'))

test('each item of README.md names a page, what it is about, and places in it', () => {
  const groups = navigation(`# Title

## Documentation

Before.

**Library**

- [Library](docs/library.md): in your own application: [server](docs/library.md#the-server),
  [client](docs/library.md#the-client)
- [Coming from](docs/coming-from.md) another

**Project**

- [Decisions](docs/decisions): reasons

After, a [link](docs/other.md).
`)
  const [library, project] = groups
  assert.equal(groups.length, 2)
  assert.deepEqual(library, {
    name: 'Library',
    pages: [
      {
        path: 'docs/library.md',
        name: 'Library',
        description: 'in your own application: server, client',
        parts: [
          { path: 'docs/library.md#the-server', name: 'server' },
          { path: 'docs/library.md#the-client', name: 'client' },
        ],
      },
      { path: 'docs/coming-from.md', name: 'Coming from', description: 'another', parts: [] },
    ],
  })
  const [decisions] = project?.pages ?? []
  assert.equal(decisions?.parts[0]?.path, 'docs/decisions/001-react-and-react-medium-editor.md')
  assert.equal(addressOf('docs/decisions'), 'docs/decisions/index.md')
  assert.equal(addressOf('README.md'), 'index.md')
})

test('README.md lists every page of docs', () => {
  const listed = navigation().flatMap((group) => group.pages.map(({ path }) => path))
  const missing = pages.filter((path) => /^docs\/[^/]+$/.test(path) && !listed.includes(path))
  assert.deepEqual(missing, [], 'add them to the section "Documentation" of README.md')
})

test('every relative link in a page leads to a file or folder, and to a heading', () => {
  const broken = pages.flatMap((page) =>
    linksIn(read(page))
      .filter((target) => !/^\w+:/.test(target) && !leads(page, target))
      .map((target) => `${page}: ${target}`),
  )
  assert.deepEqual(broken, [])
})

function leads(page: string, target: string): boolean {
  const [address = '', anchor] = target.split('#')
  const path = address === '' ? page : posix.join(posix.dirname(page), address)
  if (statSync(join(root, path), { throwIfNoEntry: false }) === undefined) return false
  return anchor === undefined || (path.endsWith('.md') && anchorsIn(read(path)).has(anchor))
}
