import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapOffset } from './offset.ts'

const cases: [before: string, after: string, offset: number, expected: number, why: string][] = [
  ['hello', 'hello world', 2, 2, 'a change behind leaves it'],
  ['world', 'hello world', 2, 8, 'a change before moves it'],
  ['hello', 'hello!', 5, 5, 'an insert exactly there stays to its right'],
  ['abcdef', 'af', 3, 1, 'a deletion around it takes it to its start'],
  ['aaa', 'aaaa', 2, 2, 'repeated letters do not throw it off'],
  ['', 'x', 0, 0, 'an empty text'],
  ['abc', '', 3, 0, 'all deleted'],
]

for (const [before, after, offset, expected, why] of cases) {
  test(why, () => assert.equal(mapOffset(before, after, offset), expected))
}
