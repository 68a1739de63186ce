import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draft } from '../broker/log-testing.ts'
import { createSeededRandom } from '../wire/random.ts'
import { byesOf, countTo, idsIn, openHub, refusalOf, settled, slowLog } from './testing.ts'

async function crowdOf(count: number, seed = 1) {
  const opened = openHub({ maxWindows: 100_000, random: createSeededRandom(seed) })
  const left: string[] = []
  const entered = countTo(count).map((n) => {
    const one = opened.enter({ id: `w${n}` })
    const note = one.connection.byes.push.bind(one.connection.byes)
    one.connection.byes.push = (...byes) => {
      left.push(one.window.id)
      return note(...byes)
    }
    return one
  })
  await settled()
  return { ...opened, entered, left }
}

test('a few windows go at once, each told once and with a time of its own to come back', async () => {
  const { hub, time, entered } = await crowdOf(5)
  const drained = hub.drain(1000)
  assert.equal(hub.windowCount(), 0)
  await drained
  const byes = entered.flatMap(({ connection }) => byesOf(connection))
  assert.deepEqual(new Set(byes.map(([code]) => code)), new Set(['draining']))
  assert.equal(byes.length, 5)
  assert.equal(new Set(byes.map(([, retryAfterMs]) => retryAfterMs)).size, 5)
  assert.deepEqual([hub.isDraining(), time.pending()], [true, 0])
})

test('a crowd goes in turns, evenly spread over 2 ms for each', async () => {
  const { hub, time, left } = await crowdOf(1000)
  const drained = hub.drain(60_000)
  const perTurn: number[] = []
  for (let before = 0; before < 1000; ) {
    perTurn.push(left.length - before)
    before = left.length
    time.advance(20)
  }
  await drained
  assert.equal(perTurn.length, 100)
  assert.deepEqual(new Set(perTurn), new Set([10]))
})

test('everybody is gone in the time there is', async () => {
  const { hub, time, left } = await crowdOf(5000)
  let isDone = false
  const drained = hub.drain(500).then(() => {
    isDone = true
  })
  time.advance(250)
  assert.ok(left.length > 2000 && left.length < 3000, `${left.length} had left half-way`)
  time.advance(250)
  await settled()
  assert.deepEqual([left.length, isDone], [5000, true])
  await drained
})

test('in no time at all everybody goes at once', async () => {
  const { hub, left } = await crowdOf(300)
  await hub.drain(0)
  assert.equal(left.length, 300)
})

test('who goes first is left to chance, and everybody goes once', async () => {
  const orderOf = async (seed: number) => {
    const { hub, time, left } = await crowdOf(200, seed)
    void hub.drain(1000)
    time.advance(1000)
    return left
  }
  const [one, same, other] = [await orderOf(1), await orderOf(1), await orderOf(2)]
  const joined = countTo(200).map((n) => `w${n}`)
  assert.deepEqual(one, same)
  assert.notDeepEqual(one, other)
  assert.notDeepEqual(one, joined)
  assert.deepEqual(new Set(one), new Set(joined))
  assert.equal(one.length, 200)
})

test('until its turn a window gets what comes', async () => {
  const { hub, time, entered } = await crowdOf(100)
  void hub.drain(1000)
  const staying = entered.filter(({ window }) => !window.isClosed())
  assert.ok(staying.length > 50)
  await hub.publish(draft('m-1'))
  time.advance(1000)
  for (const { connection } of staying) assert.deepEqual(idsIn(connection.frames), ['m-1'])
})

test('a window that went by itself meanwhile is not said goodbye to', async () => {
  const { hub, time, entered, left } = await crowdOf(100)
  void hub.drain(1000)
  const gone = entered.find(({ window }) => !window.isClosed())
  assert.ok(gone)
  hub.leave(gone.window)
  time.advance(1000)
  assert.deepEqual([gone.connection.byes.length, left.length], [0, 99])
})

test('meanwhile and afterwards nobody is let in, and everybody is told when to come back', async () => {
  const { hub, time, enter, ask } = await crowdOf(100)
  const refuses = async () => {
    for (const act of [() => enter({ id: 'late' }), () => ask({ id: 'late' })]) {
      const { status, code, retryAfterMs } = await refusalOf(act)
      assert.deepEqual([status, code], [503, 'draining'])
      assert.ok(Number(retryAfterMs) >= 300)
    }
  }
  const drained = hub.drain(1000)
  await refuses()
  time.advance(1000)
  await drained
  await refuses()
  assert.deepEqual([hub.windowCount(), hub.windows(), time.pending()], [0, [], 0])
})

test('questions that are held are answered so, and those of other windows when they ask again', async () => {
  const { hub, time, ask } = openHub()
  const held = refusalOf(() => ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 20_000 }))
  await ask({ id: 'w2', mode: 'polling/2' })
  await settled()
  let isDone = false
  const drained = hub.drain(1000).then(() => {
    isDone = true
  })
  assert.equal((await held).code, 'draining')
  time.advance(150)
  await settled()
  assert.deepEqual([hub.windowCount(), isDone], [1, false])
  assert.equal((await refusalOf(() => ask({ id: 'w2' }))).code, 'draining')
  time.advance(10)
  await drained
  assert.deepEqual([hub.windowCount(), time.pending()], [0, 0])
})

test('it does not wait longer than it may for windows that do not ask any more', async () => {
  const { hub, time, ask } = openHub()
  await ask({ id: 'w1' })
  let isDone = false
  const drained = hub.drain(1005).then(() => {
    isDone = true
  })
  await settled()
  time.advance(1004)
  await settled()
  assert.equal(isDone, false)
  time.advance(1)
  await drained
  assert.deepEqual([hub.windowCount(), time.pending()], [0, 0])
})

test('draining again is the same', async () => {
  const { hub, entered } = await crowdOf(3)
  await Promise.all([hub.drain(1000), hub.drain(5)])
  await hub.drain(1000)
  for (const { connection } of entered) assert.equal(connection.byes.length, 1)
})

test('a window whose log is still being read is sent away like any other', async () => {
  const { log, answer } = slowLog('when asked')
  const { hub, time, enter } = openHub({ log })
  const { connection } = enter()
  await hub.drain(1000)
  await answer()
  assert.deepEqual([connection.frames, byesOf(connection), time.pending()], [[], [['draining', 900]], 0])
})
