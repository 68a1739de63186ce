// Chromium and Firefox open the page without a warning once its authority is trusted, and warn again when that is undone.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { planTrust } from '../../certs/trust.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { opensAs } from '../browser/user-profile.ts'

let server: TestServer
before(async () => {
  server = await startTestServer()
})
after(() => server.close())

const skip = spawnSync('certutil', ['-H']).error === undefined ? false : 'certutil is not installed'

for (const name of ['chromium', 'firefox'] as const)
  test(`${name} trusts the authority, and no longer`, { skip }, async (t) => {
    const home = temporaryFolder(t)
    const { authorityFile } = server
    const authority = readFileSync(authorityFile, 'utf8')
    const profile = join(home, name === 'chromium' ? 'profile' : '.mozilla/firefox/a.default')
    mkdirSync(profile, { recursive: true })
    const opens = () => opensAs(name, { home, profile }, server.origin['2'])
    const list = (folder: string) => {
      try {
        return readdirSync(folder)
      } catch {
        return []
      }
    }
    function change(undo: boolean): void {
      const system = { platform: 'linux', home, list } as const
      for (const { folders, commands } of planTrust({ system, authority, authorityFile, undo })) {
        for (const folder of folders) mkdirSync(folder, { recursive: true })
        for (const [command, ...words] of commands) spawnSync(command, words)
      }
    }
    assert.equal(await opens(), false)
    change(false)
    assert.equal(await opens(), true)
    change(true)
    assert.equal(await opens(), false)
  })
