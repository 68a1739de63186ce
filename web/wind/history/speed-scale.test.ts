import assert from 'node:assert/strict'
import { test } from 'node:test'
import { speedScale } from './speed-scale.ts'

test('round steps that hold all there is', () => {
  assert.deepEqual(speedScale(7.2, 'M'), { top: 8, ticks: [0, 2, 4, 6, 8] })
  assert.deepEqual(speedScale(8, 'M'), { top: 10, ticks: [0, 5, 10] })
  assert.deepEqual(speedScale(31, 'M'), { top: 40, ticks: [0, 10, 20, 30, 40] })
  assert.deepEqual(speedScale(6000, 'F').ticks, [0, 2000, 4000, 6000, 8000])
})

test('in a calm it stays at 2 m/s, in whatever unit', () => {
  assert.equal(speedScale(0, 'M').top, 2)
  assert.equal(speedScale(0, 'F').top, 400)
})

test('the highest is always below the top, and the steps are few', () => {
  for (let highest = 0; highest < 200; highest += 0.13) {
    const { top, ticks } = speedScale(highest, 'K')
    assert.ok(top > highest)
    assert.ok(ticks.length <= 5, `${ticks}`)
  }
})
