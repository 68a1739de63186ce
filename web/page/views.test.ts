// Views in addresses, known and unknown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressInView, viewAsked, views } from './views.ts'

test('each view has an address that leads back to it', () => {
  for (const { name } of views) {
    const { search } = new URL(addressInView('https://localhost:8443/?transport=sse&channel=harbour', name))
    assert.deepEqual(viewAsked(search), { name, notice: null })
    assert.equal(new URLSearchParams(search).get('channel'), 'harbour')
  }
})

test('an address without a view shows everything, and choosing everything removes the view from it', () => {
  assert.deepEqual(viewAsked(''), { name: 'all', notice: null })
  assert.equal(addressInView('https://localhost/?view=wind', 'all'), 'https://localhost/')
})

test('an unknown view shows everything, and the notice lists the views', () => {
  const { name, notice } = viewAsked('?view=winds')
  assert.equal(name, 'all')
  assert.match(notice ?? '', /“winds”.*all, editor, wind, history, compare and monitor/)
  assert.equal(viewAsked('?view=').name, 'all')
  assert.ok((viewAsked(`?view=${'x'.repeat(5000)}`).notice ?? '').length < 200)
})
