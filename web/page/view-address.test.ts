// Views in addresses, known and unknown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressInView, viewAsked } from './view-address.ts'
import { views } from './views.ts'

test('each view has an address that leads back to it', () => {
  for (const { name } of views) {
    const { search } = new URL(addressInView('https://localhost:8443/?transport=sse&channel=harbour', name))
    assert.deepEqual(viewAsked(search), { name, notice: null })
    assert.equal(new URLSearchParams(search).get('channel'), 'harbour')
  }
})

test('an address that names none shows all, and choosing all leaves none in it', () => {
  assert.deepEqual(viewAsked(''), { name: 'all', notice: null })
  assert.equal(addressInView('https://localhost/?view=wind', 'all'), 'https://localhost/')
})

test('an unknown one shows all, and says which there are', () => {
  const { name, notice } = viewAsked('?view=winds')
  assert.equal(name, 'all')
  assert.match(notice ?? '', /“winds”.*all, editor, wind and overview/)
  assert.equal(viewAsked('?view=').name, 'all')
  assert.ok((viewAsked(`?view=${'x'.repeat(5000)}`).notice ?? '').length < 200)
})
