// Past wind is shown at once in new windows, after a reload and after a server restart.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pageTypeOf } from '../../app/page-testing.ts'
import { store } from '../../app/shared/wind-testing.ts'
import { testConfig } from '../../app/testing.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { openLog } from '../../server/log/open-log.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openStage, type Stage } from './stage.ts'

const [mode] = modes as readonly [Mode, ...Mode[]]

/** Stronger than any wind of the simulator. */
const stormMetresPerSecond = 44

let stage: Stage
let dataFolder: string
before(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'crosswind-history-'))
  const limits = { ...testConfig.limits, logMessages: 100_000, logBytes: 100_000_000 }
  const kept = { storage: 'sqlite', dataFolder, limits } as const
  await storeHalfAnHour({ ...testConfig, ...kept })
  stage = await openStage({
    ...kept,
    sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 20 },
  })
})
after(async () => {
  await stage.close()
  await rm(dataFolder, { recursive: true, force: true })
})

/** The log of an earlier server: a storm, one reading per second, and a minute of wind twenty hours before. */
async function storeHalfAnHour(config: Parameters<typeof openLog>[0]): Promise<void> {
  const { log } = await openLog(config, {
    dataFolder,
    typeOf: pageTypeOf,
    now: Date.now,
    random: Math.random,
    onFailure: console.error,
  })
  const endedAt = Date.now()
  const moments = Array.from({ length: 1800 }, (_nothing, n) => endedAt - (1800 - n) * 1000)
  const before = Array.from({ length: 60 }, (_nothing, n) => endedAt - 20 * 3_600_000 + n * 1000)
  await store(log, [...before, ...moments], { speed: stormMetresPerSecond })
  await log.close()
}

async function open(query: string): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin[mode.http]}/?${query}`)
  return window
}

function words(): string {
  return document.querySelector('.history-words')?.textContent ?? ''
}

function asked(): number {
  const loaded = performance.getEntriesByType('resource')
  return loaded.filter(({ name }) => name.endsWith('/api/wind/history')).length
}

async function untilSays(window: BrowserWindow, pattern: RegExp): Promise<void> {
  await until(async () => pattern.test(await window.run(words)), `the history does not say ${pattern}`).catch(
    async (error) => {
      throw new Error(`${error.message} It says: ${await window.run(words)}`)
    },
  )
}

/** All ten minutes: a shorter history states its seconds. */
const lookingBack = /^In the last 10 minutes: Readings [\d.]+ to 44\.\d* m\/s, mean /

test('a new window shows past wind, also from before a server restart, and again after a reload', async () => {
  const window = await open('view=wind')
  await untilSays(window, lookingBack)
  assert.equal(await window.run(asked), 1)
  const figures = () => document.querySelector('.figures')?.textContent ?? ''
  assert.match(await window.run(figures), /Gust.*44\.0/i)
  await window.reload()
  await untilSays(window, lookingBack)
  assert.equal(await window.run(asked), 1)
  await window.close()
})

test('the last day and week are shown once they are chosen', async () => {
  const window = await open('view=wind')
  await untilSays(window, lookingBack)
  const isWeekAsked = () =>
    performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/api/wind/week'))
  assert.equal(await window.run(isWeekAsked), false)
  for (const [choice, shown] of [
    [4, '24 hours'],
    [5, '7 days'],
  ] as const) {
    await window.click(`.history .segment:nth-of-type(${choice})`)
    await untilSays(window, new RegExp(`^In the last ${shown}: (?:19|20) h: readings [\\d.]+ to 44`))
  }
  // The browser keeps the choice.
  await window.click('.history .segment:nth-of-type(2)')
  await window.close()
})

test('the editor view requests no past wind until it shows the wind', async () => {
  const window = await open('view=editor')
  const isOpen = () => document.querySelector('.connection')?.getAttribute('data-link') === 'open'
  await until(() => window.run(isOpen), 'the window did not open')
  assert.equal(await window.run(asked), 0)
  await window.click('.tabs .tab:nth-child(2)')
  await untilSays(window, lookingBack)
  assert.equal(await window.run(asked), 1)
  await window.close()
})

test('a window that is measured requests nothing', async () => {
  const window = await open('view=wind&record')
  await untilSays(window, /\d s: .* mean/)
  assert.equal(await window.run(asked), 0)
  await window.close()
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})
