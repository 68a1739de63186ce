// Programs whose output is no longer read, as after `| head`.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'

const root = join(import.meta.dirname, '../..')

/** `words`: for Node. `stopAfter`: reads up to these, and then stops it. Resolves when the program has ended. */
async function withoutReader(t: TestContext, words: readonly string[], stopAfter?: string) {
  const child = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const errors = text(child.stderr)
  if (stopAfter !== undefined) await read(child.stdout, stopAfter)
  child.stdout.destroy()
  if (stopAfter !== undefined) child.kill('SIGTERM')
  const [code] = await ended
  return { code, errors: await errors }
}

async function read(output: Readable, upTo: string): Promise<void> {
  let printed = ''
  for await (const chunk of output.setEncoding('utf8')) {
    printed += chunk
    if (printed.includes(upTo)) return
  }
  assert.fail(`The program ended before it printed "${upTo}":\n${printed}`)
}

test('the lab ends without a stack trace', async (t) => {
  const { code, errors } = await withoutReader(t, ['e2e/lab-command.ts', '--help'])
  assert.deepEqual([code, errors], [0, ''])
})

test('a server continues, and stops when it is told to', async (t) => {
  const data = join(temporaryFolder(t), 'data')
  const words = ['app/main.ts', '--port', '0', '--http1-port', '0', '--data-folder', data]
  const { code, errors } = await withoutReader(t, words, 'Ctrl-C stops it.')
  assert.deepEqual([code, errors], [0, ''])
})

const logFormats = ['text', 'json'] as const

for (const logFormat of logFormats)
  for (const [what, command] of [
    ['closed', 'exec "$@" >&- 2>&-'],
    ['a full disk', 'exec "$@" >/dev/full 2>&1'],
  ] as const)
    test(`a server whose output is ${what}, as ${logFormat}, starts, and stops when it is told to; with a wrong flag it ends`, {
      skip: process.platform !== 'linux' && 'needs /dev/full',
    }, async (t) => {
      const data = join(temporaryFolder(t), 'data')
      const flags = ['--port', '0', '--http1-port', '0', '--data-folder', data, '--log-format', logFormat]
      const words = ['-c', command, 'sh', process.execPath, 'app/main.ts', ...flags]
      const child = spawn('sh', words, { cwd: root, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
      t.after(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      await Promise.race([once(child, 'message'), ended.then(() => assert.fail('It did not start.'))])
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
      const wrong = spawn('sh', [...words.slice(0, 4), 'app/main.ts', '--port', 'none', ...flags.slice(-2)], {
        cwd: root,
        stdio: 'ignore',
      })
      t.after(() => wrong.kill('SIGKILL'))
      assert.deepEqual(await once(wrong, 'exit'), [1, null])
    })

test('any other program ends, with the status of a closed pipe', async (t) => {
  const program = `
    import { whenReaderIsGone } from '${join(root, 'scripts/process.ts')}'
    whenReaderIsGone()
    setInterval(() => console.log('more'), 5)`
  const { code, errors } = await withoutReader(t, ['--input-type=module', '--eval', program])
  assert.deepEqual([code, errors], [141, ''])
})
