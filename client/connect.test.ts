// A connection over in-memory transports, its own or that of several windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { type Crosswind, connectOver, type Follower, sse } from './connect.ts'
import { newKey } from './names.ts'
import { Coordinator } from './share/coordinator.ts'
import { SharedClient } from './share/shared-client.ts'
import { createFakeTransports, type FakeStream, settled } from './testing.ts'
import type { Platform, RefusedError, Transports } from './transports/transport.ts'

/** A server whose channels are empty, and some of them refused. */
function platformOf(refused: ReadonlySet<string>): Platform {
  const send: Platform['send'] = async (_method, address) => {
    const channel = new URL(address).pathname.split('/').at(-1) ?? ''
    const page = { messages: [], cursor: 'life:0', recovered: true, channelsPerStream: 64 }
    const refusal = { code: 'not-invited-there', message: `Not ${channel}.` }
    const [status, answer] = refused.has(channel) ? [403, refusal] : [200, page]
    return { status, text: JSON.stringify(answer), receivedAt: 0 }
  }
  const fetch = () => Promise.reject(new Error('There is no server.'))
  return { send, fetch } as unknown as Platform
}

const key = newKey()

const none: ReadonlySet<string> = new Set()

function open(transports: Transports, refused: ReadonlySet<string>): Crosswind {
  return connectOver('https://localhost', {
    modes: ['sse/2'],
    transports: [sse],
    platform: platformOf(refused),
    share: { key: async () => key, over: () => transports },
  })
}

const locks = { request: () => new Promise<never>(() => undefined) } as unknown as LockManager

/** `count` windows of one browser. */
function openShared(count: number, refused = none) {
  const { streams, transports } = createFakeTransports()
  const coordinator = new Coordinator(transports, { locks, timers: createManualTime() })
  const windows = Array.from({ length: count }, (_, index) => {
    const client = new SharedClient(async ({ onSaid }) => (said) => {
      const port = { postMessage: onSaid, close: () => undefined }
      coordinator.hear({ window: `${index}`, said }, () => port)
    })
    return open({ sse: { name: 'sse', open: (opening) => client.open(opening) } } as Transports, refused)
  })
  return { streams, windows }
}

function openOwn(refused = none) {
  const { streams, transports } = createFakeTransports()
  return { streams, windows: [open(transports, refused)] }
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

const kinds = [
  ['its own', openOwn],
  ['a shared', (refused = none) => openShared(1, refused)],
] as const

for (const [kind, start] of kinds)
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

/** A client whose streams are answered at once: welcomed, or refused with the first channel that it may not read. */
function openRefusable(start: (refused: ReadonlySet<string>) => ReturnType<typeof openOwn>) {
  const refused = new Set<string>()
  const { streams, windows } = start(refused)
  const [client] = windows as [Crosswind]
  const errors: RefusedError[] = []
  client.on('error', (error) => errors.push(error))
  let answered = 0
  const answer = () => {
    for (const stream of streams.slice(answered)) {
      answered += 1
      const channel = stream.asked.channels?.split(',').find((one) => refused.has(one))
      if (channel) stream.end({ code: 'refused', sentence: `Not ${channel}.` })
      else stream.welcome()
    }
  }
  const untilAnswered = (holds: () => boolean) =>
    until(() => {
      answer()
      return holds() || errors.length > 0
    })
  return {
    client,
    errors,
    streams,
    untilAnswered,
    untilOpen: () => untilAnswered(() => client.state.status === 'open'),
    /** As `revoke` does on the server. */
    async revoke(channel: string) {
      refused.add(channel)
      streams.at(-1)?.end({ code: 'expired', sentence: 'The session has ended.' })
      await settled()
    },
  }
}

const endings: Readonly<Record<string, (opened: ReturnType<typeof openRefusable>) => Promise<unknown>>> = {
  async 'its only channel'({ client, untilOpen, revoke }) {
    client.follow('secret', follower())
    await untilOpen()
    await revoke('secret')
  },
  async 'its channels, one after another,'({ client, streams, untilOpen, untilAnswered, revoke }) {
    client.follow('hidden', follower('life:0'))
    client.follow('secret', follower('life:0'))
    await untilOpen()
    await revoke('hidden')
    await untilAnswered(() => streams.at(-1)?.asked.channels === 'secret')
    await untilOpen()
    await revoke('secret')
  },
  async 'the channel of its first stream'({ client, revoke }) {
    await revoke('secret')
    client.follow('secret', follower('life:0'))
  },
  async 'the channel that it left last'({ client, untilOpen, revoke }) {
    const { leave } = client.follow('secret', follower())
    await untilOpen()
    leave()
    await revoke('secret')
  },
}

for (const [kind, start] of kinds)
  for (const [which, end] of Object.entries(endings))
    test(`over ${kind} connection, a client that may not read ${which} waits for another, which it opens at once`, async (t) => {
      const opened = openRefusable(start)
      const { client, errors, streams, untilAnswered, untilOpen } = opened
      t.after(() => client.close())
      await end(opened)
      await untilAnswered(() => client.state.reason === 'This connection has no channels.')
      assert.deepEqual([errors, client.state.status], [[], 'waiting'])
      const before = streams.length
      const room = client.follow('room', follower('life:0'))
      await untilOpen()
      const stored = room.publish('json', { data: 'hello' })
      await untilAnswered(() => streams.at(-1)?.sent.length === 1)
      const opening = streams.slice(before).map(({ asked }) => asked.channels)
      assert.deepEqual([errors, opening], [[], ['room']])
      await streams.at(-1)?.store(streams.at(-1)?.sent[0] ?? '', 1)
      assert.deepEqual(await stored, { seq: 1 })
    })
