// `npm run dev` as a process: the page's sources, a restart on the same port, and an end without rest.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { utimesSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { temporaryFolder } from './folder-testing.ts'

const root = join(import.meta.dirname, '..')

async function ask(origin: string, path: string): Promise<string> {
  const session = connect(origin, { rejectUnauthorized: false })
  const answer = await text(session.request({ ':path': path, accept: '*/*' }))
  session.close()
  return answer
}

test('serves the page’s sources, restarts the server when a source changes, and ends with it', async (t) => {
  const flags = ['--port', '0', '--http1-port', '0', '--sensor-source', 'none', '--access', 'open']
  const program = ['scripts/development.mjs', ...flags, '--data-folder', temporaryFolder(t)]
  const child = spawn(process.execPath, program, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  async function addressShown(): Promise<string> {
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error('The program ended without an address.')
      const [address] = /https:\/\/localhost:\d+/.exec(value) ?? []
      if (address) return address
    }
  }

  const origin = await addressShown()
  const [, entry = ''] = /type="module" async src="([^"@]+)"/.exec(await ask(origin, '/')) ?? []
  assert.match(await ask(origin, entry), /createRoot/)
  const [vite] = (await ask(origin, '/assets/@vite/client')).match(/127\.0\.0\.1/) ?? []
  assert.ok(vite, 'the page’s WebSocket has another address')

  // Again if the file was not watched yet.
  const change = () => utimesSync(join(root, 'server/health.ts'), new Date(), new Date())
  const again = setInterval(change, 30_000)
  t.after(() => clearInterval(again))
  change()
  assert.equal(await addressShown(), origin)

  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})
