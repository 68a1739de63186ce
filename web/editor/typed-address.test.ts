// Addresses in the link form: what is completed, and what is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeLink } from '../../app/document/rich-text.ts'
import { addressTyped } from './typed-address.ts'

const completed: [typed: string, href: string][] = [
  ['example.org', 'https://example.org'],
  [' www.example.org/a?b=1#c ', 'https://www.example.org/a?b=1#c'],
  ['//example.org', 'https://example.org'],
  ['example.org:8080/x', 'https://example.org:8080/x'],
  ['localhost:3000', 'https://localhost:3000'],
  ['http://example.org', 'http://example.org'],
  ['a@b.org', 'mailto:a@b.org'],
  ['mailto:a@b.org?subject=Hi', 'mailto:a@b.org?subject=Hi'],
  ['example.org/@name', 'https://example.org/@name'],
  ['ftp://example.org', 'ftp://example.org'],
  ['tel:+4623778000', 'tel:+4623778000'],
]

for (const [typed, href] of completed)
  test(`“${typed}” becomes ${href}`, () => assert.deepEqual(addressTyped(typed), { href }))

for (const typed of [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'vbscript:x',
])
  test(`“${typed}” is refused for its scheme`, () => {
    const answer = addressTyped(typed)
    assert.match('refusal' in answer ? answer.refusal : '', /must begin with https:/)
    assert.equal(safeLink(typed), null)
  })

for (const typed of ['', 'words', 'two words.org', 'https://', '/relative', '..', 'a@b'])
  test(`“${typed}” is not an address`, () => assert.ok('refusal' in addressTyped(typed)))
