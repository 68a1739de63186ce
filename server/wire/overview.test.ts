// Names of overviews' channels.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overviewChannel, pageOfOverview } from './overview.ts'

test('an overview’s channel names its page', () => {
  assert.equal(overviewChannel('main'), 'overview.main')
  assert.equal(pageOfOverview('overview.main'), 'main')
  for (const other of ['main', 'overview', 'wind', 'main.overview.', 'my-overview.main']) {
    assert.equal(pageOfOverview(other), null)
  }
})

test('its name is never longer than a channel’s may be', () => {
  assert.equal(overviewChannel('a'.repeat(55))?.length, 64)
  assert.equal(overviewChannel('a'.repeat(56)), null)
})
