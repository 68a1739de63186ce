import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatUnkept } from './import-notes.ts'

test('what a paste or an import lost is one sentence, however much it is', () => {
  const names = Array.from({ length: 50 }, (_, index) => `cat-${index + 1}.png`)
  assert.equal(formatUnkept([]), null)
  assert.equal(formatUnkept(names.slice(0, 1)), 'Not kept: cat-1.png.')
  assert.equal(
    formatUnkept(['a horizontal rule', 'the columns of a table', 'cat.png']),
    'Not kept: a horizontal rule, the columns of a table and cat.png.',
  )
  assert.equal(formatUnkept(names), 'Not kept: cat-1.png, cat-2.png, cat-3.png and 47 more.')
})
