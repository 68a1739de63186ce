import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfDocument, homeAddress, linkTo } from './document-addresses.ts'

test('another document opens in the same mode and view, and not read-only', () => {
  const here = 'https://localhost:8443/d/main?transport=sse&view=editor&read#end'
  assert.equal(
    addressOfDocument(here, 'Über'),
    'https://localhost:8443/d/%C3%9Cber?transport=sse&view=editor',
  )
  assert.equal(addressOfDocument(here, '..'), 'https://localhost:8443/?channel=..&transport=sse&view=editor')
})

test('a link to a document says whether it is to read only', () => {
  assert.equal(linkTo('https://192.168.7.20:8443', 'notes', 'read'), 'https://192.168.7.20:8443/d/notes?read')
  assert.equal(
    linkTo('https://192.168.7.20:8443', '..', 'read'),
    'https://192.168.7.20:8443/?channel=..&read',
  )
  assert.equal(linkTo('https://localhost', 'notes', 'write'), 'https://localhost/d/notes')
})

test('home is the first page, with all its parts, in the same mode', () => {
  assert.equal(
    homeAddress('https://localhost:8443/d/notes?transport=sse&view=history&read#end'),
    'https://localhost:8443/?transport=sse',
  )
  assert.equal(homeAddress('https://localhost:8443/?channel=..'), 'https://localhost:8443/')
})
