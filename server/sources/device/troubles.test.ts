// Checks that troubles are read, refused by name, and found at their time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkTroubles, lasting, readTrouble, statusAt, troubleKinds } from './troubles.ts'

test('a trouble is read as kind, second and duration', () => {
  assert.deepEqual(readTrouble('stall@30+9'), { kind: 'stall', atSeconds: 30, forSeconds: 9 })
  assert.deepEqual(readTrouble('blocked-u@0+0.5'), { kind: 'blocked-u', atSeconds: 0, forSeconds: 0.5 })
  for (const kind of troubleKinds) assert.equal(readTrouble(`${kind}@1+1`).kind, kind)
})

test('what cannot be had is refused by name', () => {
  assert.throws(
    () => readTrouble('fire@1+1'),
    /RangeError: "fire@1\+1" is no trouble: .*stall@30\+9.*silence/,
  )
  for (const text of ['', 'stall', 'stall@1', 'stall@-1+2', 'stall@1+2 ', 'cut@x+1'])
    assert.throws(() => readTrouble(text), /is no trouble/)
  assert.throws(() => readTrouble('stall@1+9.5'), /stall@1\+9\.5 is too long: a stall lasts up to 9 s/)
  assert.throws(() => readTrouble('cut@1+0'), /cut@1\+0 is no time/)
  assert.throws(() => checkTroubles([{ kind: 'cut', atSeconds: Number.NaN, forSeconds: 1 }]), /is no time/)
})

test('it lasts from its second to its end', () => {
  const plan = [readTrouble('cut@10+5'), readTrouble('silence@12+1'), readTrouble('cut@20+1')]
  assert.equal(lasting(plan, 'cut', 9.99), null)
  assert.equal(lasting(plan, 'cut', 10), plan[0])
  assert.equal(lasting(plan, 'cut', 14.99), plan[0])
  assert.equal(lasting(plan, 'cut', 15), null)
  assert.equal(lasting(plan, 'cut', 20.5), plan[2])
  assert.equal(lasting(plan, 'silence', 12.5), plan[1])
})

test('blocked axes have the manual’s status codes', () => {
  const plan = ['blocked-u@1+1', 'blocked-v@2+1', 'blocked@3+1'].map(readTrouble)
  assert.deepEqual(
    [0.5, 1.5, 2.5, 3.5, 4.5].map((seconds) => statusAt(plan, seconds)),
    ['00', '01', '02', '04', '00'],
  )
})
