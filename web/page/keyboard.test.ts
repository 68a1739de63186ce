// The height that a phone's keyboard covers, as a style.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followKeyboard } from './keyboard.ts'

function watched() {
  const set: string[] = []
  const view = Object.assign(new EventTarget(), { height: 740, offsetTop: 0, scale: 1 })
  followKeyboard(view as unknown as VisualViewport, () => 740, {
    setProperty: (_name, value) => void set.push(String(value)),
  })
  return { view, set }
}

test('tells the height that a keyboard covers, and that it is gone', () => {
  const { view, set } = watched()
  view.height = 440
  view.dispatchEvent(new Event('resize'))
  // Safari scrolls the page behind the keyboard.
  view.offsetTop = 120
  view.dispatchEvent(new Event('scroll'))
  Object.assign(view, { height: 740, offsetTop: 0 })
  view.dispatchEvent(new Event('resize'))
  assert.deepEqual(set, ['0px', '300px', '180px', '0px'])
})

test('a page that is zoomed has no keyboard', () => {
  const { view, set } = watched()
  Object.assign(view, { height: 370, scale: 2 })
  view.dispatchEvent(new Event('resize'))
  assert.deepEqual(set, ['0px', '0px'])
})

test('without a visual viewport it does nothing', () => {
  followKeyboard(null, () => 740, { setProperty: () => assert.fail('it was set') })
})
