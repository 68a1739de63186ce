import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readBootId, startedAt } from './boot.ts'
import { type Life, newEpoch, nextLife } from './epoch.ts'

const last: Life = { epoch: 'first000', boot: 'boot1', durability: 'process', isClosed: false }
const opening = { boot: 'boot1', durability: 'process', random: () => 0.5 } as const
const epochAfter = (life: Life | null, boot: string) => nextLife(life, { ...opening, boot }).epoch

test('a new file has a new epoch', () => {
  assert.deepEqual(nextLife(null, opening), { ...last, epoch: newEpoch(() => 0.5) })
})

test('the epoch ends where the machine went down and commits may be missing, and nowhere else', () => {
  assert.equal(epochAfter(last, 'boot1'), 'first000')
  assert.equal(epochAfter({ ...last, isClosed: true }, 'boot2'), 'first000')
  assert.equal(epochAfter({ ...last, durability: 'machine' }, 'boot2'), 'first000')
  assert.equal(
    epochAfter(last, 'boot2'),
    newEpoch(() => 0.5),
  )
})

test('an epoch fits into a cursor', () => {
  for (const draw of [0, 0.5, 1 - Number.EPSILON])
    assert.match(
      newEpoch(() => draw),
      /^[a-z0-9]{8}$/,
    )
})

test('one run of the machine has one name', () => {
  assert.equal(readBootId(Date.now), readBootId(Date.now))
  assert.equal(startedAt(1_000_000.4, 100), startedAt(1_000_060.1, 160))
  assert.notEqual(startedAt(1_000_000, 100), startedAt(1_000_060, 20))
})
