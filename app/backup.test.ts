// Copies the folder of a log in use, restores it, and resumes with earlier cursors.

import assert from 'node:assert/strict'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { createCrosswind } from '../server/index.ts'
import { draft, fill, given, idsOf, main, readAll } from '../server/log/log-testing.ts'
import { openSqliteLog } from '../server/log/sqlite-log.ts'
import { noon } from './access-testing.ts'
import { backup, restore } from './backup.ts'

async function openFolder(context: TestContext) {
  const folder = temporaryFolder(context)
  const data = join(folder, 'data')
  const copy = join(folder, 'copy')
  const losses: string[] = []
  const open = () =>
    openSqliteLog({ ...given, file: join(data, 'log.db'), onLoss: (sentence) => losses.push(sentence) })
  const sources = (...argv: string[]) => ({ argv: [...argv, '--data-folder', data], env: {}, cwd: folder })
  const log = open()
  writeFileSync(join(data, 'access.key'), 'secret', { mode: 0o600 })
  return { data, copy, log, open, losses, sources }
}

test('a running server is copied and restored: later cursors get a snapshot, earlier ones what follows', async (context) => {
  const { data, copy, log, open, losses, sources } = await openFolder(context)
  await fill(log, 5)
  const { head: early } = await log.snapshot(main)
  assert.match(await backup(sources('--to', copy)), /log\.db up to message 5/)
  assert.deepEqual(readdirSync(copy).toSorted(), ['access.key', 'log.db'])
  assert.deepEqual(
    ['access.key', 'log.db'].map((name) => statSync(join(copy, name)).mode & 0o077),
    [0, 0],
  )
  await fill(log, 5, 'w2')
  const { head: late } = await log.snapshot(main)
  await assert.rejects(restore(sources('--from', copy), noon), /open: stop it/)
  await log.close()
  writeFileSync(join(data, 'access.key'), 'another', { mode: 0o600 })

  assert.match(await restore(sources('--from', copy), noon), /before-2026-11-21T12-00-00/)
  assert.equal(readFileSync(join(data, 'access.key'), 'utf8'), 'secret')
  assert.equal(readFileSync(join(data, 'before-2026-11-21T12-00-00', 'access.key'), 'utf8'), 'another')
  const restored = open()
  assert.deepEqual(losses, [])
  await fill(restored, 10, 'w3')
  assert.equal((await readAll(restored, late, main)).recovered, false)
  const { recovered, messages } = await readAll(restored, early, main)
  assert.deepEqual([recovered, idsOf(messages).length, idsOf(messages)[0]], [true, 10, 'w3-1'])
  assert.equal(losses.length, 1)
  await restored.close()
})

test('a damaged or missing copy is refused, and the folder is left unchanged', async (context) => {
  const { data, copy, log, open, sources } = await openFolder(context)
  await fill(log, 5)
  await assert.rejects(backup(sources()), /--to is missing/)
  await backup(sources('--to', copy))
  await assert.rejects(backup(sources('--to', copy)), /which is not empty; name a new folder\.$/)
  await fill(log, 5, 'w2')
  await log.close()
  writeFileSync(join(copy, 'log.db'), readFileSync(join(copy, 'log.db')).fill(0x5a, 4096))
  await assert.rejects(restore(sources('--from', copy), noon), /The copy in .* cannot be used, .* damaged/)
  rmSync(join(copy, 'log.db'))
  await assert.rejects(restore(sources('--from', copy), noon), /which has no log\.db/)
  assert.ok(!readdirSync(data).some((name) => /before|restoring/.test(name)))
  const again = open()
  assert.equal((await again.snapshot(main)).head.seq, 10)
  await again.close()
})

/** Changes one letter of a message with this text. */
function garble(file: string, text: string): void {
  const bytes = readFileSync(file)
  const place = bytes.indexOf(text)
  assert.ok(place > 0)
  bytes.write('-', place)
  writeFileSync(file, bytes)
}

test('one changed letter is found by a backup, and in a copy by a restore', async (context) => {
  const { data, copy, log, sources } = await openFolder(context)
  await fill(log, 5)
  await log.append(draft('w1-6', 'north by northwest'), 1)
  await log.close()
  await backup(sources('--to', copy))
  garble(join(copy, 'log.db'), 'northwest')
  await assert.rejects(restore(sources('--from', copy), noon), /The copy in .* cannot be used, .* damaged/)
  garble(join(data, 'log.db'), 'northwest')
  rmSync(copy, { recursive: true })
  await assert.rejects(backup(sources('--to', copy)), /log\.db is damaged/)
  assert.throws(() => readdirSync(copy), { code: 'ENOENT' })
})

