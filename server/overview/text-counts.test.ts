// Words and characters as readers of each script count them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../wire/random.ts'
import { isPlain } from './plain-text.ts'
import { type Counting, createTextCounter } from './text-counts.ts'

function finish(counting: Counting) {
  let steps = 1
  let step = counting.next()
  for (; !step.done; steps += 1) step = counting.next()
  return { ...step.value, steps }
}

function count(html: string): [words: number, characters: number] {
  const { words, characters } = finish(createTextCounter().count(html))
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
]

for (const [html, words, characters] of texts) {
  test(`counts ${JSON.stringify(html)}`, () => assert.deepEqual(count(html), [words, characters]))
}

test('alphabets are counted by hand as Intl.Segmenter counts them', () => {
  const plain = Array.from({ length: 0x2200 }, (_, code) => String.fromCharCode(code)).filter(
    // What is markup, and the end of a line.
    (character) => isPlain(character) && !/[<&\n\r]/.test(character),
  )
  assert.ok(plain.length > 900)
  const between = plain.flatMap((character) => [
    character,
    `a${character}b`,
    `1${character}2`,
    `a${character}1_`,
  ])
  const random = createSeededRandom(3)
  const some = [...'aBéж1_ .,:;\'’‘·"-/ 2\u00a0']
  const strings = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 1 + random() * 12 }, () => some[Math.floor(random() * some.length)]).join(''),
  )
  for (const text of [...between, ...strings])
    assert.deepEqual(count(text), segmented(text), JSON.stringify(text))
})

function segmented(text: string): [words: number, characters: number] {
  const words = [...new Intl.Segmenter('en', { granularity: 'word' }).segment(text)]
  const characters = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)]
  // Some underscores it takes for a word, and one for none.
  const isWord = ({ segment, isWordLike }: Intl.SegmentData) => isWordLike && !/^_+$/.test(segment)
  return [words.filter(isWord).length, characters.length]
}

const paragraph = '吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。'

test('a long document is counted in many steps, wherever its spaces are', () => {
  for (const html of [
    'The quick brown fox. '.repeat(10_000),
    paragraph.repeat(3000),
    `<p>${paragraph}</p>`.repeat(5000),
    '<b>'.repeat(100_000),
  ]) {
    assert.ok(finish(createTextCounter().count(html)).steps > 20)
  }
})

test('parts make the same as the whole', () => {
  const line = `The naïve fox’s ${family} 吾輩は猫である。 `
  const [words, characters] = count(line)
  assert.deepEqual(count(`<p>${line}</p>`.repeat(1000)), [words * 1000, characters * 1000])
  assert.deepEqual(count(line.repeat(1000)), [words * 1000, characters * 1000])
})

test('a word that markup cuts is one word, wherever in a long document it is', () => {
  assert.deepEqual(count('un<b>believ</b>able '.repeat(5000)), [5000, 65_000])
  assert.deepEqual(count('<p>mö<i>gl</i>ich 😀</p>'.repeat(5000)), [5000, 45_000])
})

test('what was counted before counts the same the next time, and is forgotten on request', () => {
  const counter = createTextCounter()
  const html = `<p>${paragraph}</p><p>plain</p>`
  const first = finish(counter.count(html))
  assert.deepEqual(finish(counter.count(html)), first)
  assert.deepEqual(finish(counter.count(`<p>${paragraph}</p>`)), {
    ...first,
    words: first.words - 1,
    characters: first.characters - 5,
  })
  counter.forget()
  assert.deepEqual(finish(counter.count(html)), first)
})
