// Checks that a plan contains what it promises, and that a seed reproduces it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenInputs } from './resilience-attacks.ts'
import { planFaults } from './resilience-faults.ts'

const floods = ['sse/2', 'websocket/1.1']
const plan = (seed: number, seconds = 60) => planFaults(seed, seconds, floods)

test('a minute promises 200 cuts, 3 restarts and 3 kills; other durations in proportion, and at least one of each', () => {
  assert.deepEqual(plan(1, 60).promised, { cuts: 200, restarts: 3, kills: 3 })
  assert.deepEqual(plan(1, 120).promised, { cuts: 400, restarts: 6, kills: 6 })
  assert.deepEqual(plan(1, 4).promised, { cuts: 13, restarts: 1, kills: 1 })
})

test('the plan contains what it promises, in chronological order, within its time', () => {
  for (const seconds of [4, 60, 300]) {
    const { faults, promised } = plan(1, seconds)
    const count = (wanted: string) => faults.filter(({ kind }) => kind === wanted).length
    assert.ok(count('cut') >= promised.cuts)
    assert.ok(count('restart') >= promised.restarts)
    assert.ok(count('kill') >= promised.kills)
    for (const kind of ['stall', 'flood', 'broken input']) assert.ok(count(kind) >= 1, kind)
    assert.ok(faults.every(({ atMs }) => atMs >= 0 && atMs < seconds * 1000))
    assert.deepEqual(
      faults,
      faults.toSorted((one, other) => one.atMs - other.atMs),
    )
  }
})

test('the server’s last life is long enough to judge its memory', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const ends = plan(seed).faults.filter(({ kind }) => kind === 'restart' || kind === 'kill')
    assert.ok(ends.every(({ atMs }) => atMs < 50_000))
  }
})

test("the server's last absence is longer", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const ends = plan(seed).faults.filter(({ kind }) => kind === 'restart' || kind === 'kill')
    assert.deepEqual(
      ends.map(({ lastsMs }) => lastsMs),
      [0, 0, 0, 0, 0, 8000],
    )
  }
})

test('the same seed plans the same faults, another seed others', () => {
  assert.deepEqual(plan(7), plan(7))
  assert.notDeepEqual(plan(7).faults, plan(8).faults)
})

test('every kind of flood and of broken input has its turn', () => {
  const kinds = new Set(plan(3).faults.map(({ how }) => how))
  for (const how of [...floods, ...Object.keys(brokenInputs)]) assert.ok(kinds.has(how), how)
})