test('links to files are copied and restored as the files that they lead to', async (context) => {
  const { data, copy, log, open, losses, sources } = await openFolder(context)
  await fill(log, 5)
  await log.close()
  const elsewhere = join(data, '..', 'elsewhere')
  mkdirSync(elsewhere)
  renameSync(join(data, 'log.db'), join(elsewhere, 'log.db'))
  symlinkSync(join('..', 'elsewhere', 'log.db'), join(data, 'log.db'))
  const linked = open()
  assert.deepEqual(losses, [], 'the write-ahead log is beside the file')
  await assert.rejects(restore(sources('--from', elsewhere), noon), /open: stop it/)
  assert.match(await backup(sources('--to', copy)), /log\.db up to message 5/)
  await linked.close()

  renameSync(join(copy, 'log.db'), join(copy, 'big.sqlite'))
  symlinkSync('big.sqlite', join(copy, 'log.db'))
  await restore(sources('--from', copy), noon)
  const restored = open()
  assert.equal((await restored.snapshot(main)).head.seq, 5)
  await restored.close()
  const former = openSqliteLog({ ...given, file: join(data, 'before-2026-11-21T12-00-00', 'log.db') })
  assert.equal((await former.snapshot(main)).head.seq, 5, 'the link that was moved still leads to its file')
  await former.close()
})

for (const [what, make] of [
  ['an empty file', (file: string) => writeFileSync(file, '')],
  ['a folder', (file: string) => mkdirSync(file)],
  ['a link to nothing', (file: string) => symlinkSync('nowhere', file)],
] as const)
  test(`${what} in place of the log is neither copied nor restored`, async (context) => {
    const { data, copy, log, open, sources } = await openFolder(context)
    await fill(log, 5)
    await backup(sources('--to', copy))
    await log.close()
    rmSync(join(copy, 'log.db'))
    make(join(copy, 'log.db'))
    await assert.rejects(restore(sources('--from', copy), noon), /has no log/)
    const again = open()
    assert.equal((await again.snapshot(main)).head.seq, 5)
    await again.close()
    rmSync(join(data, 'log.db'))
    make(join(data, 'log.db'))
    await assert.rejects(backup(sources('--to', `${copy}-2`)), /has no log/)
  })

test('a data folder that does not exist is named', async (context) => {
  const { copy, log, sources } = await openFolder(context)
  await log.close()
  const argv = ['--to', copy, '--data-folder', `${copy}-missing`]
  await assert.rejects(
    backup({ ...sources(), argv }),
    /-missing, which has no log\.db; select another server with/,
  )
})

for (const isLinked of [false, true])
  test(`the folder of a library's server is copied while it runs, and restored${isLinked ? ', with a log.db elsewhere' : ''}`, async (context) => {
    const root = temporaryFolder(context)
    const folder = join(root, 'data')
    const copy = join(root, 'copy')
    const open = async (folder: string) => {
      const crosswind = await createCrosswind({
        path: '/realtime',
        channels: { 'room.*': { kind: 'json' } },
        authorize: 'everyone',
        storage: { kind: 'sqlite', folder },
      })
      context.after(() => crosswind.close({ drainMs: 0 }))
      return crosswind
    }
    const said = async ({ read }: Awaited<ReturnType<typeof open>>) => {
      const rooms = await Promise.all(['room.1', 'room.2'].map((room) => Array.fromAsync(read(room))))
      return rooms.map((messages) => messages.map(({ seq, data }) => [seq, data]))
    }
    if (isLinked) {
      await (await open(join(root, 'elsewhere'))).close({ drainMs: 0 })
      mkdirSync(folder)
      symlinkSync(join('..', 'elsewhere', 'log.db'), join(folder, 'log.db'))
    }
    const before = await open(folder)
    await before.publish('room.1', 'first')
    await before.publish('room.2', { text: 'second' })
    await before.publish('room.1', ['third'])
    const stored = await said(before)
    const sources = (folder: string, ...argv: string[]) => ({
      argv: [...argv, '--data-folder', folder],
      env: {},
      cwd: root,
    })
    assert.match(await backup(sources(folder, '--to', copy)), /log\.db up to message 3/)
    await before.publish('room.2', 'later')
    await assert.rejects(restore(sources(folder, '--from', copy), noon), /open: stop it/)
    await before.close({ drainMs: 0 })
    const elsewhere = join(root, 'another', 'server')
    for (const restored of [folder, elsewhere]) {
      await restore(sources(restored, '--from', copy), noon)
      const now = await open(restored)
      assert.deepEqual(await said(now), stored)
      assert.deepEqual(await now.publish('room.1', 'next'), { seq: 4 })
    }
  })
