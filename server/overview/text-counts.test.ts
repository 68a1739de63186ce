// Words and characters as readers of each script count them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/testing.ts'
import { textOfHtml } from './document-text.ts'
import { TextCounter } from './text-counts.ts'

/** Timers of a clock that each look at it sets on by 1 ms, and how many turns were waited for. */
function createTickingTime() {
  let now = 0
  const time = {
    turns: 0,
    now: () => now++,
    later(run: () => void) {
      time.turns += 1
      queueMicrotask(run)
      return () => undefined
    },
  }
  return time
}

async function count(html: string): Promise<[words: number, characters: number]> {
  const { words, characters } = await new TextCounter(createTickingTime()).count(textOfHtml(html))
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
  test(`counts ${JSON.stringify(html)}`, async () => assert.deepEqual(await count(html), [words, characters]))
}

const paragraph = '吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。'

test('a long document is counted in many turns, wherever its spaces are', async () => {
  for (const html of [
    'The quick brown fox. '.repeat(10_000),
    paragraph.repeat(3000),
    Array.from({ length: 1000 }, (_, line) => `<p>${line} ${paragraph}</p>`).join(''),
    '<b>'.repeat(100_000),
  ]) {
    const time = createTickingTime()
    await new TextCounter(time).count(textOfHtml(html))
    assert.ok(time.turns > 10, `${time.turns} turns for ${html.slice(0, 10)}`)
  }
})

test('a short one is counted at once', async () => {
  const time = createManualTime()
  await new TextCounter(time).count(textOfHtml(`<p>${paragraph}</p>`))
  assert.equal(time.pending(), 0)
})

test('parts make the same as the whole', async () => {
  const line = `The naïve fox’s ${family} 吾輩は猫である。 `
  const [words, characters] = await count(line)
  assert.deepEqual(await count(`<p>${line}</p>`.repeat(1000)), [words * 1000, characters * 1000])
  assert.deepEqual(await count(line.repeat(1000)), [words * 1000, characters * 1000])
})

test('a word that markup cuts is one word, wherever in a long document it is', async () => {
  assert.deepEqual(await count('un<b>believ</b>able '.repeat(5000)), [5000, 65_000])
  assert.deepEqual(await count('<p>mö<i>gl</i>ich 😀</p>'.repeat(5000)), [5000, 45_000])
})

test('a line of the last count counts the same the next time, and is forgotten on request', async () => {
  const counter = new TextCounter(createTickingTime())
  const html = `<p>${paragraph}</p><p>plain</p>`
  const first = await counter.count(textOfHtml(html))
  assert.deepEqual(await counter.count(textOfHtml(html)), first)
  assert.deepEqual(await counter.count(textOfHtml(`<p>${paragraph}</p>`)), {
    words: first.words - 1,
    characters: first.characters - 5,
  })
  counter.forget()
  assert.deepEqual(await counter.count(textOfHtml(html)), first)
})
