import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairStart } from './fair-start.ts'

test('a burst on one connection takes several turns, and another connection waits for only one of them', async () => {
  const fair = new FairStart(10)
  const begun: string[] = []
  for (let count = 0; count < 50; count += 1) fair.run(greedy, () => begun.push(`greedy ${count}`))
  fair.run(modest, () => begun.push('modest'))
  assert.equal(begun.length, 10)
  await nextTurn()
  assert.equal(begun.indexOf('modest'), 11)
  for (let turn = 0; begun.length < 51; turn += 1) {
    assert.ok(turn < 5, `${begun.length} after ${turn} turns`)
    await nextTurn()
  }
  const own = begun.filter((one) => one !== 'modest')
  assert.deepEqual(
    own,
    Array.from({ length: 50 }, (_, count) => `greedy ${count}`),
  )
})

test('a request starts at once if few do', async () => {
  const fair = new FairStart(10)
  for (let turn = 0; turn < 5; turn += 1) {
    let begun = 0
    for (let count = 0; count < 10; count += 1) fair.run({}, () => (begun += 1))
    assert.equal(begun, 10)
    await nextTurn()
  }
})

const greedy = {}
const modest = {}
