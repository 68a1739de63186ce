// The lock admits one process at a time, and the lock of a process that is gone is removed.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { exclusively } from './lock.mjs'

const staleMs = 60_000
// No system assigns a number this high.
const nobody = '2147483646'

function lock(t) {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-lock-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'lock')
}

test('the second waits for the first', async (t) => {
  const file = lock(t)
  const events = []
  const work = (name) => async () => {
    events.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    events.push(`${name} ends`)
  }
  const onWait = () => events.push('second waits')
  const first = exclusively(file, work('first'), { staleMs })
  await Promise.all([first, exclusively(file, work('second'), { staleMs, onWait })])
  assert.deepEqual(events, ['first begins', 'second waits', 'first ends', 'second begins', 'second ends'])
  assert.equal(existsSync(file), false)
})

test('failed work releases the lock', async (t) => {
  const file = lock(t)
  const failing = exclusively(file, () => Promise.reject(new Error('no')), { staleMs })
  await assert.rejects(failing, /no/)
  assert.equal(existsSync(file), false)
})

test('a lock of a process that is gone does not block, nor does one that is too old', async (t) => {
  const file = lock(t)
  writeFileSync(file, nobody)
  assert.equal(await exclusively(file, async () => 'done', { staleMs }), 'done')
  writeFileSync(file, String(process.pid))
  assert.equal(await exclusively(file, async () => 'done', { staleMs: -1 }), 'done')
})

test('an interrupted removal does not block', async (t) => {
  const file = lock(t)
  for (const name of [file, `${file}.removal`]) writeFileSync(name, nobody)
  assert.equal(await exclusively(file, async () => 'done', { staleMs }), 'done')
  assert.equal(existsSync(`${file}.removal`), false)
})

/** Prints and halts before it removes a lock; prints when it has the lock itself. */
const halting = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { rmSync } = fs
  fs.rmSync = (...args) => {
    fs.writeSync(1, 'removes')
    fs.readSync(0, Buffer.alloc(1))
    rmSync(...args)
  }
  syncBuiltinESMExports()
  const { exclusively } = await import(process.argv[1])
  await exclusively(process.argv[2], async () => fs.writeSync(1, 'has it'), { staleMs: 60_000 })
`

test('while one process removes an abandoned lock, no other takes it only to lose it to that removal', async (t) => {
  const file = lock(t)
  writeFileSync(file, nobody)
  const args = ['--input-type=module', '--eval', halting, import.meta.resolve('./lock.mjs'), file]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  assert.equal(String(await once(child.stdout, 'data')), 'removes')
  const { promise: waiting, resolve: onWait } = Promise.withResolvers()
  const own = exclusively(file, async () => 'has it', { staleMs, onWait: () => onWait('waits') })
  assert.equal(await Promise.race([waiting, own]), 'waits')
  child.stdin.end()
  assert.equal(await own, 'has it')
})
