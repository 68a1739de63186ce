import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureJson } from './json-depth.ts'
import { createSeededRandom } from './time.ts'

const depthOf = (value: unknown): number =>
  value instanceof Object ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

test('the depth of a text is that of its parsed value', () => {
  const random = createSeededRandom(8)
  const texts = ['', 'a', '"', '\\', '\\"', '[', '{[', ',', 'é€💨', '\n', '\\\\"]']
  function draw(level: number): unknown {
    const choice = Math.floor(random() * (level > 12 ? 3 : 6))
    const text = () => texts[Math.floor(random() * texts.length)] ?? ''
    if (choice === 0) return text()
    if (choice === 1) return random()
    if (choice === 2) return null
    const items = Array.from({ length: Math.floor(random() * 4) }, () => draw(level + 1))
    return choice === 3 ? items : Object.fromEntries(items.map((item, index) => [`${text()}${index}`, item]))
  }
  for (let n = 0; n < 2000; n += 1) {
    const value = draw(0)
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)])
      assert.equal(measureJson(text).depth, depthOf(value), text)
  }
})

test('every element and field is counted', () => {
  for (const [text, least] of [
    ['7', 1],
    ['[1,2,3]', 3],
    ['[{},{},{}]', 6],
    ['{"a":1,"b":[","]}', 3],
  ] as const)
    assert.ok(measureJson(text).values >= least, text)
})

test('texts that are not JSON are measured, too', () => {
  for (const [text, depth] of [
    ['', 0],
    [']]]', 0],
    ['"never ended [[[', 0],
    ['"\\', 0],
    ['[[[', 3],
    ['['.repeat(500_000), 500_000],
  ] as const)
    assert.equal(measureJson(text).depth, depth)
})
