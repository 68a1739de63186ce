// Copies of data, and what is refused because JSON would change it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentOf, copyJson, dataIn } from './json-data.ts'

test('a copy has what was given, and does not change with it', () => {
  const given = { list: [1, 'two', { three: null }], absent: undefined, isTrue: true, '': -0.5 }
  const copy = copyJson(given, 'data')
  given.list.length = 0
  assert.deepEqual(copy, { list: [1, 'two', { three: null }], isTrue: true, '': -0.5 })
})

test('a field named __proto__ is a field', () => {
  const copy = copyJson(JSON.parse('{"__proto__":{"isAdmin":true}}'), 'data') as object
  assert.equal(JSON.stringify(copy), '{"__proto__":{"isAdmin":true}}')
  assert.equal('isAdmin' in copy, false)
})

test('objects of another window, and those without a prototype, are plain', () => {
  const bare = Object.assign(Object.create(null), { one: 1 })
  // As another window's `Object.prototype`.
  const foreign = Object.assign(Object.create(Object.create(null)), { one: 1 })
  for (const given of [bare, foreign]) assert.deepEqual(copyJson(given, 'data'), { one: 1 })
})

class Point {
  x = 1
}

for (const [name, value, sentence] of [
  ['undefined', undefined, 'data is undefined, which JSON does not have.'],
  ['a hole', { list: new Array(2) }, 'data.list.0 is undefined, which JSON does not have.'],
  ['NaN', { at: Number.NaN }, 'data.at is NaN, which JSON does not have.'],
  ['Infinity', [[Number.POSITIVE_INFINITY]], 'data.0.0 is Infinity, which JSON does not have.'],
  ['a BigInt', { id: 10n }, 'data.id is 10n, which JSON does not have.'],
  ['a Date', { items: [{ when: new Date(0) }] }, 'data.items.0.when is a Date, which JSON does not have.'],
  ['a Map', new Map(), 'data is a Map, which JSON does not have.'],
  [
    'bytes',
    { file: new Uint8Array(2) },
    'data.file is a Uint8Array, which JSON does not have: publish bytes alone, or as text.',
  ],
  ['a function', { run: () => 1 }, 'data.run is a function, which JSON does not have.'],
  ['an object of a class', { at: new Point() }, 'data.at is a Point, which JSON does not have.'],
] as const)
  test(`${name} is refused, with its path`, () => {
    assert.throws(() => copyJson(value, 'data'), { name: 'TypeError', message: sentence })
  })

test('what contains itself, or is nested too deep, is refused', () => {
  const loop: Record<string, unknown> = {}
  loop.self = loop
  assert.throws(
    () => copyJson(loop, 'data'),
    /^TypeError: data is nested more than 100 levels deep, or contains itself\.$/,
  )
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
  assert.deepEqual(copyJson(nested(100), 'data'), nested(100))
  assert.throws(() => copyJson(nested(101), 'data'), /nested more than 100/)
})

test('bytes are copied from any view or buffer, and come back as a Uint8Array', () => {
  const every = Uint8Array.from({ length: 256 }, (_nothing, byte) => byte)
  for (const given of [every, every.buffer, new DataView(every.buffer), Buffer.from(every)])
    assert.deepEqual(dataIn(contentOf(given, 'data')), every)
  assert.deepEqual(dataIn(contentOf(every.subarray(3, 5), 'data')), Uint8Array.of(3, 4))
  assert.deepEqual(contentOf(new Uint8Array(), 'data'), { bytes: '' })
  assert.deepEqual(dataIn({ bytes: '' }), new Uint8Array())
  assert.deepEqual(dataIn(contentOf('AQID', 'data')), 'AQID')
})
