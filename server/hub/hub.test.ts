import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatchUp, Log } from '../broker/log.ts'
import { draft } from '../broker/log-contract.ts'
import { createMemoryLog } from '../broker/memory.ts'
import { Refusal } from '../refusal.ts'
import { type Cursor, parseCursor } from '../wire/cursor.ts'
import type { DownFrame } from '../wire/frames.ts'
import { createManualTime } from '../wire/manual-time.ts'
import { createHub, type HubSettings } from './hub.ts'
import { createFakeConnection, type FakeConnection, type FakePlace, idsIn } from './testing.ts'

/** Lets promises that are already settled go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

function openHub({ log = memoryLog(), ...change }: Partial<HubSettings> & { log?: Log } = {}) {
  const time = createManualTime()
  const failures: unknown[] = []
  const settings = { heartbeatMs: 15_000, maxWindows: 100, queueBytesPerWindow: 100_000, ...change }
  const hub = createHub({
    log,
    timers: time,
    random: () => 0.5,
    onFailure: (error) => void failures.push(error),
    settings,
  })
  function enter(place: FakePlace = {}, cursor: string | null = null) {
    const connection = createFakeConnection(place)
    const window = hub.join(connection.joining, parseCursor(cursor))
    return { connection, window }
  }
  return { hub, time, failures, enter }
}

function memoryLog(): Log {
  return createMemoryLog('life1', { logMessages: 100, logBytes: 100_000 })
}

/** A log whose answers to `read` the test lets go, looked up when it was asked or only when it answers. */
function slowLog(looksUp: 'when asked' | 'when it answers') {
  const log = memoryLog()
  const waiting: (() => void)[] = []
  const read = async (cursor: Cursor | null, channels: ReadonlySet<string>): Promise<CatchUp> => {
    const asked = log.read(cursor, channels)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return looksUp === 'when asked' ? asked : log.read(cursor, channels)
  }
  const answer = () => {
    for (const resolve of waiting.splice(0)) resolve()
    return settled()
  }
  return { log: { ...log, read }, answer }
}

const typesOf = ({ frames }: FakeConnection) => frames.map(({ type }: DownFrame) => type)

function refusalFrom(act: () => unknown): Refusal {
  try {
    act()
  } catch (error) {
    if (error instanceof Refusal) return error
  }
  return assert.fail('it was not refused')
}

test('a window is welcomed, gets what it missed, then what comes, its own messages included', async () => {
  const { hub, enter } = openHub()
  for (const n of [1, 2, 3]) await hub.publish(draft(`w1-${n}`))
  const { connection } = enter({}, 'life1:1')
  await settled()
  await hub.publish(draft('w1-4'))
  assert.deepEqual(connection.frames[0], {
    type: 'welcome',
    window: 'w1',
    cursor: 'life1:3',
    recovered: true,
    http: '2',
    heartbeatMs: 15_000,
  })
  assert.deepEqual(idsIn(connection.frames), ['w1-2', 'w1-3', 'w1-4'])
})

