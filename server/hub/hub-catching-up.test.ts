import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../broker/log.ts'
import { draft } from '../broker/log-testing.ts'
import { createSeededRandom } from '../wire/random.ts'
import { byesOf, countTo, idsIn, memoryLog, openHub, pagedLog, settled, slowLog, typesIn } from './testing.ts'

const welcomeTo = (frames: readonly object[]) => frames[0]

test('a window is welcomed, gets what it missed, then what comes, its own messages included', async () => {
  const { hub, enter } = openHub()
  for (const n of [1, 2, 3]) await hub.publish(draft(`w1-${n}`))
  const { connection } = enter({}, 'life1:1')
  await settled()
  await hub.publish(draft('w1-4'))
  assert.deepEqual(welcomeTo(connection.frames), {
    type: 'welcome',
    window: 'w1',
    cursor: 'life1:3',
    recovered: true,
    http: '2',
    heartbeatMs: 16_000,
  })
  assert.deepEqual(idsIn(connection.frames), ['w1-2', 'w1-3', 'w1-4'])
})

test('without a cursor that the log knows it gets a snapshot, and is told so', async () => {
  for (const cursor of [null, 'another:1', 'life1:9']) {
    const { hub, enter } = openHub()
    for (const n of [1, 2]) await hub.publish(draft(`w1-${n}`))
    const { connection } = enter({}, cursor)
    await settled()
    const [welcome] = connection.frames
    assert.ok(welcome?.type === 'welcome' && !welcome.recovered)
    assert.deepEqual(idsIn(connection.frames), ['w1-2'])
  }
})

for (const looksUp of ['when asked', 'when it answers'] as const) {
  test(`what is appended while the log is read is neither lost nor repeated: it looks up ${looksUp}`, async () => {
    const { log, answer } = slowLog(looksUp)
    const { hub, enter } = openHub({ log })
    await hub.publish(draft('w9-1'))
    const { connection } = enter({}, 'life1:0')
    await hub.publish(draft('w9-2'))
    await hub.publish(draft('w9-3'))
    assert.deepEqual(connection.frames, [])
    await answer()
    await hub.publish(draft('w9-4'))
    assert.deepEqual(typesIn(connection.frames), ['welcome', 'message', 'message', 'message', 'message'])
    assert.deepEqual(idsIn(connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  })
}

test('whoever joins in the midst of it, with a connection of whatever pace, misses nothing and gets nothing twice', async () => {
  const random = createSeededRandom(8)
  for (const looksUp of ['when asked', 'when it answers'] as const) {
    const { log, answer } = slowLog(looksUp, pagedLog(4))
    const { hub, enter } = openHub({ log })
    const joined: { after: number; entered: ReturnType<typeof enter> }[] = []
    for (let n = 1; n <= 300; n += 1) {
      // Appends that nobody waits for, as a crowd makes them.
      void hub.publish(draft(`m-${n}`))
      if (random() < 0.1) {
        const after = Math.floor(random() * n)
        joined.push({ after, entered: enter({ id: `w${n}` }, `life1:${after}`) })
      }
      for (const { entered } of joined) {
        entered.connection.isFull = random() < 0.3
        if (random() < 0.5) entered.window.drained()
      }
      if (random() < 0.4) await answer(1)
    }
    for (let round = 0; round < 100; round += 1) {
      for (const { entered } of joined) {
        entered.connection.isFull = false
        entered.window.drained()
      }
      await answer()
    }
    assert.ok(joined.length > 20)
    for (const { after, entered } of joined) {
      const expected = countTo(300 - after).map((n) => `m-${after + n}`)
      assert.deepEqual(idsIn(entered.connection.frames), expected)
      assert.deepEqual(entered.connection.byes, [])
    }
  }
})

test('however much was missed, one part of it is read when the one before has been taken', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(2))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const { connection, window } = enter({}, 'life1:0')
  connection.isFull = true
  await answer()
  assert.deepEqual(typesIn(connection.frames), ['welcome'])
  for (const _frame of [1, 2]) window.drained()
  await settled()
  assert.deepEqual([idsIn(connection.frames), waiting()], [['m-1', 'm-2'], 0])
  window.drained()
  await settled()
  assert.equal(waiting(), 1)
  connection.isFull = false
  for (const _part of [1, 2]) await answer()
  assert.deepEqual(
    idsIn(connection.frames),
    countTo(5).map((n) => `m-${n}`),
  )
  assert.equal(typesIn(connection.frames).filter((type) => type === 'welcome').length, 1)
})

