import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfDocument, channelFor, readOnlyAddress } from './document-requests.ts'

test('a document’s name becomes a channel that an address can hold', () => {
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

test('another document opens in the same mode and view, and is not read-only', () => {
  const here = 'https://localhost:8443/d/main?transport=sse&view=editor&read#end'
  assert.equal(
    addressOfDocument(here, 'Über'),
    'https://localhost:8443/d/%C3%9Cber?transport=sse&view=editor',
  )
  assert.equal(addressOfDocument(here, '..'), 'https://localhost:8443/?channel=..&transport=sse&view=editor')
  assert.equal(readOnlyAddress(here, 'notes'), 'https://localhost:8443/d/notes?read')
})
