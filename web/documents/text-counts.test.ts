// Words and characters are counted as readers of each script would.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHtml } from '../../app/document/html.ts'
import { countsOf } from './text-counts.ts'

function count(html: string): [words: number, characters: number] {
  const { words, characters } = countsOf(readHtml(html, { isOwn: true }).lines)
  return [words, characters]
}

const family = '👨\u200d👩\u200d👧\u200d👦'

const texts: [html: string, words: number, characters: number][] = [
  ['', 0, 0],
  ['<p><br></p>', 0, 0],
  ['<p>Hello, world.</p>', 2, 13],
  ['<p>One</p><p>Two</p>', 2, 6],
  ['un<b>believ</b>able', 1, 12],
  ['one<br>two', 2, 6],
  ['one&nbsp;two', 2, 7],
  ['one  two\n three', 3, 14],
  ["don’t can't e-mail 3.14 1,000 12:30", 8, 35],
  ['caf&eacute; naïve Ærø straße', 4, 21],
  ['cafe\u0301 nai\u0308ve', 2, 10],
  ['Θάλασσα и море', 3, 14],
  ['吾輩は猫である。', 5, 8],
  ['今日は良い天気ですね', 6, 10],
  ['สวัสดีครับ', 2, 7],
  ['السلام عليكم', 2, 12],
  ['नमस्ते दुनिया', 2, 7],
  ['안녕하세요 세계', 2, 8],
  [`<p>${family}</p>`, 0, 1],
  ['ok 👍🏽 🇸🇪', 1, 6],
  ['– … !', 0, 5],
  ['_ __ ___ a_b', 1, 12],
]

for (const [html, words, characters] of texts) {
  test(`counts ${JSON.stringify(html)}`, () => assert.deepEqual(count(html), [words, characters]))
}

test('a word that markup splits is one word, anywhere in a long document', () => {
  assert.deepEqual(count('un<b>believ</b>able '.repeat(5000)), [5000, 65_000])
  assert.deepEqual(count('<p>mö<i>gl</i>ich 😀</p>'.repeat(5000)), [5000, 45_000])
})
