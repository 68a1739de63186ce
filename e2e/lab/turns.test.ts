// The order of turns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turnsOf } from './turns.ts'

test('each round has every subject once, in another order', () => {
  const rounds = turnsOf(['a', 'b', 'c', 'd'], 4)
  for (const round of rounds) assert.deepEqual([...round].sort(), ['a', 'b', 'c', 'd'])
  assert.equal(new Set(rounds.map((round) => round.join(''))).size, 4)
  assert.ok(new Set(rounds.map(([first]) => first)).size >= 2)
})
