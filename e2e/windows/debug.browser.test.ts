// `?debug` in the page's address: one keystroke on the consoles of two windows.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

const told = (): string[] => (globalThis as typeof globalThis & { told?: string[] }).told ?? []

async function openTraced(): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin['2']}/?view=editor&transport=sse&http=2&debug=outbox,link`)
  const isOpen = () => document.querySelector('.connection')?.getAttribute('data-link') === 'open'
  await until(() => window.run(isOpen), 'the window is not open')
  await window.run(() => {
    const told: string[] = []
    Object.assign(globalThis, { told })
    console.debug = (line: string) => void told.push(line)
  })
  return window
}

async function linesWith(window: BrowserWindow, word: string): Promise<string[]> {
  const isTold = async () => (await window.run(told)).some((line) => line.includes(word))
  await until(isTold, `"${word}" is not told`)
  return window.run(told)
}

test('a keystroke is traced where it is typed and where it is read, without the browser’s key', async () => {
  const reader = await openTraced()
  const writer = await openTraced()
  await writer.click('#document')
  await writer.type('k')
  const read = await linesWith(reader, ' applied by ')
  const written = [await linesWith(writer, ' applied by '), await linesWith(writer, ' answered: ')].flat()
  assert.match(written.join('\n'), /^\S+Z outbox {3}\S+-1 drafted: update on main$/m)
  assert.match(written.join('\n'), /^\S+Z outbox {3}\S+-1 sent over sse\/2, attempt 1$/m)
  assert.match(written.join('\n'), /^\S+Z outbox {3}\S+-1 answered: stored as 1$/m)
  assert.match(read.join('\n'), /^\S+Z link {5}\S+-1 received by \S+ over sse\/2: stored as 1$/m)
  const key = await writer.run(() => /__Host-crosswind-key=([^;]+)/.exec(document.cookie)?.[1] ?? '')
  assert.ok(key.length > 20)
  assert.doesNotMatch([...written, ...read].join('\n'), new RegExp(RegExp.escape(key)))
})
