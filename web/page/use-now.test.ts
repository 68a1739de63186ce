// What comes is stamped by one clock and grows old by the same: the wall clock may be set meanwhile.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { browserTimers } from '../link/timers.ts'
import { useNow } from './use-now.ts'

test('a wall clock that was set by an hour does not touch it', ({ mock }) => {
  const wallAt = Date.now()
  mock.method(Date, 'now', () => wallAt + 3_600_000)
  const before = browserTimers.now()
  const now = Number(renderToString(createElement(() => useNow(1000, true))))
  assert.ok(before <= now && now <= browserTimers.now(), `${now - before} ms`)
})

/** What reads the wall clock: for the words that a reader compares with a clock of their own. */
const readers = ['wind/history/mount-history.ts']

test('nothing else in a window reads the wall clock', () => {
  const root = join(import.meta.dirname, '..')
  const files = globSync('**/*.{ts,tsx}', { cwd: root, exclude: ['dist/**', '**/*.test.ts'] })
  assert.ok(files.length > 100, `${files.length} files`)
  const found = files.filter((path) =>
    /\bDate\.now\b|\bnew Date\(\)/.test(readFileSync(join(root, path), 'utf8')),
  )
  assert.deepEqual(
    found.map((path) => path.split(sep).join('/')),
    readers,
  )
})
