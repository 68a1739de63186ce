// Checks that the author keeps to the times that are due.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { startAuthor } from './author.ts'

test('a late timer sends everything that has fallen due, and nothing before its time', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let now = 1000
  const sent: string[] = []
  const author = { name: 'w', channel: 'c', publish: ({ id }: { id: string }) => void sent.push(id) }
  const pass = (ms: number) => {
    now += ms
    mock.timers.tick(ms)
  }
  startAuthor(author, { first: 5, count: 4, startAt: 1010, intervalMs: 20 }, () => now)
  pass(9)
  assert.deepEqual(sent, [])
  pass(1)
  assert.deepEqual(sent, ['w-5'])
  now += 45
  mock.timers.tick(20)
  assert.deepEqual(sent, ['w-5', 'w-6', 'w-7'])
  pass(14)
  assert.equal(sent.length, 3)
  pass(1)
  assert.deepEqual(sent, ['w-5', 'w-6', 'w-7', 'w-8'])
  pass(1000)
  assert.equal(sent.length, 4)
  mock.timers.reset()
})