test('without a cursor that the log knows it gets a snapshot, and is told so', async () => {
  const { hub, enter } = openHub()
  for (const n of [1, 2]) await hub.publish(draft(`w1-${n}`))
  const { connection } = enter({}, 'another:1')
  await settled()
  const [welcome] = connection.frames
  assert.equal(welcome?.type === 'welcome' && welcome.recovered, false)
  assert.deepEqual(idsIn(connection.frames), ['w1-2'])
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
    assert.deepEqual(typesOf(connection), ['welcome', 'message', 'message', 'message', 'message'])
    assert.deepEqual(idsIn(connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  })
}

test('a message goes to the windows of its channel', async () => {
  const { hub, enter } = openHub()
  const [main, other] = [['main', 'wind'], ['other']].map((channels) => enter({ channels }).connection)
  await settled()
  await hub.publish(draft('w1-1'))
  assert.deepEqual([idsIn(main?.frames ?? []), idsIn(other?.frames ?? [])], [['w1-1'], []])
})

test('a draft is acknowledged with its number, the same draft again with the same one', async () => {
  const { hub } = openHub()
  const stored = { type: 'stored', id: 'w1-1', seq: 1 }
  assert.deepEqual([await hub.publish(draft('w1-1')), await hub.publish(draft('w1-1'))], [stored, stored])
})

test('beats at its interval until it drains', async () => {
  const { hub, time, enter } = openHub({ heartbeatMs: 1000 })
  const { connection } = enter()
  await settled()
  const beats = () => typesOf(connection).filter((type) => type === 'heartbeat').length
  time.advance(3500)
  assert.equal(beats(), 3)
  hub.drain()
  time.advance(10_000)
  assert.deepEqual([beats(), time.pending()], [3, 0])
})

test('refuses the window that is one too many, until another leaves', () => {
  const { hub, enter } = openHub({ maxWindows: 2 })
  const { window } = enter()
  enter()
  const { status, code } = refusalFrom(enter)
  assert.deepEqual([status, code, hub.windowCount()], [503, 'too-many-windows', 2])
  hub.leave(window)
  enter()
  assert.equal(hub.windowCount(), 2)
})

test('draining sends everyone away with a time to come back, and lets nobody in', async () => {
  const { hub, enter } = openHub()
  const connections = [1, 2].map(() => enter().connection)
  await settled()
  hub.drain()
  for (const { byes } of connections) {
    assert.deepEqual(
      byes.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
      [['draining', 900]],
    )
  }
  assert.deepEqual([hub.isDraining(), hub.windowCount()], [true, 0])
  assert.equal(refusalFrom(enter).code, 'draining')
})

test('a window that leaves or is sent away while the log is read gets nothing more', async () => {
  const { log, answer } = slowLog('when asked')
  const { hub, time, enter } = openHub({ log })
  const left = enter()
  hub.leave(left.window)
  const drained = enter()
  hub.drain()
  await answer()
  assert.deepEqual([left.connection.frames, drained.connection.frames, time.pending()], [[], [], 0])
})

test('a window that falls too far behind is sent away to resume at once, and delays no other', async () => {
  const { hub, enter } = openHub({ queueBytesPerWindow: 500 })
  const [slow, quick] = [enter({ id: 'w1' }), enter({ id: 'w2' })]
  await settled()
  slow.connection.isFull = true
  for (const n of [1, 2, 3, 4]) await hub.publish(draft(`w9-${n}`, 'x'.repeat(200)))
  assert.deepEqual(
    slow.connection.byes.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [['overflow', 0]],
  )
  assert.deepEqual(idsIn(quick.connection.frames), ['w9-1', 'w9-2', 'w9-3', 'w9-4'])
  assert.equal(hub.windowCount(), 1)
})

test('a connection that throws costs its own window the stream, and nobody else a message', async () => {
  const { hub, failures, enter } = openHub()
  const [broken, sound] = [enter({ id: 'w1' }), enter({ id: 'w2' })]
  await settled()
  broken.connection.failure = new Error('broken')
  const { seq } = await hub.publish(draft('w9-1'))
  assert.equal(seq, 1)
  assert.deepEqual(idsIn(sound.connection.frames), ['w9-1'])
  assert.deepEqual(
    broken.connection.byes.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [['failed', 900]],
  )
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: broken'], 1])
})

test('a log that cannot be read sends the window away to try again, and is not kept secret', async () => {
  const log: Log = { ...memoryLog(), read: async () => Promise.reject(new Error('no disk')) }
  const { hub, failures, enter } = openHub({ log })
  const { connection } = enter()
  await settled()
  assert.deepEqual(
    connection.byes.map(({ code }) => code),
    ['failed'],
  )
  assert.deepEqual([failures.map(String), hub.windowCount()], [['Error: no disk'], 0])
})

test('tells who is here after a window came, and after one went', async () => {
  const { hub, time, enter } = openHub()
  const { connection } = enter({ id: 'w1' })
  const { window } = enter({ id: 'w2' })
  await settled()
  time.advance(100)
  hub.leave(window)
  hub.leave(window)
  time.advance(100)
  const told = connection.frames.flatMap((frame) => (frame.type === 'presence' ? [frame.windows] : []))
  assert.deepEqual(told, [2, 1])
})
