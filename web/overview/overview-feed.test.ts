// Overviews on their way into the store, and who asks for them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStore, firstView } from '../store/store.ts'
import { channelsFor, feedOverview } from './overview-feed.ts'
import { body, serverAt } from './testing.ts'

test('the newest is kept with the server’s time and this window’s, and nothing else is', () => {
  const store = createStore(firstView('sse/2'))
  const message = {
    id: 'overview-1',
    channel: 'overview.main',
    from: 'overview',
    acceptedAt: serverAt,
    seq: 7,
  }
  feedOverview(store, { ...message, kind: 'overview', at: serverAt, body }, 12)
  assert.deepEqual(store.view().overview, { body, at: serverAt, receivedAt: 12 })
  const before = store.view()
  feedOverview(store, { ...message, kind: 'edit', at: serverAt, body: { html: '' } }, 13)
  assert.equal(store.view(), before)
})

test('only the view that shows it asks for it', () => {
  assert.deepEqual(channelsFor('main', 'overview'), ['main', 'wind', 'overview.main'])
  for (const view of ['all', 'editor', 'wind'] as const) {
    assert.deepEqual(channelsFor('main', view), ['main', 'wind'])
  }
  // A stream that asked for a name that is none would be refused whole.
  assert.deepEqual(channelsFor('x'.repeat(60), 'overview'), ['x'.repeat(60), 'wind'])
})
