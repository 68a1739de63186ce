// Files of other kinds are recognized by their content, and text is not taken for one of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindOfFile } from './file-kind.ts'
import { wrongFiles } from './wrong-files-testing.ts'

for (const { name, bytes, is } of wrongFiles)
  test(`${name} is ${is}`, () => assert.equal(kindOfFile(bytes)?.name, is))

const texts: [what: string, text: string | Uint8Array][] = [
  ['nothing', ''],
  ['text that begins like a bitmap', 'BMW and others'],
  ['text that begins like a program', 'MZ 3 was a ship'],
  ['text whose fifth letter begins “free”, like a film', 'The free press\n'],
  ['a letter G, which begins a film', 'Gusts of nine\n'],
  ['a list in square brackets', '[1] a\n'],
  ['old text with the line breaks of Word', Uint8Array.from(Buffer.from('BMW\x0bV\xe4der', 'latin1'))],
  ['text in UTF-16', Uint8Array.from(Buffer.from('\ufeffBM a\n', 'utf16le'))],
  ['Markdown that quotes RTF', '`{\\rtf1\\ansi}` begins a file\n'],
  ['the head of a memo', 'From: Ann\nTo: Bob\nSubject: Wind\nReceived: 3 apples\n\nHello\n'],
  ['front matter', '---\ntitle: a\n---\n'],
  ['a page that begins with an image', '<svg><path d="M0 0"/></svg>\n<p>a</p>\n'],
  ['XHTML', '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><p>a</p></html>\n'],
  ['a public key', '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n'],
  ['JSON', '{ "nbformat": "a word", "b": [1] }\n'],
]

for (const [what, text] of texts)
  test(`not another kind: ${what}`, () => {
    assert.equal(kindOfFile(typeof text === 'string' ? Buffer.from(text) : text), null)
  })

test('every kind says in a clause what to do', () => {
  for (const { bytes } of wrongFiles) assert.match(kindOfFile(bytes)?.advice ?? '', /^[a-z].*[^.]$/)
})

test('hostile files are looked through in linear time', () => {
  for (const part of [
    '\n',
    'a:b\n',
    'a:\n c\n',
    '<svg>',
    '</svg> ',
    '{"nbformat":',
    'PK\x03\x04word/',
    '\0',
    ' \xff',
  ])
    assert.doesNotThrow(() => kindOfFile(Buffer.from(part.repeat(5_000_000 / part.length), 'latin1')))
})
