// The library from outside: an example in a folder of its own, from the packed tarballs, in two windows.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ensureCertificate } from '../../certs/certificate.ts'
import { pack } from '../../scripts/pack.mjs'
import { openEditingPage } from '../browser/editing.ts'
import { browserName } from '../windows/stage.ts'

const root = join(import.meta.dirname, '../..')

/** The example in a folder of its own, with the packed tarballs. Resolves to its address. */
async function start(example: string, opened: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-example-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const tarballs = await pack(join(folder, 'tarballs'))
  await cp(join(root, 'examples', example), join(folder, 'app'), { recursive: true })
  const files = (await readdir(tarballs)).map((name) => join(tarballs, name))
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...files], {
    cwd: join(folder, 'app'),
    timeout: 120_000,
  })
  await ensureCertificate({
    directory: folder,
    now: new Date(),
    names: ['localhost'],
    addresses: ['127.0.0.1'],
  })
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd: join(folder, 'app'),
    env: { ...process.env, PORT: '0', CERT: join(folder, 'server.pem'), KEY: join(folder, 'server.key') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(server, 'exit')
  opened.defer(async () => {
    server.kill()
    await exited
  })
  const [said] = await Promise.race([
    once(server.stdout, 'data'),
    exited.then(() => Promise.reject(new Error(`${example} ended.`))),
  ])
  return String(said).trim()
}

test('a chat beside a Koa application: each window has what the other writes, and a later one what was written', async () => {
  await using opened = new AsyncDisposableStack()
  const address = await start('chat-koa', opened)
  const open = async () => {
    const window = await openEditingPage(browserName, address)
    opened.defer(window.close)
    return window
  }
  const reads = ({ page }: Awaited<ReturnType<typeof open>>, texts: readonly string[]) =>
    page.waitForFunction(
      (expected) =>
        JSON.stringify(Array.from(document.querySelectorAll('li'), ({ textContent }) => textContent)) ===
        expected,
      { polling: 50 },
      JSON.stringify(texts),
    )
  const [ann, bob] = [await open(), await open()]
  await ann.page.type('#text', 'hello')
  await ann.page.keyboard.press('Enter')
  for (const window of [ann, bob]) await reads(window, ['hello'])
  await bob.page.type('#text', 'hi')
  await bob.page.keyboard.press('Enter')
  const late = await open()
  for (const window of [ann, bob, late]) await reads(window, ['hello', 'hi'])
  for (const window of [ann, bob, late])
    assert.deepEqual(
      window.errors().filter((text) => !text.includes('404')),
      [],
    )
})
