// The library from outside: a chat, in two windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startExample } from './examples.ts'

test('a chat beside a Koa application: each window has what the other writes, and a later one what was written', async () => {
  await using opened = new AsyncDisposableStack()
  const open = await startExample('chat-koa', opened)
  const reads = ({ page }: Awaited<ReturnType<typeof open>>, texts: readonly string[]) =>
    page.waitForFunction(
      (expected) =>
        JSON.stringify(Array.from(document.querySelectorAll('li'), ({ textContent }) => textContent)) ===
        expected,
      { polling: 50 },
      JSON.stringify(texts),
    )
  const [ann, bob] = [await open(), await open()]
  await ann.page.type('#text', 'hello')
  await ann.page.keyboard.press('Enter')
  for (const window of [ann, bob]) await reads(window, ['hello'])
  await bob.page.type('#text', 'hi')
  await bob.page.keyboard.press('Enter')
  const late = await open()
  for (const window of [ann, bob, late]) await reads(window, ['hello', 'hi'])
  for (const window of [ann, bob, late])
    assert.deepEqual(
      window.errors().filter((text) => !text.includes('404')),
      [],
    )
})
