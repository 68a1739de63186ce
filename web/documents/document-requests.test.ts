import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressOfDocument,
  channelFor,
  findDocuments,
  homeAddress,
  readOnlyAddress,
} from './document-requests.ts'

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

test('another document opens in the same mode and view, and not read-only', () => {
  const here = 'https://localhost:8443/d/main?transport=sse&view=editor&read#end'
  assert.equal(
    addressOfDocument(here, 'Über'),
    'https://localhost:8443/d/%C3%9Cber?transport=sse&view=editor',
  )
  assert.equal(addressOfDocument(here, '..'), 'https://localhost:8443/?channel=..&transport=sse&view=editor')
  assert.equal(readOnlyAddress(here, 'notes'), 'https://localhost:8443/d/notes?read')
})

test('home is the first page, with all its parts, in the same mode', () => {
  assert.equal(
    homeAddress('https://localhost:8443/d/notes?transport=sse&view=history&read#end'),
    'https://localhost:8443/?transport=sse',
  )
  assert.equal(homeAddress('https://localhost:8443/?channel=..'), 'https://localhost:8443/')
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
