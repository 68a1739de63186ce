// The test files that a tier runs, and those that words select.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { endingAfter, selectTests, testsOf } from './suite.mjs'

const files = [
  'server/hub/hub.test.ts',
  'server/log/sqlite.long.test.ts',
  'app/main.program.test.ts',
  'sensor/port.pty.test.ts',
  'e2e/windows/windows.browser.test.ts',
  'e2e/windows/fuzz.long.browser.test.ts',
]

test('each tier runs the files of the tiers below it', () => {
  assert.deepEqual(testsOf(files, 'check'), ['server/hub/hub.test.ts'])
  assert.deepEqual(
    testsOf(files, 'test'),
    files.filter((file) => !file.includes('.long.')),
  )
  assert.deepEqual(testsOf(files, 'all'), files)
})

test('words select test files of every tier by their paths', () => {
  assert.deepEqual(selectTests(files, ['hub', 'fuzz']), [files[0], files[5]])
})

test('a test file whose process stays open fails, and is named', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'open.test.mjs')
  writeFileSync(file, "import net from 'node:net'; net.createServer().listen(0, '127.0.0.1')")
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, ['--test', ...endingAfter(200), file], {
    encoding: 'utf8',
    env,
  })
  assert.equal(status, 1)
  assert.match(stdout, /open\.test\.mjs did not end within 0\.2 s\. Still open: /)
})
