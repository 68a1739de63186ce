import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelFor, findDocuments } from './document-names.ts'

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

test('documents are found by words in title and address, and sorted', () => {
  const documents = [
    ['main', ''],
    ['b', 'Élan 10'],
    ['plans', 'élan 9'],
    ['zoo', 'Änderungen'],
  ].map(([channel = '', title = '']) => ({
    channel,
    title,
    at: null,
    windows: 0,
    mayWrite: true,
    deletedAt: null,
    isTooCostly: false,
  }))
  const found = (wanted: string, order: 'change' | 'name') =>
    findDocuments(documents, wanted, order).map(({ channel }) => channel)
  assert.deepEqual(found('', 'change'), ['main', 'b', 'plans', 'zoo'])
  assert.deepEqual(found('', 'name'), ['zoo', 'plans', 'b', 'main'])
  assert.deepEqual(found(' elan ', 'change'), ['b', 'plans'])
  assert.deepEqual(found('PLANS élan', 'change'), ['plans'])
  assert.deepEqual(found('nothing', 'name'), [])
})
