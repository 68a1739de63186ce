// Without a sensor every wind view and the terminal say so, and how to connect one.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pageTypeOf } from '../../app/page-testing.ts'
import { store } from '../../app/shared/wind-testing.ts'
import { testConfig } from '../../app/testing.ts'
import { openLog } from '../../server/log/open-log.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openStage, type Stage } from './stage.ts'

let dataFolder: string
let stage: Stage
before(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'crosswind-no-sensor-'))
  const config = { ...testConfig, storage: 'sqlite', dataFolder } as const
  // Past readings do not count as a sensor.
  const { log } = await openLog(config, {
    dataFolder,
    typeOf: pageTypeOf,
    now: Date.now,
    random: Math.random,
    onFailure: console.error,
  })
  await store(log, [Date.now() - 60_000], { speed: 12 })
  await log.close()
  stage = await openStage({ ...config, sensor: { ...testConfig.sensor, source: 'none' } })
})
after(async () => {
  await stage.close()
  await rm(dataFolder, { recursive: true, force: true })
})

async function open(view: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?view=${view}`)
  const isOpen = () => document.querySelector('.connection')?.getAttribute('data-link') === 'open'
  await until(() => window.run(isOpen), 'the window did not open')
  return window
}

function shown() {
  const words = document.querySelector('.no-sensor')?.textContent ?? null
  const part = document.querySelector('#wind')
  const axes = part?.querySelectorAll('canvas, select, dl:not(.no-sensor dl), [role=slider]').length
  return { words, axes, wind: part?.textContent ?? '' }
}

test('the view of the wind says that there is no sensor and how to get one, and shows no empty axes', async () => {
  const window = await open('wind')
  const { words, axes, wind } = await window.run(shown)
  assert.match(words ?? 'nothing', /no wind sensor/i)
  for (const way of [
    '--sensor-source simulated',
    'npm run sensor -- --list',
    '--sensor-source serial --sensor-path',
    '--sensor-source recorded --sensor-file',
  ])
    assert.ok(words?.includes(way), way)
  assert.equal(axes, 0)
  assert.doesNotMatch(wind, /12\.0|No reading/)
  await window.close()
})

test('beside the text there is nothing about the wind', async () => {
  const window = await open('write')
  assert.equal((await window.run(shown)).wind, '')
  assert.equal(await window.run(() => document.querySelector('.desk-beside') === null), true)
  await window.close()
})

test('the terminal says the same', async () => {
  const flags = ['--sensor-source', 'none', '--storage', 'memory', '--port', '0', '--http1-port', '0']
  const server = spawn(process.execPath, [join(import.meta.dirname, '../../app/main.ts'), ...flags])
  let printed = ''
  for await (const text of server.stdout.setEncoding('utf8')) {
    printed += text
    if (printed.includes('Ctrl-C')) break
  }
  server.kill()
  if (server.exitCode === null) await once(server, 'exit')
  assert.match(printed, /Wind +none: .*--sensor-source simulated.*npm run sensor -- --list/s)
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})
