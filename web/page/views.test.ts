// Views in addresses, known and unknown, and the channels they read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressInView, channelsFor, viewAsked, views } from './views.ts'

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
  assert.match(notice ?? '', /“winds”.*all, editor, wind, overview, history, compare and monitor/)
  assert.equal(viewAsked('?view=').name, 'all')
  assert.ok((viewAsked(`?view=${'x'.repeat(5000)}`).notice ?? '').length < 200)
})

test('only the view that shows the overview reads its channel', () => {
  assert.deepEqual(channelsFor('main', 'overview'), ['main', 'wind', 'overview.main'])
  for (const view of ['all', 'editor', 'wind'] as const) {
    assert.deepEqual(channelsFor('main', view), ['main', 'wind'])
  }
  // The server refuses a whole stream that requests an invalid name.
  assert.deepEqual(channelsFor('x'.repeat(60), 'overview'), ['x'.repeat(60), 'wind'])
})
