// Ages use the clock that stamps arrivals, not the wall clock. Arrow keys in a menu.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { browserTimers } from '../../client/transports.ts'
import { indexAfterKey, useNow } from './hooks.ts'

test('changing the wall clock by an hour does not affect `useNow`', ({ mock }) => {
  const wallAt = Date.now()
  mock.method(Date, 'now', () => wallAt + 3_600_000)
  const before = browserTimers.now()
  const now = Number(renderToString(createElement(() => useNow(1000, true))))
  assert.ok(before <= now && now <= browserTimers.now(), `${now - before} ms`)
})

/** The history reads it for words that a reader compares with their own clock. */
const readers = ['wind/history-plots.ts']

test('nothing else in a window reads the wall clock', () => {
  const root = join(import.meta.dirname, '..')
  const files = globSync('**/*.{ts,tsx}', { cwd: root, exclude: ['dist/**', '**/*.test.ts'] })
  assert.ok(files.length > 20, `${files.length} files`)
  const found = files.filter((path) =>
    /\bDate\.now\b|\bnew Date\(\)/.test(readFileSync(join(root, path), 'utf8')),
  )
  assert.deepEqual(
    found.map((path) => path.split(sep).join('/')),
    readers,
  )
})

test('arrow keys step through a menu and wrap around', () => {
  assert.equal(indexAfterKey('ArrowDown', 0, 3), 1)
  assert.equal(indexAfterKey('ArrowDown', 2, 3), 0)
  assert.equal(indexAfterKey('ArrowUp', 1, 3), 0)
  assert.equal(indexAfterKey('ArrowUp', 0, 3), 2)
})

test('Home and End jump to the ends of a menu', () => {
  assert.equal(indexAfterKey('Home', 2, 3), 0)
  assert.equal(indexAfterKey('End', 0, 3), 2)
})

test('other keys do nothing', () => {
  assert.equal(indexAfterKey('Enter', 1, 3), null)
  assert.equal(indexAfterKey('Tab', 1, 3), null)
})
