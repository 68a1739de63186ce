import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelFor, inOrder, partsAt } from './document-names.ts'

test('a document’s name becomes a channel that is valid in an address', () => {
  for (const [name, channel] of [
    ['notes', 'notes'],
    ['Minutes of 3/5', 'Minutes-of-3-5'],
    ['Plan fu\u0308r Mai', 'Plan-für-Mai'],
    [' .. ', null],
    ['!?', null],
    ['', null],
    ['wind', 'document-wind'],
    ['overview.main', 'document-overview.main'],
    ['気'.repeat(40), '気'.repeat(21)],
  ] as const)
    assert.equal(channelFor(name), channel)
})

test('documents are sorted by name as people read it', () => {
  const documents = [
    ['main', ''],
    ['b', 'Plan 10'],
    ['plans', 'Plan 9'],
    ['zoo', 'Änderungen'],
  ].map(([channel = '', title = '']) => ({
    channel,
    title,
    at: null,
    windows: 0,
    mayWrite: true,
    deletedAt: null,
    isTooCostly: false,
    found: null,
  }))
  const order = (by: 'change' | 'name') => inOrder(documents, by).map(({ channel }) => channel)
  assert.deepEqual(order('change'), ['main', 'b', 'plans', 'zoo'])
  assert.deepEqual(order('name'), ['zoo', 'main', 'plans', 'b'])
})

test('the words that were searched for are marked in a line', () => {
  assert.deepEqual(partsAt(['wind', 'the'], 'The wind, THE Wind.'), [
    '',
    'The',
    ' ',
    'wind',
    ', ',
    'THE',
    ' ',
    'Wind',
    '.',
  ])
  assert.deepEqual(partsAt(['x'], 'no such word'), ['no such word'])
  assert.deepEqual(partsAt(['ane'], 'ﬁ Äne'), ['ﬁ ', 'Äne', ''])
})
