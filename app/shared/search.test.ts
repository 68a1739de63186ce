// Words are found without regard to case and accents, and shown in their line.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineWith, plain, wordsIn } from './search.ts'

const found = (wanted: string, text: string) => lineWith(wordsIn(wanted), text, plain(text))

test('the line that contains a word is shown, as it is written', () => {
  const text = 'Harbour\nÜber den Wind und das Wétter\nlast'
  assert.equal(found('wetter', text), 'Über den Wind und das Wétter')
  assert.equal(found('UBER', text), 'Über den Wind und das Wétter')
  assert.equal(found('last harbour', text), 'Harbour')
  assert.equal(found('storm', text), null)
  assert.equal(found('', text), null)
})

test('of a long line, the part with the word is shown', () => {
  const line = `${'word '.repeat(100)}needle ${'word '.repeat(100)}`
  const shown = found('needle', line) ?? ''
  assert.match(shown, /^… word .*needle.*…$/)
  assert.ok(shown.length <= 122)
})
