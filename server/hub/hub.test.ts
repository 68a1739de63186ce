import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DownFrame } from '../../protocol/messages.ts'
import { collectTraces } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { logFull } from '../log/log.ts'
import { draft } from '../log/log-testing.ts'
import {
  byesOf,
  countTo,
  type FakeConnection,
  idsIn,
  jsonFraming,
  memoryLog,
  openHub,
  refusalOf,
  settled,
  slowLog,
  typesIn,
} from './hub-testing.ts'
import type { QuotaHolder } from './subscriber.ts'

test('a message reaches every window of its channel', async () => {
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

test('messages sent at the same time reach every window in the same order', async () => {
  const { hub, enter } = openHub()
  const connections = countTo(5).map((n) => enter({ id: `w${n}` }).connection)
  await settled()
  const stored = await Promise.all(countTo(100).map((n) => hub.publish(draft(`m-${n}`))))
  const inOrder = stored.toSorted((one, other) => one.seq - other.seq).map(({ id }) => id)
  for (const { frames } of connections) assert.deepEqual(idsIn(frames), inOrder)
})

test('a draft is acknowledged with its number, and a repeated draft with the same number', async () => {
  const { hub } = openHub()
  const stored = { type: 'stored', id: 'w1-1', seq: 1 }
  assert.deepEqual([await hub.publish(draft('w1-1')), await hub.publish(draft('w1-1'))], [stored, stored])
})

test('a draft is acknowledged only after it was sent to every window', async () => {
  const { hub, enter } = openHub()
  const { connection } = enter()
  await settled()
  await hub.publish(draft('w1-1'))
  assert.deepEqual(idsIn(connection.frames), ['w1-1'])
})

test('refuses a window beyond the limit, with a time to retry, until another leaves', async () => {
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

test('the users of one invitation get at most half of the windows and share a quota of new channels, over any number of connections', async () => {
  const { hub, enter, ask } = openHub({
    log: memoryLog(() => 0, { maxChannels: 100 }),
    maxWindows: 20,
    newChannelsPerHour: 10,
  })
  const guest = () => ({ connection: {}, account: 'guests' })
  for (const n of countTo(10)) enter({ id: `w${n}`, holder: guest() })
  for (const act of [() => enter({ id: 'w11', holder: guest() }), () => ask({ id: 'w11', holder: guest() })])
    assert.equal((await refusalOf(act)).code, 'too-many-windows')
  const host = { connection: {}, account: 'hosts' }
  enter({ id: 'host', holder: host })
  const begin = (n: number, holder: QuotaHolder) => hub.publish(draft(`w1-${n}`, '', `page${n}`), holder)
  for (const n of countTo(10)) await begin(n, guest())
  const refused = await refusalOf(() => begin(11, guest()))
  assert.deepEqual([refused.code, refused.id, refused.retryAfterMs], ['too-fast', 'w1-11', 360_000])
  await begin(12, host)
  await hub.publish(draft('w1-13', '', 'page12'), guest())
})

test('a polling window counts towards its latest connection, and towards none once it has left', async () => {
  const { hub, ask } = openHub({ streamsPerSession: 2 })
  const [one, other] = [1, 2].map(() => ({ connection: {}, account: null }))
  assert.ok(one && other)
  for (const id of ['w1', 'w2']) await ask({ id, holder: one })
  assert.equal((await refusalOf(() => ask({ id: 'w3', holder: one }))).code, 'too-many-windows')
  await ask({ id: 'w1', holder: other })
  await ask({ id: 'w3', holder: one })
  await ask({ id: 'w4', holder: other })
  assert.equal((await refusalOf(() => ask({ id: 'w5', holder: other }))).code, 'too-many-windows')
  hub.left('w4', 0)
  await ask({ id: 'w5', holder: other })
})

test('windows are told to reconnect after 0.3 to 1.5 s, each at its own time', async () => {
  const random = createSeededRandom(2)
  const { enter } = openHub({ maxWindows: 0, random })
  const refused = await Promise.all(countTo(200).map((n) => refusalOf(() => enter({ id: `w${n}` }))))
  const times = refused.map(({ retryAfterMs }) => Number(retryAfterMs))
  assert.ok(times.every((ms) => Number.isInteger(ms) && ms >= 300 && ms <= 1500))
  assert.ok(new Set(times).size > 100)
})

test('a newer stream of a window replaces the older one, which gets the reason', async () => {
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

test('an older stream that arrives late is refused and replaces nothing', async () => {
  const { hub, enter } = openHub()
  const newer = enter({ opening: 2 })
  const late = enter({ opening: 1 })
  await settled()
  hub.leave(late.window)
  await hub.publish(draft('m-1'))
  assert.deepEqual([byesOf(late.connection), late.connection.frames], [[['replaced', 900]], []])
  assert.deepEqual([byesOf(newer.connection), idsIn(newer.connection.frames)], [[], ['m-1']])
})

test('a sender that is too fast is told how long to wait, in whole ms, and that wait suffices', () => {
  const { hub, time } = openHub({ messagesPerSecond: 3 })
  const connection = {}
  const waits = countTo(4).map(() => hub.waitMs(connection, 'w1'))
  assert.deepEqual([waits, hub.waitMs(connection, 'w2'), hub.waitMs({}, 'w1')], [[0, 0, 0, 334], 0, 0])
  time.advance(334)
  assert.equal(hub.waitMs(connection, 'w1'), 0)
})

test('finds a window’s stream by its proven name', async () => {
  const { hub, enter, ask } = openHub()
  const { window } = enter({ id: 'w1' })
  await ask({ id: 'w2' })
  enter({ id: 'free', owner: null })
  assert.deepEqual(
    ['w1', 'w2', 'free', 'w4'].map((id) => hub.streamOf(id)),
    [window, null, null, null],
  )
  hub.leave(window)
  assert.equal(hub.streamOf('w1'), null)
})

/** The window count that a window received last. */
const countsIn = ({ connection }: { connection: FakeConnection }) =>
  connection.frames.flatMap((frame) => (frame.type === 'presence' ? [frame.windows] : [])).at(-1)

test('a stream counts for the windows that it carries, only on channels that it reads, and for at most a hundred', async () => {
  const { hub, time, enter } = openHub({ maxWindows: 1000 })
  const one = enter({ id: 'w1', channels: ['main', 'notes'] })
  const other = enter({ id: 'w2', channels: ['elsewhere'] })
  const told = async (windows: Record<string, number>) => {
    hub.heard('w1', { windows })
    time.advance(2000)
    await settled()
    return [countsIn(one), countsIn(other)]
  }
  assert.deepEqual(await told({ main: 3, elsewhere: 4712 }), [3, 1])
  assert.deepEqual(await told({ main: 4712, notes: 4712 }), [100, 1])
  assert.deepEqual(await told({ notes: 60, main: 60 }), [40, 1])
})

test('streams together count for no more windows than the server allows', async () => {
  const { hub, time, enter } = openHub({ maxWindows: 120 })
  const reader = enter({ id: 'w0' })
  for (const id of ['w1', 'w2', 'w3']) enter({ id })
  for (const id of ['w1', 'w2', 'w3']) hub.heard(id, { windows: { main: 90 } })
  time.advance(2000)
  await settled()
  assert.equal(reader && countsIn(reader), 120)
})

test('a stream with a free name represents only itself, and nobody represents it', async () => {
  const { hub, enter } = openHub()
  const place = { id: 'free', owner: null }
  const mine = enter(place)
  const another = enter({ ...place, opening: 9 })
  await settled()
  assert.deepEqual([byesOf(mine.connection), byesOf(another.connection)], [[], []])
  const { status, code } = await refusalOf(() => hub.heard(another.window, { windows: { main: 4712 } }))
  assert.deepEqual([status, code], [403, 'not-your-name'])
  hub.heard('free')
  hub.left('free', 99)
  assert.equal(hub.streamOf('free'), null)
  hub.heard(another.window)
  hub.leave(another.window)
  assert.deepEqual(
    hub.windows().map(({ id, heardAt }) => [id, heardAt]),
    [['free', null]],
  )
  assert.deepEqual(typesIn(mine.connection.frames), ['welcome'])
})

test('many invented names do not slow an honest new sender', () => {
  const { hub } = openHub({ maxWindows: 4, messagesPerSecond: 5 })
  const flooding = {}
  for (const n of countTo(5000)) hub.waitMs(flooding, `n${n}`)
  assert.equal(hub.waitMs({}, 'honest'), 0)
})

test('a refusal by the log becomes a Refusal, with or without a time to retry', async () => {
  const { hub, log } = openHub({ log: memoryLog(() => 0, { maxChannels: 1 }) })
  await hub.publish(draft('w1-1'))
  const tooMany = await refusalOf(() => hub.publish(draft('w1-2', '', 'other')))
  assert.deepEqual([tooMany.status, tooMany.code, tooMany.id], [403, 'too-many-channels', 'w1-2'])
  assert.equal(tooMany.retryAfterMs, null)
  await log.close()
  const closed = await refusalOf(() => hub.publish(draft('w1-3')))
  assert.deepEqual([closed.status, closed.code, closed.id], [503, 'draining', 'w1-3'])
  assert.ok(Number(closed.retryAfterMs) > 0)
  const { hub: full } = openHub({
    log: { ...memoryLog(), append: () => Promise.reject(logFull('ENOSPC')) },
  })
  const { status, code, id, retryAfterMs } = await refusalOf(() => full.publish(draft('w1-4')))
  assert.deepEqual([status, code, id, retryAfterMs], [503, 'log-full', 'w1-4', 5000])
})

test('an error of the store is passed on unchanged', async () => {
  const append = () => Promise.reject(new Error('no disk'))
  const { hub } = openHub({ log: { ...memoryLog(), append } })
  await assert.rejects(async () => hub.publish(draft('w1-1')), /no disk/)
})

test('lists the clients and their queued bytes', async () => {
  const { hub, time, enter, ask } = openHub()
  const { connection } = enter({ id: 'w1', channels: ['main', 'wind'] })
  await ask({ id: 'w2', mode: 'polling/1.1' })
  await settled()
  connection.isFull = true
  for (const n of [1, 2]) await hub.publish(draft(`m-${n}`))
  const [one, two] = hub.windows()
  assert.ok((one?.backlogBytes ?? 0) > 0)
  const figures = { id: 'w1', channels: ['main', 'wind'], mode: 'sse/2' }
  assert.deepEqual(one, { ...figures, backlogBytes: one?.backlogBytes, droppedMessages: 0, heardAt: null })
  const polling = { id: 'w2', channels: ['main'], mode: 'polling/1.1' }
  assert.deepEqual(two, { ...polling, backlogBytes: 0, droppedMessages: 0, heardAt: time.now() })
})

test('returns the newest message of each kind, and its cursor', async () => {
  const { hub } = openHub()
  for (const n of [1, 2]) await hub.publish(draft(`m-${n}`))
  const { messages, head } = await hub.snapshot(new Set(['main']))
  assert.deepEqual([messages.map(({ id }) => id), head], [['m-2'], { epoch: 'life1', seq: 2 }])
})

const heartbeatMs = 16_000
const turnMs = 1000

const newestIn = ({ frames }: FakeConnection) =>
  frames.flatMap((frame: DownFrame) => (frame.type === 'heartbeat' ? [frame.newest] : []))
const beatsOf = (connection: FakeConnection) => newestIn(connection).length

test('sends heartbeats at least as often as promised from the start, and not much more often', async () => {
  for (const lateMs of [0, 1, 500, 999]) {
    const { time, enter } = openHub()
    time.advance(lateMs)
    const connections = countTo(40).map((n) => enter({ id: `w${n}` }).connection)
    await settled()
    for (const round of countTo(5)) {
      time.advance(heartbeatMs)
      for (const connection of connections) {
        const beats = beatsOf(connection)
        assert.ok(beats >= round && beats <= round + 1, `${beats} beats in ${round} heartbeats`)
      }
    }
  }
})

test('timers that fire early or late do not make heartbeats rarer', async () => {
  const { time, enter } = openHub()
  const { connection } = enter()
  await settled()
  const beatenAt = [time.now()]
  for (const turn of countTo(200)) {
    // A process's timers have a resolution of 1 ms, and run late while it is busy.
    time.setClock(-0.5)
    if (turn % 3 === 0) time.stall(20)
    time.advance(turnMs)
    if (beatsOf(connection) === beatenAt.length) beatenAt.push(time.now())
  }
  const pausesMs = beatenAt.slice(1).map((at, index) => at - (beatenAt[index] ?? 0))
  assert.ok(pausesMs.length > 10 && Math.max(...pausesMs) <= heartbeatMs, String(pausesMs))
})

test('ten thousand windows that join at once get their heartbeats spread over several turns', async () => {
  const { time, enter } = openHub({ maxWindows: 10_000 })
  const connections = countTo(10_000).map((n) => enter({ id: `w${n}` }).connection)
  await settled()
  time.advance(heartbeatMs)
  // Presence has been sent by now: the remaining frames are heartbeats.
  const beatsIn = () => connections.reduce((sum, { frames }) => sum + frames.length, 0)
  for (let turn = 0, before = beatsIn(); turn < 32; turn += 1) {
    time.advance(turnMs)
    const now = beatsIn()
    assert.ok(now - before <= 10_000 / 12, `${now - before} windows in one turn`)
    before = now
  }
})

test('a heartbeat names the newest number on the window’s own channels', async () => {
  const { hub, time, enter } = openHub()
  for (const [id, channel] of [
    ['m-1', 'main'],
    ['m-2', 'other'],
    ['m-3', 'main'],
    ['m-4', 'nobody'],
  ] as const) {
    await hub.publish(draft(id, '', channel))
  }
  const connections = [['main'], ['other'], ['main', 'other'], ['empty']].map((channels, n) => {
    return enter({ id: `w${n}`, channels }).connection
  })
  await settled()
  time.advance(heartbeatMs)
  assert.deepEqual(
    connections.map((connection) => newestIn(connection)[0]),
    [3, 2, 3, 0],
  )
})

test('a heartbeat never names a number that the window was not sent', async () => {
  const { hub, time, enter } = openHub({ heartbeatMs: 1600 })
  await hub.publish(draft('m-0'))
  const entered = countTo(20).map((n) => enter({ id: `w${n}` }, n % 2 === 0 ? 'life1:0' : null))
  for (const n of countTo(200)) {
    for (const { connection, window } of entered) {
      connection.isFull = (n + window.identity.id.length) % 3 === 0
      window.drained()
    }
    void hub.publish(draft(`m-${n}`))
    time.advance(77)
    if (n % 4 === 0) await settled()
  }
  for (const { connection } of entered) {
    assert.ok(beatsOf(connection) > 3)
    let sent = 0
    for (const frame of connection.frames) {
      if (frame.type === 'message') sent = frame.message.seq
      if (frame.type === 'heartbeat') assert.ok(frame.newest <= sent, `${frame.newest} after ${sent}`)
    }
  }
})

test('equal heartbeats of one turn are encoded once', async () => {
  const { hub, time, enter } = openHub({ maxWindows: 1000 })
  let encoded = 0
  const framing = {
    encode(frame: DownFrame, cursor: string | null) {
      if (frame.type === 'heartbeat') encoded += 1
      return jsonFraming.encode(frame, cursor)
    },
  }
  for (const n of countTo(1000)) enter({ id: `w${n}`, framing })
  await settled()
  await hub.publish(draft('m-1'))
  time.advance(heartbeatMs)
  assert.ok(encoded <= 16, `${encoded} times`)
})

test('a window that sent heartbeats and falls silent is disconnected, but one that never sent any is not', async () => {
  const { hub, time, enter } = openHub()
  const [beating, quiet, faithful] = ['w1', 'w2', 'w3'].map((id) => enter({ id }).connection)
  assert.ok(beating && quiet && faithful)
  await settled()
  hub.heard('w1')
  hub.heard('nobody')
  for (const turn of countTo(200)) {
    if (turn % 30 === 0) hub.heard('w3')
    time.advance(turnMs)
    if (turn === 40) assert.deepEqual(byesOf(beating), [], 'less than two and a half heartbeat intervals')
    if (turn === 41) assert.deepEqual(byesOf(beating), [['silent', 0]])
  }
  assert.deepEqual([byesOf(beating), byesOf(quiet), byesOf(faithful)], [[['silent', 0]], [], []])
  assert.equal(hub.windowCount(), 2)
})

test('a stream ends with its session', async () => {
  const { hub, time, enter } = openHub()
  const expiresAt = time.now() + 5500
  const ending = enter({ id: 'w1', expiresAt }).connection
  const endless = enter({ id: 'w2', expiresAt: null }).connection
  await settled()
  time.advance(5000)
  assert.deepEqual(byesOf(ending), [])
  time.advance(turnMs)
  await hub.publish(draft('m-1'))
  assert.deepEqual([byesOf(ending), byesOf(endless), hub.windowCount()], [[['expired', 0]], [], 1])
  assert.ok(!typesIn(ending.frames).includes('message'))
})

test('polling windows that fell silent are forgotten, and the others are notified', async () => {
  const { hub, time, enter, ask } = openHub()
  const { connection } = enter({ id: 'w1' })
  await ask({ id: 'w2' })
  await settled()
  time.advance(40_000)
  assert.equal(hub.windowCount(), 2)
  time.advance(2000)
  assert.equal(hub.windowCount(), 1)
  const told = connection.frames.flatMap((frame) => (frame.type === 'presence' ? [frame.windows] : []))
  assert.deepEqual(told, [2, 1])
})

async function crowdOf(count: number, seed = 1) {
  const opened = openHub({ maxWindows: 100_000, random: createSeededRandom(seed) })
  const left: string[] = []
  const entered = countTo(count).map((n) => {
    const one = opened.enter({ id: `w${n}` })
    const note = one.connection.byes.push.bind(one.connection.byes)
    one.connection.byes.push = (...byes) => {
      left.push(one.window.identity.id)
      return note(...byes)
    }
    return one
  })
  await settled()
  return { ...opened, entered, left }
}

test('draining disconnects a few windows at once, each with its own time to reconnect', async () => {
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

test('draining disconnects many windows in turns, 2 ms apart on average', async () => {
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

test('draining takes no longer than the given time', async () => {
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

test('draining within 0 ms disconnects all windows at once', async () => {
  const { hub, left } = await crowdOf(300)
  await hub.drain(0)
  assert.equal(left.length, 300)
})

test('streams are drained in random order, each once', async () => {
  const orderOf = async (seed: number) => {
    const { hub, time, left } = await crowdOf(200, seed)
    void hub.drain(1000)
    time.advance(1000)
    return left
  }
  const one = await orderOf(1)
  const same = await orderOf(1)
  const other = await orderOf(2)
  const joined = countTo(200).map((n) => `w${n}`)
  assert.deepEqual(one, same)
  assert.notDeepEqual(one, other)
  assert.notDeepEqual(one, joined)
  assert.deepEqual(new Set(one), new Set(joined))
  assert.equal(one.length, 200)
})

test('a window receives messages until its turn to drain', async () => {
  const { hub, time, entered } = await crowdOf(100)
  void hub.drain(1000)
  const staying = entered.filter(({ window }) => !window.isClosed)
  assert.ok(staying.length > 50)
  await hub.publish(draft('m-1'))
  time.advance(1000)
  for (const { connection } of staying) assert.deepEqual(idsIn(connection.frames), ['m-1'])
})

test('a window that leaves by itself during draining gets no `bye`', async () => {
  const { hub, time, entered, left } = await crowdOf(100)
  void hub.drain(1000)
  const gone = entered.find(({ window }) => !window.isClosed)
  assert.ok(gone)
  hub.leave(gone.window)
  time.advance(1000)
  assert.deepEqual([gone.connection.byes.length, left.length], [0, 99])
})

test('during and after draining, every client is refused and told when to reconnect', async () => {
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

test('draining answers held polls at once, and other polling windows at their next poll', async () => {
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

test('draining waits a limited time for windows that have stopped polling', async () => {
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

test('draining a second time returns the same promise', async () => {
  const { hub, entered } = await crowdOf(3)
  await Promise.all([hub.drain(1000), hub.drain(5)])
  await hub.drain(1000)
  for (const { connection } of entered) assert.equal(connection.byes.length, 1)
})

test('a window is drained even while its log is still being read', async () => {
  const { log, answer } = slowLog('when asked')
  const { hub, time, enter } = openHub({ log })
  const { connection } = enter()
  await hub.drain(1000)
  await answer()
  assert.deepEqual([connection.frames, byesOf(connection), time.pending()], [[], [['draining', 900]], 0])
})

test('traces tell a message’s life: stored, for whom, and written to each window', async () => {
  const { hub, enter, ask } = openHub()
  enter({ id: 'w1', mode: 'websocket/2' })
  enter({ id: 'w2' })
  const held = ask({ id: 'w3' }, { cursor: 'life1:0', holdMs: 1000 })
  await settled()
  using traced = collectTraces('*')
  await hub.publish(draft('w1-1', 'not to be told'))
  await held
  await hub.publish(draft('w1-1', 'not to be told'))
  assert.deepEqual(traced.lines, [
    'log w1-1 stored as 1: edit on main',
    'hub w1-1 goes to main: streams 2, held polls 1',
    'stream w1-1 written to w1 by websocket/2',
    'stream w1-1 written to w2 by sse/2',
    'stream w1-1 written to w3 by long-polling/2',
    'log w1-1 is a repeat of 1',
  ])
})

test('traces tell only of the sections that are on', async () => {
  const { hub, enter } = openHub()
  enter()
  await settled()
  using traced = collectTraces('hub')
  await hub.publish(draft('w1-1'))
  assert.deepEqual(traced.lines, ['hub w1-1 goes to main: streams 1, held polls 0'])
})

test('traces tell how a window begins: from where, and whether it was recovered', async () => {
  const { hub, enter, ask } = openHub()
  await hub.publish(draft('w9-1'))
  await hub.publish(draft('w9-2'))
  using traced = collectTraces('stream')
  enter({ id: 'w1', channels: ['main', 'wind'] })
  await settled()
  enter({ id: 'w2' }, 'life1:1')
  await settled()
  enter({ id: 'w3' }, 'another:7')
  await settled()
  await ask({ id: 'w4' }, { cursor: 'life1:1', isFirst: true })
  assert.deepEqual(
    traced.lines.filter((line) => !line.includes('written')),
    [
      'stream w1 opens by sse/2 without a cursor: main, wind',
      'stream w1 is welcomed at life1:2: new, messages first: 1',
      'stream w2 opens by sse/2 from life1:1: main',
      'stream w2 is welcomed at life1:2: recovered, messages first: 1',
      'stream w3 opens by sse/2 from another:7: main',
      'stream w3 is welcomed at life1:2: not recovered, messages first: 1',
      'stream w4 polls by long-polling/2 from life1:1: recovered',
    ],
  )
})

test('traces tell why a stream ends', async () => {
  const { hub, enter, time } = openHub({ queueBytesPerWindow: 300 })
  const slow = enter({ id: 'slow' }).connection
  const { window } = enter({ id: 'leaving' })
  enter({ id: 'twice' })
  hub.heard(enter({ id: 'silent' }).window)
  enter({ id: 'staying' })
  await settled()
  using traced = collectTraces('stream')
  slow.isFull = true
  for (const n of [1, 2, 3, 4]) await hub.publish(draft(`w9-${n}`))
  hub.leave(window)
  enter({ id: 'twice', opening: 1 })
  await settled()
  time.advance(60_000)
  const drained = hub.drain(0)
  time.advance(1000)
  await drained
  const ends = traced.lines.filter((line) =>
    /^stream (slow|leaving|twice|silent|staying) (is sent|closed)/.test(line),
  )
  assert.deepEqual(
    ends.map((line) => line.replace(/\. .*/, '')),
    [
      'stream slow is sent away: overflow, to reopen in 0 ms',
      'stream leaving closed its sse/2',
      'stream twice is sent away: replaced, to reopen in 900 ms',
      'stream silent is sent away: silent, to reopen in 0 ms',
      'stream twice is sent away: draining, to reopen in 900 ms',
      'stream staying is sent away: draining, to reopen in 900 ms',
    ],
  )
  const ofSlow = traced.lines.filter((line) => / (to|for) slow/.test(line))
  assert.match(ofSlow[0] ?? '', /^stream w9-1 written to slow by sse\/2, which is full$/)
  assert.match(ofSlow[1] ?? '', /^stream w9-2 waits for slow, which is slow: \d+ bytes$/)
})

test('traces say that a slow window continues', async () => {
  const { hub, enter } = openHub()
  const { connection, window } = enter({ id: 'slow' })
  await settled()
  connection.isFull = true
  await hub.publish(draft('w9-1'))
  await hub.publish(draft('w9-2'))
  using traced = collectTraces('stream')
  connection.isFull = false
  window.drained()
  assert.match(traced.lines[0] ?? '', /^stream slow drained: \d+ bytes waited$/)
  assert.deepEqual(traced.lines.slice(1), ['stream w9-2 written to slow by sse/2'])
})

const by = (user: string) => ({ user, holder: { connection: {}, account: user } satisfies QuotaHolder })

test('ends the streams and held polls of a user at once, and of nobody else', async () => {
  const { hub, enter, ask } = openHub()
  const [hers, his] = ['ada', 'bob'].map((user) => enter({ id: `${user}-1`, ...by(user) }).connection)
  await settled()
  const held = ['ada', 'bob'].map((user) =>
    ask({ id: `${user}-2`, ...by(user) }, { cursor: 'life1:0', holdMs: 20_000 }),
  )
  await settled()
  hub.end({ user: 'ada' })
  assert.deepEqual([byesOf(hers as FakeConnection), byesOf(his as FakeConnection)], [[['expired', 0]], []])
  const { status, code } = await refusalOf(() => held[0])
  assert.deepEqual([status, code], [401, 'session-expired'])
  assert.deepEqual(
    hub.windows().map(({ id }) => id),
    ['bob-1', 'bob-2'],
  )
  await hub.publish(draft('m-1'))
  assert.deepEqual([idsIn(hers?.frames ?? []), idsIn(his?.frames ?? [])], [[], ['m-1']])
})

test('ends one client by its name; it comes back with a newer opening', async () => {
  const { hub, enter, ask } = openHub()
  const { connection } = enter({ id: 'w1' })
  await ask({ id: 'w2' })
  await settled()
  hub.end({ client: 'w1' })
  hub.end({ client: 'w2' })
  hub.end({ client: 'nobody' })
  assert.deepEqual(byesOf(connection), [['expired', 0]])
  assert.equal((await refusalOf(() => ask({ id: 'w2' }))).code, 'session-expired')
  await ask({ id: 'w2', opening: 1 })
  enter({ id: 'w1', opening: 1 })
  assert.equal(hub.windowCount(), 2)
})

test('clients under one free name are ended together, and may poll again', async () => {
  const { hub, enter, ask } = openHub()
  const { connection } = enter({ id: 'guest', owner: null })
  await ask({ id: 'guest', owner: null })
  await settled()
  hub.end({ client: 'guest' })
  assert.deepEqual([byesOf(connection), hub.windowCount()], [[['expired', 0]], 0])
  await ask({ id: 'guest', owner: null })
})

test('a client whose permit was revoked opens no stream and no poll, not even one that was held', async () => {
  let isRevoked = false
  const { enter, ask, time } = openHub()
  const place = { id: 'w1', isRevoked: () => isRevoked }
  const held = ask(place, { cursor: 'life1:0', holdMs: 100 })
  await settled()
  isRevoked = true
  for (const act of [() => enter(place), () => ask(place)])
    assert.equal((await refusalOf(act)).code, 'session-expired')
  time.advance(100)
  await assert.rejects(held, { code: 'session-expired' })
})
