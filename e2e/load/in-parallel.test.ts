// Checks that no more is under way than may be, and that results keep their places.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inParallel } from './in-parallel.ts'

test('never more at a time than allowed; results in order', async () => {
  let underWay = 0
  let most = 0
  const results = await inParallel([5, 4, 3, 2, 1], 2, async (item) => {
    underWay += 1
    most = Math.max(most, underWay)
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve()
    underWay -= 1
    return item * 10
  })
  assert.deepEqual(results, [50, 40, 30, 20, 10])
  assert.equal(most, 2)
})

test('a failure is passed on', async () => {
  await assert.rejects(
    inParallel([1, 2, 3], 2, async (item) => {
      if (item === 2) throw new Error('refused')
    }),
    /refused/,
  )
})