test('a window that reads slower than the log forgets is sent away to begin anew', async () => {
  const kept = memoryLog(() => 0, { logMessages: 4 })
  const { log, answer } = slowLog('when it answers', pagedLog(2, kept))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(4)) await hub.publish(draft(`m-${n}`))
  const { connection } = enter({}, 'life1:0')
  await answer()
  for (const n of countTo(9)) await hub.publish(draft(`n-${n}`))
  await answer()
  assert.deepEqual([idsIn(connection.frames), byesOf(connection)], [['m-1', 'm-2'], [['overflow', 0]]])
  assert.equal(hub.windowCount(), 0)
})

test('a window that leaves or is sent away while the log is read gets nothing more, and no more is read for it', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(1))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const left = enter({ id: 'w1' }, 'life1:0')
  const replaced = enter({ id: 'w2' }, 'life1:0')
  const newer = enter({ id: 'w2', opening: 1 }, 'life1:5')
  hub.leave(left.window)
  await answer()
  assert.deepEqual([left.connection.frames, replaced.connection.frames, waiting()], [[], [], 0])
  assert.deepEqual(typesIn(newer.connection.frames), ['welcome'])
  assert.deepEqual(left.connection.byes, [], 'its connection is gone: nothing can be said over it')
})

test('a window that leaves between two parts is not read for any more', async () => {
  const { log, answer, waiting } = slowLog('when asked', pagedLog(1))
  const { hub, enter } = openHub({ log })
  for (const n of countTo(5)) await hub.publish(draft(`m-${n}`))
  const { connection, window } = enter({ id: 'w1' }, 'life1:0')
  await answer()
  assert.equal(waiting(), 1)
  hub.leave(window)
  await answer()
  assert.deepEqual([idsIn(connection.frames), waiting()], [['m-1'], 0])
})

test('a window that falls too far behind is sent away to resume at once, and delays no other', async () => {
  const { hub, enter } = openHub({ queueBytesPerWindow: 500 })
  const [slow, quick] = [enter({ id: 'w1' }), enter({ id: 'w2' })]
  await settled()
  slow.connection.isFull = true
  for (const n of [1, 2, 3, 4]) await hub.publish(draft(`w9-${n}`, 'x'.repeat(200)))
  assert.deepEqual(byesOf(slow.connection), [['overflow', 0]])
  assert.deepEqual(idsIn(quick.connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  assert.equal(hub.windowCount(), 1)
})

test('a connection that throws costs its own window the stream, and nobody else a message', async () => {
  const { hub, failures, enter } = openHub()
  const [broken, sound] = [enter({ id: 'w1' }), enter({ id: 'w2' })]
  await settled()
  broken.connection.failure = new Error('broken')
  broken.connection.failureAtEnd = new Error('worse')
  const { seq } = await hub.publish(draft('w9-1'))
  assert.equal(seq, 1)
  assert.deepEqual(idsIn(sound.connection.frames), ['w9-1'])
  assert.deepEqual(byesOf(broken.connection), [['failed', 900]])
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: broken', 'Error: worse'], 1])
})

test('a log that cannot be read sends the window away to try again, and is not kept secret', async () => {
  const log: Log = { ...memoryLog(), read: async () => Promise.reject(new Error('no disk')) }
  const { hub, failures, enter } = openHub({ log })
  const { connection } = enter()
  await settled()
  assert.deepEqual(byesOf(connection), [['failed', 900]])
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: no disk'], 0])
})
