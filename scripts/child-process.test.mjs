// A child is asked once to end, and its exit code becomes ours.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { forwardSignals } from './child-process.mjs'

const posixOnly = { skip: process.platform === 'win32' ? 'such signals do not exist there' : false }

test('a signal that arrives twice at once is forwarded once', posixOnly, () => {
  const forwarded = []
  let nowMs = 0
  const child = { kill: (signal) => forwarded.push(signal) }
  const release = forwardSignals(child, { hasTerminal: false, now: () => nowMs })
  // The only one of the three signals that the test runner does not handle.
  for (nowMs of [0, 10, 400, 2000]) process.emit('SIGHUP', 'SIGHUP')
  release()
  assert.deepEqual(forwarded, ['SIGHUP', 'SIGHUP'])
  assert.equal(process.listenerCount('SIGHUP'), 0)
})

test('another signal within that time is forwarded too', posixOnly, () => {
  const forwarded = []
  const child = { kill: (signal) => forwarded.push(signal) }
  const release = forwardSignals(child, { hasTerminal: false, now: () => 0 })
  // Not emitted: the test runner listens to them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT']) process.listeners(signal).at(-1)(signal)
  release()
  assert.deepEqual(forwarded, ['SIGINT', 'SIGTERM'])
})

test('in a terminal, which signals the child itself, nothing is forwarded', posixOnly, () => {
  const release = forwardSignals({ kill: () => assert.fail('it was forwarded') }, { hasTerminal: true })
  process.emit('SIGHUP', 'SIGHUP')
  release()
})

const program = `
  process.on('SIGTERM', () => process.exit(7))
  setTimeout(() => process.exit(1), 20_000)
  console.log('ready')
`
const launcher = `
  import { launch } from ${JSON.stringify(new URL('./child-process.mjs', import.meta.url).href)}
  process.exitCode = await launch(['--eval', process.env.PROGRAM])
`

function start(source) {
  const env = { ...process.env, PROGRAM: source }
  const args = ['--input-type=module', '--eval', launcher]
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

test('the child is told to end, and its exit code is ours', posixOnly, async () => {
  const launching = start(program)
  await once(launching.stdout, 'data')
  launching.kill('SIGTERM')
  assert.deepEqual(await once(launching, 'exit'), [7, null])
})

test('a child ended by a signal gives a code as in a shell', posixOnly, async () => {
  const launching = start("process.kill(process.pid, 'SIGKILL')")
  assert.deepEqual(await once(launching, 'exit'), [137, null])
})
