// A window that comes to read other channels.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLink } from './testing-link.ts'

test('asks for them anew, from where it stands, and sends what is not stored again', () => {
  const { link, streams, newest, heard, publish } = openLink()
  newest().welcome({ cursor: 'life1:4' })
  newest().message(5)
  publish()
  link.read(['main', 'wind', 'overview.main'])
  assert.deepEqual([streams.length, streams[0]?.isClosed()], [2, true])
  const { query, cursor } = newest()
  assert.deepEqual(
    [query.get('channels'), query.get('opening'), cursor],
    ['main,wind,overview.main', '2', 'life1:5'],
  )
  newest().welcome({ cursor: 'life1:6' })
  newest().message(6)
  assert.deepEqual([heard.messages, newest().sent], [[5, 6], ['w1-1']])
  assert.equal(heard.newest?.repairs, 0)
})

test('the same ones change nothing', () => {
  const { link, streams, newest } = openLink()
  newest().welcome()
  link.read(['main', 'wind'])
  assert.equal(streams.length, 1)
})

test('while there is no connection the next one asks for them', () => {
  const { link, time, streams, newest } = openLink()
  newest().end()
  link.read(['main'])
  assert.equal(streams.length, 1)
  time.advance(250)
  assert.equal(newest().query.get('channels'), 'main')
  link.close()
  link.read(['main', 'wind'])
  assert.equal(streams.length, 2)
})
