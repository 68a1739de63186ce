// Views in addresses, known and unknown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressInView, tabs, viewAsked, views, viewsOfTab } from './views.ts'

test('each view has an address that leads back to it', () => {
  for (const { name } of views) {
    const { search } = new URL(addressInView('https://localhost:8443/?transport=sse&channel=harbour', name))
    assert.deepEqual(viewAsked(search), { name, notice: null })
    assert.equal(new URLSearchParams(search).get('channel'), 'harbour')
  }
})

test('an address without a view shows the document and the wind, and choosing that removes the view from it', () => {
  assert.deepEqual(viewAsked(''), { name: 'write', notice: null })
  assert.equal(addressInView('https://localhost/?view=wind', 'write'), 'https://localhost/')
})

test('an address of version 0.3 shows what it showed', () => {
  assert.deepEqual(viewAsked('?view=all'), { name: 'write', notice: null })
})

test('an unknown view shows the document, and the notice lists the views', () => {
  const { name, notice } = viewAsked('?view=winds')
  assert.equal(name, 'write')
  assert.match(notice ?? '', /“winds”.*write, editor, wind, history, compare and monitor/)
  for (const odd of ['', 'constructor', 'toString']) assert.equal(viewAsked(`?view=${odd}`).name, 'write')
  assert.ok((viewAsked(`?view=${'x'.repeat(5000)}`).notice ?? '').length < 200)
})

test('each view is in a tab, which opens the first of its views', () => {
  assert.deepEqual(
    tabs.map(({ name }) => name),
    ['write', 'wind', 'history', 'compare'],
  )
  assert.deepEqual(
    viewsOfTab('monitor').map(({ name }) => name),
    ['compare', 'monitor'],
  )
})
