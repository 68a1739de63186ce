import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../folder-testing.ts'
import { brokenLinks } from './broken-links.ts'

test('links to missing files and elements of a site are broken, whatever its base', (t) => {
  for (const base of ['/', '/crosswind/']) {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'docs'))
    writeFileSync(
      join(folder, 'index.html'),
      `<a href="${base}docs/page.html#here"></a><a href="docs/page.html#gone"></a><a href="https://example.org/x">
       <img src="missing.svg"><a href="llms.txt"></a><a href="#top"></a>`,
    )
    writeFileSync(join(folder, 'llms.txt'), '')
    writeFileSync(
      join(folder, 'docs/page.html'),
      `<h2 id="here"></h2><a href="../"></a><a href="other.html"></a>`,
    )
    assert.deepEqual(brokenLinks(folder, base).sort(), [
      'docs/page.html: other.html',
      'index.html: #top',
      'index.html: docs/page.html#gone',
      'index.html: missing.svg',
    ])
  }
})
