// Which test files words select, and the list of failures.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { alsoTo, isBrowserTest, selectTests } from './suite.mjs'

test('words select test files by their paths', () => {
  const files = ['server/config.test.ts', 'server/hub/hub.test.ts', 'e2e/windows.browser.test.ts']
  assert.deepEqual(selectTests(files, []), files)
  assert.deepEqual(selectTests(files, ['hub', 'windows']), files.slice(1))
  assert.deepEqual(files.filter(isBrowserTest), files.slice(2))
})

test('failed tests are listed in a file, each once with its message', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-suite-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [file, list] = [join(folder, 'a.test.mjs'), join(folder, 'list')]
  const source = `
    import { describe, test } from 'node:test'
    test('holds', () => undefined)
    describe('windows', () => test('differ', () => { throw new Error('one is\\nolder') }))`
  writeFileSync(file, source)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, ['--test', ...alsoTo(list), file], { env })
  assert.equal(status, 1)
  assert.match(String(stdout), /pass 1/)
  assert.equal(readFileSync(list, 'utf8'), `  ✖ differ (${file})\n    one is\n    older\n`)
})
