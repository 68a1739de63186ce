// What character references stand for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { decodeReferences } from './references.ts'

const { document } = new JSDOM('').window

function asInBrowsers(text: string): string {
  const element = document.createElement('p')
  element.innerHTML = text
  return element.textContent
}

const names =
  `nbsp shy szlig eacute Eacute yuml quot amp apos lt gt OElig Yuml circ ndash mdash lsquo rsquo hellip
  euro fnof Alpha omega sigmaf thetasym bull Prime real trade lArr forall notin there4 sube sdot lang rang loz diams
  ensp emsp thinsp zwnj zwj lrm rlm`.split(/\s+/)

test('names stand for what they stand for in browsers', () => {
  for (const name of names) {
    const text = `a&${name};b`
    assert.notEqual(decodeReferences(text), text)
    assert.equal(decodeReferences(text), asInBrowsers(text), name)
  }
})

test('numbers too, those of Windows-1252 and those that are no characters included', () => {
  const codes = [
    0, 9, 0x41, 0x80, 0x81, 0x92, 0x9f, 0xa0, 0xe9, 0xd800, 0xdfff, 0xffff, 0x1f600, 0x10ffff, 0x110000,
  ]
  for (const code of codes) {
    for (const text of [`&#${code};`, `&#x${code.toString(16)};`, `&#X${code.toString(16)} z`]) {
      assert.equal(decodeReferences(text), asInBrowsers(text), text)
    }
  }
})

test('what is no reference stays as it is', () => {
  for (const text of ['AT&T', 'a & b', '&;', '&#;', '&#x;', '&nosuchname;', 'a&&b', '&constructor;', '&']) {
    assert.equal(decodeReferences(text), text)
  }
})

test('a reference is decoded once', () => {
  assert.equal(decodeReferences('&amp;lt;'), '&lt;')
})
