// The key file of access.ts: created once, private, and a sentence for each bad one.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { loadKey } from './access.ts'

const textOf = async (dataFolder: string, root: string) =>
  (await loadKey({ accessKeyFile: null, dataFolder }, root)).export().toString('base64url')

async function folderWithKey(t: TestContext, text: string, mode = 0o600): Promise<string> {
  const folder = temporaryFolder(t)
  await writeFile(join(folder, 'own.key'), text)
  await chmod(join(folder, 'own.key'), mode)
  return folder
}

const loadOwn = (root: string) => loadKey({ accessKeyFile: 'own.key', dataFolder: 'data' }, root)

const good = Buffer.alloc(32, 7).toString('base64')

test('the first start creates a 256-bit key file readable only by its owner; the second start uses it', async (t) => {
  const root = temporaryFolder(t)
  const first = await textOf('deep/data', root)
  const file = join(root, 'deep/data/access.key')
  assert.equal(Buffer.from(first, 'base64url').length, 32)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(join(root, 'deep/data'))).mode & 0o777, 0o700)
  assert.equal((await readFile(file, 'utf8')).trim(), first)
  assert.equal(await textOf('deep/data', root), first)
})

test('two data folders get different keys', async (t) => {
  const root = temporaryFolder(t)
  assert.notEqual(await textOf('one', root), await textOf('two', root))
})

test('concurrent starts, in one process or several, agree on one key', async (t) => {
  const root = temporaryFolder(t)
  const script = `
    const { loadKey } = await import(${JSON.stringify(import.meta.resolve('./access.ts'))})
    const place = { accessKeyFile: null, dataFolder: 'data' }
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadKey(place, ${JSON.stringify(root)})))
    process.stdout.write(keys.map((key) => key.export().toString('base64url')).join(' '))`
  const inProcess = () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]).then(
      ({ stdout }) => stdout,
    )
  const keys = (await Promise.all([inProcess(), inProcess(), inProcess()])).join(' ').split(' ')
  assert.equal(keys.length, 24)
  assert.equal(new Set(keys).size, 1)
  assert.deepEqual(await readdir(join(root, 'data')), ['access.key'])
})

test('a key file that appears meanwhile is used', async (t) => {
  const root = temporaryFolder(t)
  const file = join(root, 'access.key')
  const loading = textOf('.', root)
  // Once its draft exists, this process believes that there is no key.
  while (readdirSync(root).length === 0) await nextTurn()
  writeFileSync(file, good, { mode: 0o600, flag: 'wx' })
  assert.equal(Buffer.from(await loading, 'base64url').toString('base64'), good)
})

test('a configured key is read as base64, base64url or hex', async (t) => {
  assert.equal((await loadOwn(await folderWithKey(t, `${good}\n`))).symmetricKeySize, 32)
  const root = await folderWithKey(t, Buffer.alloc(32, 0xfb).toString('base64url'))
  assert.equal((await loadOwn(root)).export().toString('hex'), 'fb'.repeat(32))
  assert.equal((await loadOwn(await folderWithKey(t, '0f'.repeat(32)))).symmetricKeySize, 48)
  assert.deepEqual(await readdir(root), ['own.key'])
})

test('inspecting the key does not print the secret', async (t) => {
  const { inspect } = await import('node:util')
  const key = await loadOwn(await folderWithKey(t, good))
  assert.equal(inspect(key, { depth: 9, showHidden: true }).includes('BwcH'), false)
})

for (const mode of [0o640, 0o604, 0o620, 0o602]) {
  test(`a secret with mode ${mode.toString(8)} is refused and left unchanged`, async (t) => {
    const root = await folderWithKey(t, good, mode)
    await assert.rejects(loadOwn(root), /own\.key can be read by others, .* `chmod 600` .* delete it .*\.$/)
    assert.equal((await stat(join(root, 'own.key'))).mode & 0o777, mode)
  })
}

test('an unusable key file is named in the error, with a remedy', async (t) => {
  const short = Buffer.alloc(31).toString('base64')
  await assert.rejects(
    loadOwn(await folderWithKey(t, short)),
    /own\.key holds 31 bytes and needs at least 32; `openssl/,
  )
  await assert.rejects(loadOwn(await folderWithKey(t, '')), /holds 0 bytes/)
  await assert.rejects(
    loadOwn(await folderWithKey(t, 'no base64!')),
    /something other than one line of base64/,
  )
})

test('a configured key file that is missing is not created', async (t) => {
  const root = temporaryFolder(t)
  await assert.rejects(loadOwn(root), /own\.key is missing; .* leave accessKeyFile out .*\.$/)
  assert.deepEqual(await readdir(root), [])
})

test('an unreadable key path or a read-only folder gives an error that says so', async (t) => {
  const root = temporaryFolder(t)
  await mkdir(join(root, 'own.key'))
  await assert.rejects(loadOwn(root), /own\.key cannot be read \(EISDIR\); .*\.$/)
  await writeFile(join(root, 'file'), '')
  await assert.rejects(textOf('file', root), /access\.key cannot be read \(ENOTDIR\)/)
  await assert.rejects(textOf('file/data', root), /access\.key cannot be (read|created) \(ENOTDIR\)/)
})
