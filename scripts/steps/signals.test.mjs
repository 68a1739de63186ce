// Checks that a child is told once to end, and that its exit code becomes ours.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as onceEvent } from 'node:events'
import { test } from 'node:test'
import { once } from './signals.mjs'

const posixOnly = { skip: process.platform === 'win32' ? 'there are no such signals there' : false }

test('a signal that comes twice at once is forwarded once', () => {
  const forwarded = []
  let nowMs = 0
  const forward = once(
    (signal) => forwarded.push(signal),
    () => nowMs,
  )
  for (nowMs of [0, 10, 400, 2000]) forward('SIGINT')
  assert.deepEqual(forwarded, ['SIGINT', 'SIGINT'])
})

const program = `
  process.on('SIGTERM', () => process.exit(7))
  setTimeout(() => process.exit(1), 20_000)
  console.log('ready')
`
const launcher = `
  import { launch } from ${JSON.stringify(new URL('./launch.mjs', import.meta.url).href)}
  process.exitCode = await launch(['--eval', process.env.PROGRAM])
`

function start(source) {
  const env = { ...process.env, PROGRAM: source }
  const args = ['--input-type=module', '--eval', launcher]
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

test('the child is told to end, and its exit code is ours', posixOnly, async () => {
  const launching = start(program)
  await onceEvent(launching.stdout, 'data')
  launching.kill('SIGTERM')
  assert.deepEqual(await onceEvent(launching, 'exit'), [7, null])
})

test('a child that a signal ended gives a code as in a shell', posixOnly, async () => {
  const launching = start("process.kill(process.pid, 'SIGKILL')")
  assert.deepEqual(await onceEvent(launching, 'exit'), [137, null])
})
