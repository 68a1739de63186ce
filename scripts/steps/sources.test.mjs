// Checks that the sum over files changes with their names and contents, and with nothing else.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from './project.mjs'
import { filesBelow, hashOf, readStamp } from './sources.mjs'
import { isBrowserTest, selectTests } from './suite.mjs'

test('files are listed with forward slashes, without node_modules and dist', () => {
  const files = filesBelow('scripts')
  assert.ok(files.includes('scripts/steps/sources.mjs'))
  assert.deepEqual(files, files.toSorted())
  assert.deepEqual(filesBelow('package.json'), ['package.json'])
  assert.deepEqual(filesBelow('no-such-folder'), [])
})

test('the sum follows names and contents', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-sources-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = (name) => relative(root, join(folder, name))
  const write = (name, content) => writeFileSync(join(root, path(name)), content)
  write('a', 'one')
  write('b', 'two')
  const first = hashOf([path('a'), path('b')])
  assert.equal(hashOf([path('a'), path('b')]), first)
  assert.notEqual(hashOf([path('a')]), first)
  write('b', 'three')
  assert.notEqual(hashOf([path('a'), path('b')]), first)
  write('stamp', `${first}\n`)
  assert.equal(readStamp(join(folder, 'stamp')), first)
  assert.equal(readStamp(join(folder, 'none')), null)
})

test('words select test files by their paths', () => {
  const files = ['server/config.test.ts', 'server/hub/hub.test.ts', 'e2e/windows.browser.test.ts']
  assert.deepEqual(selectTests(files, []), files)
  assert.deepEqual(selectTests(files, ['hub', 'windows']), files.slice(1))
  assert.deepEqual(files.filter(isBrowserTest), files.slice(2))
})
