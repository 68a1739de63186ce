// Chromium and Firefox open the page without a warning once its authority is trusted, and warn again when that is undone.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import puppeteer from 'puppeteer-core'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { planTrust } from '../../certs/trust.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { findPrograms } from '../../scripts/preparation.mjs'

let server: TestServer
before(async () => {
  server = await startTestServer()
})
after(() => server.close())

const skip = spawnSync('certutil', ['-H']).error === undefined ? false : 'certutil is not installed'

/** Whether this browser shows the page, as its user has set it up. */
async function shows(name: 'chrome' | 'firefox', home: string, profile: string): Promise<boolean> {
  const browser = await puppeteer.launch({
    browser: name,
    executablePath:
      name === 'chrome'
        ? findPrograms('chromium').CROSSWIND_CHROMIUM
        : findPrograms('firefox').CROSSWIND_FIREFOX,
    userDataDir: profile,
    env: { ...process.env, HOME: home, MOZ_CRASHREPORTER_DISABLE: '1' },
    args: name === 'chrome' ? ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] : [],
  })
  try {
    const page = await browser.newPage()
    const answer = await page.goto(server.origin['2']).catch(() => null)
    return answer?.status() === 200
  } finally {
    await browser.close()
  }
}

for (const name of ['chrome', 'firefox'] as const)
  test(`${name} trusts the authority, and no longer`, { skip }, async (t) => {
    const home = temporaryFolder(t)
    const { authorityFile } = server
    const authority = readFileSync(authorityFile, 'utf8')
    const profile = join(home, name === 'chrome' ? 'profile' : '.mozilla/firefox/a.default')
    mkdirSync(profile, { recursive: true })
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
    assert.equal(await shows(name, home, profile), false)
    change(false)
    assert.equal(await shows(name, home, profile), true)
    change(true)
    assert.equal(await shows(name, home, profile), false)
  })
