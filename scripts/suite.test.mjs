// Which test files words select.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBrowserTest, isProgramTest, selectTests } from './suite.mjs'

test('words select test files by their paths', () => {
  const files = [
    'server/config.test.ts',
    'server/hub/hub.test.ts',
    'e2e/windows.browser.test.ts',
    'server/main.program.test.ts',
  ]
  assert.deepEqual(selectTests(files, []), files)
  assert.deepEqual(selectTests(files, ['hub', 'windows']), files.slice(1, 3))
  assert.deepEqual(files.filter(isBrowserTest), files.slice(2, 3))
  assert.deepEqual(files.filter(isProgramTest), files.slice(2))
})
