// The library from outside: CodeMirror with a shared document, in two windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startExample } from './examples.ts'

test('two windows write in one CodeMirror, see each other’s caret, and a later one has what they wrote', async () => {
  await using opened = new AsyncDisposableStack()
  const open = await startExample('codemirror', opened)
  type Window = Awaited<ReturnType<typeof open>>
  const shows = ({ page }: Window, selector: string, text: string) =>
    page.waitForFunction(
      (where, wanted) => document.querySelector(where)?.textContent?.includes(wanted),
      { polling: 50 },
      ...([selector, text] as const),
    )
  const [ann, bob] = [await open(), await open()]
  await ann.page.click('.cm-content')
  await ann.page.keyboard.type('hello ')
  await shows(bob, '.cm-content', 'hello ')
  await shows(bob, '.cm-ySelectionInfo', 'Guest')
  await bob.page.click('.cm-content')
  await bob.page.keyboard.press('End')
  await bob.page.keyboard.type('world')
  const late = await open()
  for (const window of [ann, bob, late]) {
    await shows(window, '.cm-line', 'hello')
    await shows(window, '.cm-line', 'world')
    await shows(window, '#state', 'Saved')
  }
  for (const window of [ann, bob, late])
    assert.deepEqual(
      window.errors().filter((text) => !text.includes('404')),
      [],
    )
})
