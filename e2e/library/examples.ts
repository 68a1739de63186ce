// An example in a folder of its own, from the packed tarballs, and windows that open it.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensureCertificate } from '../../certs/certificate.ts'
import { pack } from '../../scripts/pack.mjs'
import { openEditingPage } from '../browser/editing.ts'
import { browserName } from '../windows/stage.ts'

const root = join(import.meta.dirname, '../..')

/** Installs and starts it. Resolves to a function that opens a window with its page. */
export async function startExample(example: string, opened: AsyncDisposableStack) {
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
  const address = String(said).trim()
  return async () => {
    const window = await openEditingPage(browserName, address)
    opened.defer(window.close)
    return window
  }
}
