// Keys on several platforms and layouts and how they are written, and what a slash offers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPressOf, keysShown, keysSpoken, otherShortcuts, tools, toolsFor } from './tools.ts'

const none = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false }
const press = (key: string, code: string, held: Partial<typeof none> = {}) => ({
  key,
  code,
  ...none,
  ...held,
})
const keysOf = (found: string) => tools.find(({ name }) => name === found)?.keys[0] ?? assert.fail(found)

test('Ctrl is the modifier, on a Mac ⌘ is, and neither counts as the other', () => {
  assert.ok(isPressOf('Mod+B', press('b', 'KeyB', { ctrlKey: true }), false))
  assert.ok(isPressOf('Mod+B', press('b', 'KeyB', { metaKey: true }), true))
  assert.ok(!isPressOf('Mod+B', press('b', 'KeyB', { ctrlKey: true }), true))
  assert.ok(!isPressOf('Mod+B', press('b', 'KeyB', { metaKey: true }), false))
  assert.ok(!isPressOf('Mod+B', press('b', 'KeyB'), false))
})

test('letters match by layout; digits and letters of other alphabets match by key position', () => {
  const held = { ctrlKey: true }
  // AZERTY: the key at Z’s position writes W.
  assert.ok(!isPressOf('Mod+Z', press('w', 'KeyZ', held), false))
  assert.ok(isPressOf('Mod+Z', press('z', 'KeyW', held), false))
  assert.ok(isPressOf('Mod+B', press('и', 'KeyB', held), false))
  assert.ok(isPressOf('Mod+Shift+8', press('*', 'Digit8', { ...held, shiftKey: true }), false))
  assert.ok(isPressOf('Mod+Alt+1', press('¡', 'Digit1', { metaKey: true, altKey: true }), true))
  // German: the slash is on a shifted 7.
  assert.ok(isPressOf('Mod+/', press('/', 'Digit7', { ...held, shiftKey: true }), false))
})

test('an additional modifier makes it another shortcut', () => {
  const held = { ctrlKey: true, shiftKey: true }
  assert.ok(!isPressOf('Mod+Z', press('Z', 'KeyZ', held), false))
  assert.ok(isPressOf('Mod+Shift+Z', press('Z', 'KeyZ', held), false))
  assert.ok(!isPressOf('Tab', press('Tab', 'Tab', { altKey: true }), false))
})

test('keys are written as on the platform', () => {
  const shown = (isMac: boolean) =>
    ['bold', 'h1', 'strike', 'indent'].map((name) => keysShown(keysOf(name), isMac))
  assert.deepEqual(shown(false), ['Ctrl+B', 'Ctrl+Alt+1', 'Ctrl+Shift+X', 'Tab'])
  assert.deepEqual(shown(true), ['⌘B', '⌥⌘1', '⇧⌘X', '⇥'])
  assert.equal(keysShown('Mod+Click', true), '⌘click')
  assert.equal(keysSpoken(['Mod+Shift+Z', 'Mod+Y'], false), 'Control+Shift+Z Control+Y')
})

test('no two tools share a name or keys', () => {
  const keys = [...tools.flatMap((tool) => tool.keys), ...otherShortcuts.map((other) => other.keys)]
  assert.equal(new Set(keys).size, keys.length)
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length)
})

test('a slash offers eight tools, and the words after it choose among them', () => {
  const offered = (words: string) => toolsFor(words).map(({ name }) => name)
  assert.deepEqual(offered(''), ['h1', 'h2', 'h3', 'blockquote', 'pre', 'ul', 'ol', 'link'])
  assert.deepEqual(offered('LIST'), ['ul', 'ol'])
  assert.deepEqual(offered('h2'), ['h2'])
  assert.deepEqual(offered('head'), ['h1', 'h3'])
  assert.deepEqual(offered('x'), [])
})
