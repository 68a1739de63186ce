// The examples in other languages: each publishes, follows, and goes on after its connection has broken.

import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { start } from './testing.ts'

const examples = join(import.meta.dirname, '../../examples')

/** Each resolves to a command. */
const programs: Readonly<Record<string, (t: TestContext) => Promise<readonly [string, ...string[]]>>> = {
  python3: async () => ['python3', join(examples, 'python/chat.py')],
  async go(t) {
    const folder = temporaryFolder(t)
    await promisify(execFile)('go', ['build', '-o', folder, '.'], {
      cwd: join(examples, 'go'),
      // Only Go's own code is compiled.
      env: { ...process.env, CGO_ENABLED: '0' },
    })
    return [join(folder, 'chat')]
  },
}

for (const [name, commandIn] of Object.entries(programs)) {
  const isThere = spawnSync(name, [name === 'go' ? 'version' : '--version']).status === 0
  test(`${name}: has what was written, publishes, and misses nothing when its connection breaks`, {
    skip: !isThere && `${name} is not installed`,
  }, async (t) => {
    const following = Promise.withResolvers<void>()
    const { crosswind, origin, cut } = await start(t, {
      cuts(url) {
        if (url.startsWith('/realtime/stream?')) following.resolve()
        return false
      },
    })
    const say = (text: string) => crosswind.publish('room.1', { text })
    await say('before')
    const [command, ...words] = await commandIn(t)
    const program = spawn(command, [...words, `${origin}/realtime`, 'room.1', 'hello “wörld”'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(async () => {
      program.kill()
      await once(program, 'exit')
    })
    const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]()
    const next = async () => (await lines.next()).value
    assert.deepEqual([await next(), await next()], ['before', 'hello “wörld”'])
    await following.promise
    await say('live')
    assert.equal(await next(), 'live')
    cut()
    await say('while away')
    await say('after')
    assert.deepEqual([await next(), await next()], ['while away', 'after'])
  })
}
