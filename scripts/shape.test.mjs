// The figures of a small project, alone and compared with an older commit.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './folder-testing.ts'
import { showShape } from './shape.mjs'

function project(t) {
  const folder = temporaryFolder(t)
  const git = (...args) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' })
  git('init', '--quiet')
  for (const name of ['server', 'web']) mkdirSync(join(folder, name))
  return {
    write: (path, ...lines) => writeFileSync(join(folder, path), lines.map((line) => `${line}\n`).join('')),
    remove: (path) => rmSync(join(folder, path)),
    commit() {
      git('add', '.')
      git('-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message=test')
    },
    tag: (name) => git('tag', name),
    async shape(...words) {
      const printed = []
      assert.equal(await showShape(words, { folder, print: (line) => printed.push(line) }), 0)
      return printed.map((line) => line.trim().replaceAll(/ +/g, ' ')).filter((line) => line !== '')
    },
  }
}

test('product files are counted, but not tests and other folders', async (t) => {
  const { write, shape } = project(t)
  write(
    'server/door.ts',
    "import { a } from './room.ts'",
    'import {',
    '  b,',
    "} from './room.ts'",
    'export const c = a',
  )
  write('server/room.ts', "import fs from 'node:fs'", 'export const a = 1', 'export const b = fs')
  write('server/room.test.ts', "import { a } from './room.ts'", 'a')
  write('web/door.css', 'a {}')
  write('elsewhere.ts', 'export const d = 1')
  assert.deepEqual(await shape(), [
    'now',
    'files 3',
    'lines 9',
    'median lines 3',
    'lines per export 3',
    'relative imports per 100 lines 22.2',
    'one importer, % 33.3',
    'repeated base names 1',
    'Repeated names: door',
  ])
})

test('compares with the newest tag, or with a named commit', async (t) => {
  const { write, remove, commit, tag, shape } = project(t)
  write('server/a.ts', 'export const a = "ä"')
  write('server/b.ts', '', 'export const b = 1')
  commit()
  tag('v1')
  write('server/a.ts', 'export const a = 1', '', '')
  remove('server/b.ts')
  commit()
  const [head, files, lines, median] = await shape()
  assert.deepEqual(
    [head, files, lines, median],
    ['now v1 change', 'files 1 2 -1', 'lines 3 3 0', 'median lines 3 2 +1'],
  )
  assert.equal((await shape('HEAD'))[0], 'now HEAD change')
  await assert.rejects(shape('none'), { message: 'git knows no commit none.' })
})
