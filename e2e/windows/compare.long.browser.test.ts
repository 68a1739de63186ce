// The view Compare: every mode gets a figure or a reason, one is advised, and a link shows the same.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Mode, modes } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { isThere, shown } from './page.ts'
import { browserModes, openConnection, openStage, type Stage, untilOpen } from './stage.ts'

const [mode] = modes as readonly [Mode, ...Mode[]]

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

async function openView(rounds: number, view = 'compare'): Promise<BrowserWindow> {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin[mode.http]}/d/measured?record&view=${view}&rounds=${rounds}`)
  await untilOpen(window, mode)
  return window
}

interface RowShown {
  readonly mode: string
  readonly figure: string
  readonly note: string
}

function rowsShown(): RowShown[] {
  const textOf = (row: Element, part: string) => row.querySelector(`.comparison-${part}`)?.textContent ?? ''
  return Array.from(document.querySelectorAll('.comparison-rows > li:has(.comparison-mode)'), (row) => ({
    mode: textOf(row, 'mode'),
    figure: textOf(row, 'figure'),
    note: textOf(row, 'note'),
  }))
}

async function pollPage(from: string): Promise<{ cursor: string; frames: { type: string }[] }> {
  return (await fetch(`/api/poll?window=measured&channels=measured&${from}`)).json()
}

/** The address of the page's result. */
async function measured(window: BrowserWindow): Promise<string> {
  await window.click('.comparison-start')
  const link = () => document.querySelector<HTMLAnchorElement>('.comparison-link')?.href ?? ''
  await until(async () => (await window.run(link)) !== '', 'the comparison does not end', 90_000)
  return window.run(link)
}

test('every mode has a median or a reason, a link shows the same, and the page has got no message', async () => {
  const window = await openView(2)
  const before = await window.run(pollPage, 'first')
  const address = await measured(window)
  const { frames } = await window.run(pollPage, `cursor=${before.cursor}`)
  assert.deepEqual(
    frames.filter(({ type }) => type === 'message'),
    [],
  )

  const rows = await window.run(rowsShown)
  assert.deepEqual(rows.map(({ mode: label }) => label).sort(), modes.map(({ label }) => label).sort())
  for (const { name, label } of modes) {
    const row = rows.find((one) => one.mode === label)
    if (browserModes.some((one) => one.name === name)) {
      assert.match(row?.figure ?? '', /^[\d.]+ ms/, name)
      assert.match(row?.note ?? '', /^$|\d of \d+ arrived/, name)
    } else assert.match(row?.note ?? '', /Not supported by this browser/, name)
  }
  // Two rounds are not enough for certainty.
  assert.match(await window.run(shown, '.comparison-advice'), /^(Keep .+|.+ is not reliable here)\.$/)
  assert.notEqual(await window.run(shown, '.comparison-reason'), '')
  assert.equal(await window.run(isThere, '.comparison-switch'), false)
  const verdict = await window.run(shown, '.comparison-more p')
  assert.match(verdict, /^Undecided between /)
  for (const { label } of modes.filter((one) => !browserModes.includes(one)))
    assert.ok(verdict.endsWith(`Without a figure: “${label}”.`), verdict)
  const network = await window.run(shown, '.comparison-findings')
  for (const words of [/HTTP\/2 arrives\./, /Streams flow/, /WebSockets get through/])
    assert.match(network, words)
  const choice = await window.run(shown, '.comparison-choice p')
  assert.match(choice, /^SSE \+ XHR over HTTP\/2: it works in every browser, it delivers at once/)

  const reader = await stage.browser.newWindow()
  await reader.open(address)
  await until(async () => (await reader.run(rowsShown)).length > 0, 'the link shows no result')
  assert.deepEqual(await reader.run(rowsShown), rows)
  const elsewhere = await reader.run(shown, '.comparison-verdict')
  assert.match(elsewhere, /^Measured elsewhere: \w+ \d+, .*\d\d:\d\d\..+ may be the fastest there\./)
  assert.equal(await reader.run(shown, '.comparison-more p'), verdict)

  await openConnection(window)
  await window.click('.mode-more')
  const items = await window.run(() =>
    Array.from(document.querySelectorAll('.mode-item'), ({ textContent }) => textContent),
  )
  for (const { mode: label, figure } of rows) {
    const median = /^[\d.]+ ms/.exec(figure)?.[0]
    const isShown = (item: string) => item.includes(label) && item.includes(` ${median} here`)
    if (median) assert.ok(items.some(isShown), label)
  }
  await window.close()
  await reader.close()
})

test('the connection’s panel leads to the comparison, and a row’s button switches to its mode', async () => {
  const window = await openView(1, 'editor')
  await openConnection(window)
  await window.click('.connection-link')
  await until(() => window.run(() => document.querySelector('#comparison') !== null), 'the view is not shown')
  await measured(window)
  const other = modes.find(({ uplink }) => uplink === 'socket') as Mode
  await window.click(`.comparison-use [aria-label="Use this: ${other.label}"]`)
  await untilOpen(window, other)
  await window.close()
})

test('a damaged link is refused with a sentence', async () => {
  const window = await stage.browser.newWindow()
  await window.open(`${stage.server.origin[mode.http]}/d/measured?record&view=compare#compared=1~x`)
  await untilOpen(window, mode)
  assert.match(await window.run(shown, '.comparison-fault'), /^This link carries no readable result/)
  await window.close()
})

test('no policy violations and no other errors occurred', async () => {
  assert.deepEqual(await stage.browser.consoleMessages(), [])
})
