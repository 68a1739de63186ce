// A connection over in-memory transports, its own or that of several windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { type Crosswind, connectOver, type Follower, sse } from './connect.ts'
import { newKey } from './names.ts'
import { Coordinator } from './share/coordinator.ts'
import { SharedClient } from './share/shared-client.ts'
import { createFakeTransports, type FakeStream, settled } from './testing.ts'
import type { Platform, Transports } from './transports/transport.ts'

/** A server whose channels are empty. */
const platform = {
  async send() {
    const page = { messages: [], cursor: 'life:0', recovered: true }
    return { status: 200, text: JSON.stringify(page), receivedAt: 0 }
  },
} as unknown as Platform

const key = newKey()

function open(transports: Transports): Crosswind {
  return connectOver('https://localhost', {
    modes: ['sse/2'],
    transports: [sse],
    platform,
    share: { key: async () => key, over: () => transports },
  })
}

const locks = { request: () => new Promise<never>(() => undefined) } as unknown as LockManager

/** `count` windows of one browser. */
function openShared(count: number) {
  const { streams, transports } = createFakeTransports()
  const coordinator = new Coordinator(transports, { locks, timers: createManualTime() })
  const windows = Array.from({ length: count }, (_, index) => {
    const client = new SharedClient(async ({ onSaid }) => (said) => {
      const port = { postMessage: onSaid, close: () => undefined }
      coordinator.hear({ window: `${index}`, said }, () => port)
    })
    return open({ sse: { name: 'sse', open: (opening) => client.open(opening) } } as Transports)
  })
  return { streams, windows }
}

function openOwn() {
  const { streams, transports } = createFakeTransports()
  return { streams, windows: [open(transports)] }
}

const ignore = () => undefined

/** Follows a channel; `shown` are the others there. */
function follow(connection: Crosswind, channel: string) {
  const shown = new Set<string>()
  const { leave } = connection.follow(channel, follower(undefined, shown))
  return { shown, leave }
}

function follower(from?: string, shown = new Set<string>()): Follower {
  return {
    from,
    take: ignore,
    end: ignore,
    presence: {
      refused: ignore,
      heard({ windows }) {
        for (const { window } of windows) shown.add(window)
      },
    },
  }
}

/** Waits until the condition holds, a minute at most: a key's fingerprint is computed in another thread. */
async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 60_000
  while (!holds()) {
    assert.ok(performance.now() < end)
    await settled()
  }
}

/** The server's answer to a new stream, with Bob on each of its channels. */
function welcome(stream: FakeStream): void {
  stream.welcome()
  for (const channel of stream.asked.channels?.split(',') ?? [])
    stream.frame({ type: 'awareness', channel, whole: true, windows: [{ window: 'bob', state: {} }] })
}

for (const [kind, start] of [
  ['its own', openOwn],
  ['a shared', () => openShared(1)],
] as const)
  test(`over ${kind} connection, a client that leaves its only channel and follows it again gets the others’ states`, async (t) => {
    const { streams, windows } = start()
    const [window] = windows as [Crosswind]
    t.after(() => window.close())
    const first = follow(window, 'room')
    await until(() => streams.length === 1)
    welcome(streams[0] as FakeStream)
    assert.deepEqual([...first.shown], ['bob'])
    first.leave()
    const second = follow(window, 'room')
    await until(() => streams.length === 2)
    welcome(streams[1] as FakeStream)
    assert.deepEqual([...second.shown], ['bob'])
  })

for (const leaving of [0, 1])
  test(`of two windows that share a connection, number ${leaving + 1} leaves and follows again: both see the others`, async (t) => {
    const { streams, windows } = openShared(2)
    t.after(() => {
      for (const window of windows) window.close()
    })
    const before = windows.map((window) => follow(window, 'room'))
    await until(() => streams.length === 1)
    welcome(streams[0] as FakeStream)
    await until(() => before.every(({ shown }) => shown.has('bob')))
    before[leaving]?.leave()
    const again = follow(windows[leaving] as Crosswind, 'room')
    await until(() => again.shown.has('bob'))
    streams[0]?.frame({ type: 'awareness', channel: 'room', windows: [{ window: 'eve', state: {} }] })
    assert.deepEqual([...(before[1 - leaving]?.shown ?? [])], ['bob', 'eve'])
    assert.deepEqual([...again.shown], ['bob', 'eve'])
    assert.equal(streams.length, 1)
  })

test('a channel that is left before its stream opens gets no stream; the next channel gets one of its own', async (t) => {
  const { streams, windows } = openOwn()
  const [window] = windows as [Crosswind]
  t.after(() => window.close())
  const following = window.follow('left', follower('life:1'))
  await following.link.then(following.leave)
  await settled()
  assert.equal(streams.length, 0)
  window.follow('room', follower('life:1'))
  await until(() => streams.length > 0)
  assert.deepEqual(
    streams.map(({ asked }) => asked.channels),
    ['room'],
  )
})

test('a follower that left is not told that the channel is joined', async (t) => {
  const { streams, windows } = openOwn()
  const [window] = windows as [Crosswind]
  t.after(() => window.close())
  const joined: string[] = []
  const named = (name: string): Follower => ({
    ...follower('life:1'),
    joined: async () => void joined.push(name),
  })
  window.follow('room', named('left')).leave()
  window.follow('room', named('follows'))
  await until(() => streams.length > 0 && joined.length > 0)
  await settled()
  assert.deepEqual(joined, ['follows'])
})
