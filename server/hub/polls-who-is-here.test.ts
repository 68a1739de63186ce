import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { draft } from '../broker/log-testing.ts'
import type { PollReply } from './polls.ts'
import { framesOf, idsIn, openHub, refusalOf, settled, slowLog, watch } from './testing.ts'

const idsOf = (reply: PollReply) => idsIn(framesOf(reply))
const presenceIn = (reply: PollReply) =>
  framesOf(reply).flatMap((frame) => (frame.type === 'presence' ? [frame.windows] : []))

test('a question that is taken back leaves nothing behind', async () => {
  const { time, ask } = openHub()
  const before = time.pending()
  const taken = new AbortController()
  const held = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000, signal: taken.signal }))
  await settled()
  time.advance(100)
  assert.equal(time.pending(), before + 1)
  taken.abort()
  await settled()
  assert.ok(held.reply)
  assert.equal(time.pending(), before)
})

test('neither does one that was answered at once, refused, or met a log that cannot be read', async () => {
  const { log, answer } = slowLog('when asked')
  let isBroken = false
  const read: Log['read'] = (...asked) =>
    isBroken ? Promise.reject(new Error('no disk')) : log.read(...asked)
  const { hub, time, ask } = openHub({ log: { ...log, read }, maxWindows: 1 })
  const before = time.pending()
  await hub.publish(draft('m-1'))
  const answered = watch(ask({}, { cursor: 'life1:0', holdMs: 20_000 }))
  await answer()
  assert.ok(answered.reply)
  await refusalOf(() => ask({ id: 'w2' }, { holdMs: 20_000 }))
  isBroken = true
  await assert.rejects(ask({}, { cursor: 'life1:1', holdMs: 20_000 }), /no disk/)
  time.advance(100)
  assert.equal(time.pending(), before)
})

test('a window is told who is here when that has changed, and not again', async () => {
  const { time, enter, ask } = openHub()
  const first = await ask({ id: 'w1' }, { isFirst: true })
  enter({ id: 'w2' })
  await settled()
  time.advance(100)
  const [second, third] = [await ask({ id: 'w1' }), await ask({ id: 'w1' })]
  await ask({ id: 'w3' })
  time.advance(100)
  const fourth = await ask({ id: 'w1' })
  assert.deepEqual(
    [first, second, third, fourth].map((reply) => presenceIn(reply)),
    [[], [2], [], [3]],
  )
})

test('a window that opens anew is told again who is here: its page may be another', async () => {
  const { time, ask } = openHub()
  await ask({ id: 'w1' }, { isFirst: true })
  time.advance(100)
  const told = await ask({ id: 'w1' })
  const anew = await ask({ id: 'w1' }, { isFirst: true })
  assert.deepEqual([presenceIn(told), presenceIn(anew)], [[1], [1]])
})

test('an answer that nobody waits for any more does not count as told', async () => {
  const { time, ask } = openHub()
  const taken = new AbortController()
  const held = watch(ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 20_000, signal: taken.signal }))
  await settled()
  time.advance(100)
  taken.abort()
  await settled()
  assert.ok(held.reply)
  assert.deepEqual(presenceIn(await ask({ id: 'w1' }, { cursor: 'life1:0' })), [1])
})

test('a window whose question is held is here, however long that is', async () => {
  const { hub, time, ask } = openHub({ heartbeatMs: 1600 })
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000 })
  await settled()
  time.advance(24_000)
  assert.equal(hub.windowCount(), 1)
  time.advance(1000)
  await settled()
  time.advance(3900)
  assert.equal(hub.windowCount(), 1, 'its next question may be under way')
  time.advance(300)
  assert.equal(hub.windowCount(), 0)
})

test('a window that took its question back is forgotten like any that fell silent', async () => {
  const { hub, time, ask } = openHub({ heartbeatMs: 1600 })
  const taken = new AbortController()
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000, signal: taken.signal })
  await settled()
  time.advance(3000)
  taken.abort()
  await settled()
  assert.equal(hub.windowCount(), 1)
  time.advance(1200)
  assert.equal(hub.windowCount(), 0)
})

test('a question that is taken back does not bring back a window that left', async () => {
  const { hub, ask } = openHub()
  const taken = new AbortController()
  void ask({ id: 'w1' }, { cursor: 'life1:0', holdMs: 25_000, signal: taken.signal })
  await settled()
  hub.left('w1', 0)
  taken.abort()
  await settled()
  assert.equal(hub.windowCount(), 0)
})

test('a late question of a window that has a stream by now is answered, and the stream stays', async () => {
  const { hub, enter, ask } = openHub()
  await ask({ id: 'w1' }, { isFirst: true })
  const { connection } = enter({ id: 'w1', opening: 1 })
  await settled()
  await hub.publish(draft('m-1'))
  assert.deepEqual(idsOf(await ask({ id: 'w1' }, { cursor: 'life1:0' })), ['m-1'])
  hub.left('w1', 0)
  await hub.publish(draft('m-2'))
  assert.deepEqual([idsIn(connection.frames), hub.windowCount()], [['m-1', 'm-2'], 1])
})

test('a window that says that it goes is gone, once', async () => {
  const { hub, ask } = openHub()
  await ask({ id: 'w1' })
  for (const _time of [1, 2]) hub.left('w1', 0)
  assert.equal(hub.windowCount(), 0)
})
