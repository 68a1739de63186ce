// What a page shows before its script runs is safe as HTML, and has only what the caller may use.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstView } from './first-view.ts'

/** A writer's view without text. */
const view = { title: 'A title', mayWrite: true, view: 'write', lines: null, hasWind: false } as const

test('a title is text', () => {
  const html = firstView({ ...view, title: '<script>run()</script>' })
  assert.match(html, /&lt;script&gt;run\(\)&lt;\/script&gt;/)
  assert.doesNotMatch(html, /<script/)
})

test('readers get no tools, other views no text, and a server without a sensor no place for the wind', () => {
  const lines = '<p>text</p>'
  assert.match(firstView({ ...view, lines }), /toolbar.*<p>text<\/p>/)
  assert.doesNotMatch(firstView({ ...view, lines, mayWrite: false }), /toolbar/)
  assert.doesNotMatch(firstView(view), /document first-lines/)
  assert.match(firstView({ ...view, lines, hasWind: true }), /<aside/)
  assert.doesNotMatch(firstView({ ...view, lines }), /<aside/)
})
