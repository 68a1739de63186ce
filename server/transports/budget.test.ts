// The budget refuses items over a limit, frees finished ones, and limits how long a frame may take.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createManualTime } from '../../protocol/testing.ts'
import { Budget, UnfinishedFrame, Valve } from './budget.ts'

function openBudget() {
  const budget = new Budget({ connectionBytes: 1000, unfinishedBytes: 2500 }, createManualTime())
  const refused: string[] = []
  const open = (connection: object, name: string) =>
    budget.open(connection, ({ code }) => refused.push(`${name} ${code}`))
  return { budget, refused, open }
}

test('over the limit of a connection, the newest item is refused and the others continue', () => {
  const { refused, open } = openBudget()
  const connection = {}
  const another = {}
  const first = open(connection, 'first')
  first.set(600)
  const second = open(connection, 'second')
  second.set(400)
  open(another, 'another').set(900)
  assert.deepEqual(refused, [])
  second.set(401)
  assert.deepEqual(refused, ['second too-much-begun'])
  second.set(5000)
  first.set(1000)
  first.end()
  open(connection, 'third').set(900)
  assert.deepEqual(refused, ['second too-much-begun'])
})

test('an item larger than the limits is accepted if it is the only one', () => {
  const { refused, open } = openBudget()
  const connection = {}
  const another = {}
  const large = open(connection, 'large')
  large.set(9000)
  assert.deepEqual(refused, [])
  const beside = open(another, 'beside')
  beside.set(1)
  assert.deepEqual(refused, ['large too-much-begun'])
  beside.set(800)
  assert.equal(refused.length, 1)
})

test('over the total limit, the largest item of the largest connection is refused', () => {
  const { refused, open } = openBudget()
  const greedy = {}
  const usual = {}
  const newcomer = {}
  for (const [name, bytes] of [
    ['a', 310],
    ['b', 350],
    ['c', 330],
  ] as const)
    open(greedy, name).set(bytes)
  open(usual, 'usual').set(900)
  open(newcomer, 'newcomer').set(600)
  assert.deepEqual(refused, [])
  open(newcomer, 'more').set(20)
  assert.deepEqual(refused, ['b too-much-begun'])
  open(newcomer, 'again').set(340)
  assert.deepEqual(refused, ['b too-much-begun'])
  open(newcomer, 'another').set(20)
  assert.deepEqual(refused, ['b too-much-begun', 'newcomer too-much-begun'])
})

test('large bodies share 32 MiB a second; small ones are read at once', () => {
  const time = createManualTime()
  const budget = new Budget({ connectionBytes: 1e9, unfinishedBytes: 1e10 }, time)
  const open = () => {
    const source = new PassThrough()
    const charge = budget.open({}, () => assert.fail('nothing is refused'), source)
    return { source, charge }
  }
  const first = open()
  const second = open()
  const small = open()
  first.charge.set(33_554_432)
  assert.equal(first.source.isPaused(), false, 'a second is forgiven')
  second.charge.set(16_777_216)
  first.charge.set(33_554_432 + 16_777_216)
  small.charge.set(65_536)
  const paused = () => [first, second, small].map(({ source }) => source.isPaused())
  assert.deepEqual(paused(), [true, true, false])
  time.advance(499)
  assert.deepEqual(paused(), [true, true, false])
  time.advance(1)
  assert.deepEqual(paused(), [true, false, false])
  time.advance(500)
  assert.deepEqual(paused(), [false, false, false])
})

test('a source paused for two reasons resumes when both are gone', () => {
  const source = new PassThrough()
  const valve = new Valve(source)
  valve.pause()
  valve.pause()
  valve.resume()
  assert.equal(source.isPaused(), true)
  valve.resume()
  assert.equal(source.isPaused(), false)
})

test('an incomplete frame has a time limit; complete frames have none', () => {
  const { budget } = openBudget()
  const time = createManualTime()
  const refused: string[] = []
  const frame = new UnfinishedFrame({
    budget,
    timers: time,
    connection: {},
    source: new PassThrough(),
    maxSeconds: 30,
    onRefused: ({ code }) => refused.push(code),
  })
  frame.add(100, true)
  time.advance(100_000)
  frame.add(10, false)
  time.advance(29_000)
  frame.add(10, true)
  time.advance(29_000)
  assert.deepEqual(refused, [])
  for (let second = 0; second < 30; second += 1) {
    frame.add(1, false)
    time.advance(1000)
  }
  assert.deepEqual(refused, ['too-slow'])
  time.advance(100_000)
  frame.end()
  assert.deepEqual([refused.length, time.pending()], [1, 0])
})

test('large items are handled one in a turn, with a rest as long as each took; small ones at once', async () => {
  const time = createManualTime()
  const budget = new Budget({ connectionBytes: 1000, unfinishedBytes: 2500 }, time)
  const handled: string[] = []
  const handle = (name: string, bytes: number, tookMs = 0) =>
    budget.handle({}, bytes, () => {
      handled.push(name)
      time.stall(tookMs)
    })
  handle('large', 70_000, 20)
  handle('large too', 70_000)
  handle('small', 60_000)
  assert.deepEqual(handled, ['large', 'small'])
  // The messages that it sent belong to it.
  await nextTurn()
  await nextTurn()
  time.advance(19)
  assert.deepEqual(handled, ['large', 'small'])
  time.advance(1)
  assert.deepEqual(handled, ['large', 'small', 'large too'])
})
