import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draft } from '../broker/log-testing.ts'
import { createSeededRandom } from '../wire/random.ts'
import { byesOf, countTo, idsIn, memoryLog, openHub, refusalOf, settled, typesIn } from './testing.ts'

test('a message goes to the windows of its channel', async () => {
  const { hub, enter } = openHub()
  const [main, other] = [['main', 'wind'], ['other']].map((channels, n) => {
    return enter({ id: `w${n}`, channels }).connection
  })
  await settled()
  await hub.publish(draft('w1-1'))
  await hub.publish(draft('w1-2', '', 'other'))
  await hub.publish(draft('w1-3', '', 'nowhere'))
  assert.deepEqual([idsIn(main?.frames ?? []), idsIn(other?.frames ?? [])], [['w1-1'], ['w1-2']])
})

test('messages that came at once reach every window in one order', async () => {
  const { hub, enter } = openHub()
  const connections = countTo(5).map((n) => enter({ id: `w${n}` }).connection)
  await settled()
  const stored = await Promise.all(countTo(100).map((n) => hub.publish(draft(`m-${n}`))))
  const inOrder = stored.toSorted((one, other) => one.seq - other.seq).map(({ id }) => id)
  for (const { frames } of connections) assert.deepEqual(idsIn(frames), inOrder)
})

test('a draft is acknowledged with its number, the same draft again with the same one', async () => {
  const { hub } = openHub()
  const stored = { type: 'stored', id: 'w1-1', seq: 1 }
  assert.deepEqual([await hub.publish(draft('w1-1')), await hub.publish(draft('w1-1'))], [stored, stored])
})

test('a draft is acknowledged when every window was told, and not before', async () => {
  const { hub, enter } = openHub()
  const { connection } = enter()
  await settled()
  const told = hub.publish(draft('w1-1')).then(() => idsIn(connection.frames))
  assert.deepEqual(await told, ['w1-1'])
})

test('refuses the window that is one too many, with a time to come back, until another leaves', async () => {
  const { hub, enter, ask } = openHub({ maxWindows: 2 })
  const { window } = enter({ id: 'w1' })
  enter({ id: 'w2' })
  for (const act of [() => enter({ id: 'w3' }), () => ask({ id: 'w3' })]) {
    const { status, code, retryAfterMs } = await refusalOf(act)
    assert.deepEqual([status, code, retryAfterMs, hub.windowCount()], [503, 'too-many-windows', 900, 2])
  }
  enter({ id: 'w2', opening: 1 })
  hub.leave(window)
  await ask({ id: 'w3' })
  await ask({ id: 'w3' })
  assert.equal(hub.windowCount(), 2)
})

test('windows are told to come back between 0.3 and 1.5 s later, each at its own time', async () => {
  const random = createSeededRandom(2)
  const { enter } = openHub({ maxWindows: 0, random })
  const refused = await Promise.all(countTo(200).map((n) => refusalOf(() => enter({ id: `w${n}` }))))
  const times = refused.map(({ retryAfterMs }) => Number(retryAfterMs))
  assert.ok(times.every((ms) => Number.isInteger(ms) && ms >= 300 && ms <= 1500))
  assert.ok(new Set(times).size > 100)
})

test('a newer stream of a window takes the place of the older one, which is told so', async () => {
  const { hub, enter } = openHub()
  const older = enter({ opening: 1 })
  await settled()
  const newer = enter({ opening: 2 })
  await settled()
  hub.leave(older.window)
  await hub.publish(draft('m-1'))
  assert.deepEqual([byesOf(older.connection), idsIn(older.connection.frames)], [[['replaced', 900]], []])
  assert.deepEqual([byesOf(newer.connection), idsIn(newer.connection.frames)], [[], ['m-1']])
  assert.equal(hub.windowCount(), 1)
})

test('an older stream that comes late is told so and disturbs nobody', async () => {
  const { hub, enter } = openHub()
  const newer = enter({ opening: 2 })
  const late = enter({ opening: 1 })
  await settled()
  hub.leave(late.window)
  await hub.publish(draft('m-1'))
  assert.deepEqual([byesOf(late.connection), late.connection.frames], [[['replaced', 900]], []])
  assert.deepEqual([byesOf(newer.connection), idsIn(newer.connection.frames)], [[], ['m-1']])
})

