import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draft } from '../broker/log-testing.ts'
import type { DownFrame } from '../wire/frames.ts'
import { byesOf, countTo, type FakeConnection, jsonFraming, openHub, settled, typesIn } from './testing.ts'

const heartbeatMs = 16_000
const turnMs = 1000

const newestIn = ({ frames }: FakeConnection) =>
  frames.flatMap((frame: DownFrame) => (frame.type === 'heartbeat' ? [frame.newest] : []))
const beatsOf = (connection: FakeConnection) => newestIn(connection).length

test('beats at least as often as it promised, from the beginning, and not much more often', async () => {
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

test('timers that are now a moment early and now late do not make it beat less often', async () => {
  const { time, enter } = openHub()
  const { connection } = enter()
  await settled()
  const beatenAt = [time.now()]
  for (const turn of countTo(200)) {
    // A process's timers know whole ms only, and wait while it is busy.
    time.setClock(-0.5)
    if (turn % 3 === 0) time.stall(20)
    time.advance(turnMs)
    if (beatsOf(connection) === beatenAt.length) beatenAt.push(time.now())
  }
  const pausesMs = beatenAt.slice(1).map((at, place) => at - (beatenAt[place] ?? 0))
  assert.ok(pausesMs.length > 10 && Math.max(...pausesMs) <= heartbeatMs, String(pausesMs))
})

test('ten thousand windows that came at once are beaten a part at a time', async () => {
  const { time, enter } = openHub({ maxWindows: 10_000 })
  const connections = countTo(10_000).map((n) => enter({ id: `w${n}` }).connection)
  await settled()
  time.advance(heartbeatMs)
  // Who is here was told by now: what still comes are beats.
  const beatsIn = () => connections.reduce((sum, { frames }) => sum + frames.length, 0)
  for (let turn = 0, before = beatsIn(); turn < 32; turn += 1) {
    time.advance(turnMs)
    const now = beatsIn()
    assert.ok(now - before <= 10_000 / 12, `${now - before} windows in one turn`)
    before = now
  }
})

test('says the newest number on the window’s own channels', async () => {
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

test('never names a number that the window was not sent', async () => {
  const { hub, time, enter } = openHub({ heartbeatMs: 1600 })
  await hub.publish(draft('m-0'))
  const entered = countTo(20).map((n) => enter({ id: `w${n}` }, n % 2 === 0 ? 'life1:0' : null))
  for (const n of countTo(200)) {
    for (const { connection, window } of entered) {
      connection.isFull = (n + window.id.length) % 3 === 0
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

test('one turn’s beats are put into bytes once for all who stand at the same place', async () => {
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

test('a window that let hear of itself and falls silent is let go; one that never did is not asked to', async () => {
  const { hub, time, enter } = openHub()
  const [beating, quiet, faithful] = ['w1', 'w2', 'w3'].map((id) => enter({ id }).connection)
  assert.ok(beating && quiet && faithful)
  await settled()
  hub.heard('w1')
  hub.heard('nobody')
  for (const turn of countTo(200)) {
    if (turn % 30 === 0) hub.heard('w3')
    time.advance(turnMs)
    if (turn === 40) assert.deepEqual(byesOf(beating), [], 'two and a half heartbeats are not over')
    if (turn === 41) assert.deepEqual(byesOf(beating), [['silent', 0]])
  }
  assert.deepEqual([byesOf(beating), byesOf(quiet), byesOf(faithful)], [[['silent', 0]], [], []])
  assert.equal(hub.windowCount(), 2)
})

test('a stream ends with its session', async () => {
  const { hub, time, enter } = openHub()
  const expiresAt = time.now() + 5500
  const [ending, endless] = [
    enter({ id: 'w1', expiresAt }).connection,
    enter({ id: 'w2', expiresAt: null }).connection,
  ]
  await settled()
  time.advance(5000)
  assert.deepEqual(byesOf(ending), [])
  time.advance(turnMs)
  await hub.publish(draft('m-1'))
  assert.deepEqual([byesOf(ending), byesOf(endless), hub.windowCount()], [[['expired', 0]], [], 1])
  assert.ok(!typesIn(ending.frames).includes('message'))
})

test('windows that polled and fell silent are forgotten, and the others are told', async () => {
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
