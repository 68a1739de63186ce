// Readings on their way into the store.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bodies, Message } from '../../server/wire/envelope.ts'
import { createAnemograph } from '../../server/wire/wind/anemograph.ts'
import { measured, startAt } from '../../server/wire/wind/testing.ts'
import { createStore, firstView } from '../store/store.ts'
import { createWindFeed, receivedWithPage } from './wind-feed.ts'

function message<K extends 'reading' | 'sensor'>(kind: K, seq: number, body: Bodies[K]): Message {
  const at = startAt + seq * 250
  return { id: `sensor-${seq}`, channel: 'wind', kind, from: 'sensor', at, acceptedAt: at, seq, body }
}

function feeding() {
  const store = createStore(firstView('sse/2'))
  const anemograph = createAnemograph()
  return { store, anemograph, feed: createWindFeed(store, anemograph) }
}

test('a reading is shown with its figures, and the sensor stays as it was', () => {
  const { store, feed } = feeding()
  feed(message('sensor', 1, { source: 'simulated', state: 'connected', sentence: 'Simulated.' }), 5)
  feed(message('reading', 2, measured(6, 90)), 6)
  feed(message('reading', 3, measured(8, 90)), 7)
  const { reading, receivedAt, takenAt, figures, sensor } = store.view().wind
  assert.equal(reading?.speed, 8)
  assert.deepEqual([receivedAt, takenAt], [7, startAt + 750])
  assert.equal(figures.twoMinutes?.speedMetresPerSecond, 7)
  assert.equal(sensor?.source, 'simulated')
})

test('the same reading once more counts once, an equal one counts', () => {
  const { store, anemograph, feed } = feeding()
  feed(message('reading', 1, measured(6, 90)), 1)
  const shown = store.view().wind
  feed(message('reading', 1, measured(6, 90)), 2)
  assert.equal(store.view().wind, shown)
  feed(message('reading', 2, measured(6, 90)), 3)
  assert.equal(anemograph.history.since(0, true).length, 2)
})

test('edits are none of its business', () => {
  const { store, feed } = feeding()
  const before = store.view()
  feed({ ...message('reading', 1, measured(6, 90)), kind: 'edit', body: { html: '' } }, 1)
  assert.equal(store.view(), before)
})

test('what came with the page is as old as its place in the log says, and never of the future', () => {
  const old = message('reading', 0, measured(6, 90))
  assert.equal(receivedWithPage(old, startAt + 3_600_000), startAt)
  assert.equal(receivedWithPage(old, startAt - 5000), startAt - 5000)
})
