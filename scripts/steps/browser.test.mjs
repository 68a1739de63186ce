// Checks where Chromium and its driver are looked for.

import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findBrowser, findProgram } from './browser.mjs'

const posixOnly = { skip: process.platform === 'win32' ? 'programs are known by their ending there' : false }

async function folderWith(t, ...programs) {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-browser-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const name of programs) await writeFile(join(folder, name), '', { mode: 0o755 })
  return folder
}

test('both programs are found in PATH, under their usual names', posixOnly, async (t) => {
  const folder = await folderWith(t, 'google-chrome', 'chromedriver')
  assert.deepEqual(findBrowser({}, ['/none', folder]), {
    CROSSWIND_CHROMIUM: join(folder, 'google-chrome'),
    CROSSWIND_CHROMEDRIVER: join(folder, 'chromedriver'),
  })
})

test('variables go before PATH', posixOnly, async (t) => {
  const folder = await folderWith(t, 'chromium', 'chromedriver')
  const found = findBrowser({ CROSSWIND_CHROMIUM: '/my/chromium', CROSSWIND_CHROMEDRIVER: '' }, [folder])
  assert.equal(found?.CROSSWIND_CHROMIUM, '/my/chromium')
  assert.equal(found?.CROSSWIND_CHROMEDRIVER, join(folder, 'chromedriver'))
})

test('a browser without its driver is not enough', posixOnly, async (t) => {
  assert.equal(findBrowser({}, [await folderWith(t, 'chromium')]), null)
})

test('neither a folder nor a file that cannot be run is a program', posixOnly, async (t) => {
  const folder = await folderWith(t, 'socat')
  await chmod(join(folder, 'socat'), 0o644)
  await mkdir(join(folder, 'chromium'))
  assert.equal(findProgram('chromium', [folder]), null)
  // To root every file looks readable, yet not runnable.
  assert.equal(findProgram('socat', [folder]), null)
})
