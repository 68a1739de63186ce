// Checks that work is done by one process at a time, and that a lock left behind keeps nobody out.

import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { exclusively } from './lock.mjs'

const lock = (t) => {
  const file = join(tmpdir(), `crosswind-test-${process.pid}-${t.name.length}.lock`)
  t.after(() => rmSync(file, { force: true }))
  return file
}

test('the second waits for the first', async (t) => {
  const file = lock(t)
  const events = []
  const work = (name) => async () => {
    events.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    events.push(`${name} ends`)
  }
  await Promise.all([exclusively(work('first'), file), exclusively(work('second'), file)])
  assert.deepEqual(events, ['first begins', 'first ends', 'second begins', 'second ends'])
  assert.equal(existsSync(file), false)
})

test('work that fails lets go', async (t) => {
  const file = lock(t)
  const failing = exclusively(() => Promise.reject(new Error('no')), file)
  await assert.rejects(failing, /no/)
  assert.equal(existsSync(file), false)
})

test('a lock of a process that has gone keeps nobody out', async (t) => {
  const file = lock(t)
  // No system gives out a number this high.
  writeFileSync(file, '2147483646')
  assert.equal(await exclusively(async () => 'done', file), 'done')
})
