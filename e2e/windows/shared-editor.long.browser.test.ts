// Nothing that anyone typed is lost: several windows write one document, in every mode.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { modeNamed } from '../../protocol/modes.ts'
import type { BrowserWindow } from '../browser/browser.ts'
import { caretShown, placeCaret, switchMode } from './page.ts'
import {
  cutOff,
  faultsSaid,
  openWriter,
  paste,
  reconnect,
  selectAll,
  typeAtOnce,
  untilEqual,
  untilParagraphs,
  type Writer,
} from './shared-editing.ts'
import { browserModes, openStage, type Stage, untilOpen } from './stage.ts'

const channel = 'together'
const begins = ['A:', 'B:', 'C:', 'D:', 'E:']
const fortyLetters = ['abcdefgh', 'ijklmnop', 'qrstuvwx', 'ABCDEFGH', 'IJKLMNOP'].map((part) =>
  part.repeat(5),
)

let stage: Stage
/** By HTTP version, since a relay has one port for one version. */
const relayed = new Map<string, Writer>()
let others: BrowserWindow[] = []
before(async () => {
  stage = await openStage({ share: 'none' })
  for (const name of ['sse/2', 'websocket/1.1']) {
    const mode = modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
    relayed.set(mode.http, await openWriter(stage.browser, stage.server.ports, mode, channel))
  }
  others = await stage.open(modeNamed('sse/2') ?? assert.fail('there is no mode sse/2'), 4, channel)
})
after(async () => {
  for (const writer of relayed.values()) await writer.close()
  await stage.close()
})

for (const mode of browserModes)
  describe(mode.name, () => {
    let first: Writer
    let five: BrowserWindow[]
    let all: BrowserWindow[]
    before(async () => {
      first = relayed.get(mode.http) ?? assert.fail(`no window speaks HTTP/${mode.http}`)
      five = [first, ...others]
      all = [...relayed.values(), ...others]
      for (const window of five) {
        await window.run(switchMode, mode.name)
        await untilOpen(window, mode)
      }
    })

    /** Gives each window a caret at the end of its own paragraph. */
    async function prepare(): Promise<void> {
      const [writer = first] = others.slice(-1)
      await writer.run(selectAll)
      await writer.run(paste, begins.map((text) => `<p>${text}</p>`).join(''), begins.join('\n\n'))
      await untilParagraphs(all, begins)
      for (const [index, window] of five.entries()) await window.run(placeCaret, index, 2)
    }

    test('five people type 40 letters each in their own paragraphs', async () => {
      await prepare()
      await typeAtOnce(five.map((window, index) => [window, fortyLetters[index] ?? '']))
      await untilParagraphs(
        all,
        begins.map((text, index) => `${text}${fortyLetters[index]}`),
      )
    })

    test('all type in one place: each text stays together', async () => {
      await prepare()
      for (const window of five) await window.run(placeCaret, 2, 1)
      await typeAtOnce(five.map((window, index) => [window, String(index).repeat(10)]))
      const html = await untilEqual(all)
      for (const index of five.keys()) assert.ok(html.includes(String(index).repeat(10)), html)
      assert.equal(html.replaceAll(/\d/g, ''), begins.map((text) => `<p>${text}</p>`).join(''))
    })

    test('one is offline for a while, and all continue writing', async () => {
      await prepare()
      await cutOff(first)
      const [second, third] = others as [BrowserWindow, BrowserWindow]
      await second.run(placeCaret, 0, 0)
      await typeAtOnce([
        [first, 'written offline'],
        [second, 'meanwhile '],
        [third, 'elsewhere'],
      ])
      await first.press('Enter')
      await first.type('and more')
      await reconnect(first)
      await untilParagraphs(all, ['meanwhile A:written offline', 'and more', 'B:', 'C:elsewhere', 'D:', 'E:'])
    })

    test('one composes while others type before and around it', async () => {
      await prepare()
      const [composing, second, third] = others as [BrowserWindow, BrowserWindow, BrowserWindow]
      await second.run(placeCaret, 1, 0)
      await third.run(placeCaret, 0, 1)
      await composing.compose('k')
      await typeAtOnce([
        [second, 'before '],
        [third, 'above '],
      ])
      await composing.compose('かん')
      await third.press('Enter')
      await typeAtOnce([
        [second, 'it '],
        [third, 'more '],
        [first, 'above'],
      ])
      await composing.commit('感じ')
      await composing.type('!')
      await untilParagraphs(all, ['Aabove ', 'more :above', 'before it B:感じ!', 'C:', 'D:', 'E:'])
    })

    test('undo and redo affect only one’s own changes', async () => {
      await prepare()
      const [mine, theirs] = others as [BrowserWindow, BrowserWindow]
      await theirs.run(placeCaret, 1, 1)
      await typeAtOnce([
        [mine, 'mine'],
        [theirs, 'theirs'],
      ])
      await untilParagraphs(all, ['A:', 'Btheirs:mine', 'C:', 'D:', 'E:'])
      const shows = async (text: string) => (await mine.run(() => document.body.innerText)).includes(text)
      // On a busy machine the keystrokes are more than one step.
      for (let step = 0; step < 4 && (await shows('theirs:m')); step += 1) await mine.press('Control+z')
      await untilParagraphs(all, ['A:', 'Btheirs:', 'C:', 'D:', 'E:'])
      for (let step = 0; step < 4 && !(await shows('theirs:mine')); step += 1)
        await mine.press('Control+Shift+z')
      await untilParagraphs(all, ['A:', 'Btheirs:mine', 'C:', 'D:', 'E:'])
    })

    test('a caret stays at its text when others edit above, before and after it', async () => {
      await prepare()
      const [reader, second, third] = others as [BrowserWindow, BrowserWindow, BrowserWindow]
      await reader.type('word')
      await untilParagraphs(all, ['A:', 'B:word', 'C:', 'D:', 'E:'])
      await reader.run(placeCaret, 1, 4)
      await second.run(placeCaret, 0, 1)
      await third.run(placeCaret, 1, 0)
      await second.press('Enter')
      await second.press('Delete')
      await typeAtOnce([
        [second, 'above'],
        [third, 'before '],
      ])
      await third.press('End')
      await third.type(' behind')
      await untilParagraphs(all, ['A', 'above', 'before B:word behind', 'C:', 'D:', 'E:'])
      assert.equal(await reader.run(caretShown), 'before B:wo|rd behind')
    })

    test('a window opened afterwards shows the same', async () => {
      const [later] = await stage.open(mode, 1, channel, { pageHttp: '2' })
      assert.ok(later)
      const html = await untilEqual([...all, later])
      assert.match(html, /before B:word behind/)
      await later.close()
    })
  })

test('no window logged an error', async () => {
  assert.deepEqual(await faultsSaid(stage.browser), [])
})