test('a sender that is too fast is told how long to wait, in whole ms, and that is enough', () => {
  const { hub, time } = openHub({ messagesPerSecond: 3 })
  const waits = countTo(4).map(() => hub.waitMs('w1'))
  assert.deepEqual([waits, hub.waitMs('w2')], [[0, 0, 0, 334], 0])
  time.advance(334)
  assert.equal(hub.waitMs('w1'), 0)
})

test('tells one window something down its stream, and says when there is none', async () => {
  const { hub, enter, ask } = openHub()
  const [one, other] = [enter({ id: 'w1' }), enter({ id: 'w2' })]
  await ask({ id: 'w3' })
  await settled()
  const stored = { type: 'stored', id: 'w1-1', seq: 1 } as const
  assert.deepEqual(
    ['w1', 'w3', 'w4'].map((id) => hub.tell(id, stored)),
    [true, false, false],
  )
  assert.deepEqual(one.connection.frames.at(-1), stored)
  assert.deepEqual(typesIn(other.connection.frames), ['welcome'])
})

test('says whether a window has a stream, and what a window reads that is here at all', async () => {
  const { hub, enter, ask } = openHub()
  const { window } = enter({ id: 'w1', channels: ['main', 'wind'] })
  await ask({ id: 'w2', channels: ['other'] })
  const known = () => ['w1', 'w2', 'w3'].map((id) => [hub.hasStream(id), hub.channelsOf(id)])
  assert.deepEqual(known(), [
    [true, new Set(['main', 'wind'])],
    [false, new Set(['other'])],
    [false, null],
  ])
  hub.leave(window)
  assert.deepEqual(known()[0], [false, null])
})

test('what the log refuses is refused by name, for good or for a while', async () => {
  const { hub, log } = openHub({ log: memoryLog(() => 0, { maxChannels: 1 }) })
  await hub.publish(draft('w1-1'))
  const tooMany = await refusalOf(() => hub.publish(draft('w1-2', '', 'other')))
  assert.deepEqual([tooMany.status, tooMany.code, tooMany.id], [403, 'too-many-channels', 'w1-2'])
  assert.equal(tooMany.retryAfterMs, null)
  await log.close()
  const closed = await refusalOf(() => hub.publish(draft('w1-3')))
  assert.deepEqual([closed.status, closed.code, closed.id], [503, 'draining', 'w1-3'])
  assert.ok(Number(closed.retryAfterMs) > 0)
})

test('what the log failed on is told as it is', async () => {
  const append = () => Promise.reject(new Error('no disk'))
  const { hub } = openHub({ log: { ...memoryLog(), append } })
  await assert.rejects(hub.publish(draft('w1-1')), /no disk/)
})

test('says who is here, and what waits for each', async () => {
  const { hub, time, enter, ask } = openHub()
  const { connection } = enter({ id: 'w1', browser: 'b1', channels: ['main', 'wind'] })
  await ask({ id: 'w2', mode: 'polling/1.1' })
  await settled()
  connection.isFull = true
  for (const n of [1, 2]) await hub.publish(draft(`m-${n}`))
  const [one, two] = hub.windows()
  assert.ok((one?.backlogBytes ?? 0) > 0)
  const figures = { id: 'w1', channels: ['main', 'wind'], mode: 'sse/2' }
  assert.deepEqual(one, { ...figures, backlogBytes: one?.backlogBytes, droppedReadings: 0, heardAt: null })
  const polling = { id: 'w2', channels: ['main'], mode: 'polling/1.1' }
  assert.deepEqual(two, { ...polling, backlogBytes: 0, droppedReadings: 0, heardAt: time.now() })
})

test('gives the newest of each kind, and its place', async () => {
  const { hub } = openHub()
  for (const n of [1, 2]) await hub.publish(draft(`m-${n}`))
  const { messages, head } = await hub.snapshot(new Set(['main']))
  assert.deepEqual([messages.map(({ id }) => id), head], [['m-2'], { epoch: 'life1', seq: 2 }])
})
