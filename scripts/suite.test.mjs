// The test files that a tier runs, and those that words select.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectTests, testsOf } from './suite.mjs'

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
