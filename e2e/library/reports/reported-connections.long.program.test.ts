// Reports of messages that are lost, repeated or reordered when a connection ends.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { Server as SocketIo } from 'socket.io'
import { openPort } from '../../../scripts/open-port.ts'
import { connectHttp } from '../../clients/http-client.ts'
import type { CuttingProxy } from '../../network/cutting-proxy.ts'
import { type Said, secureServer, start, texts, untilState } from '../testing.ts'
import { type Chat, type Member, socketIoLabel, startCrosswind, startSocketIo } from './chats.ts'
import { compare, originOf, proxyBefore, reported } from './comparison.ts'

async function joinThroughProxy(t: TestContext, chat: Chat) {
  const proxy = await proxyBefore(t, Number(new URL(chat.origin).port))
  return { proxy, member: chat.join(originOf(proxy.port)) }
}

interface Interruptions {
  /** Published before them, and heard. */
  readonly before: readonly string[]
  readonly rounds: number
  /** The server notices late that a stranded connection is lost. */
  readonly by: 'cut' | 'strand'
}

/** Interrupts a member, and returns what it heard of what was published before, meanwhile and after. */
async function interrupted(t: TestContext, chat: Chat, { before, rounds, by }: Interruptions) {
  const { proxy, member } = await joinThroughProxy(t, chat)
  await member.is(true)
  for (const text of before) await chat.publish(text)
  await member.settled()
  for (let round = 1; round <= rounds; round += 1) {
    proxy.refuse(true)
    const givenUp = chat.givenUp()
    proxy[by]()
    await member.is(false)
    // The server repeats the newest one to anybody.
    for (const text of [`early ${round}`, `during ${round}`]) await chat.publish(text)
    proxy.refuse(false)
    await member.is(true)
    await givenUp
    await chat.publish(`after ${round}`)
    await member.settled()
  }
  return member.heard
}

describe('a client that is interrupted', { concurrency: true }, () => {
  const during = (round: number) => [`early ${round}`, `during ${round}`, `after ${round}`]
  const peer = (t: TestContext) => startSocketIo(t, { server: { pingInterval: 300, pingTimeout: 300 } })
  for (const [what, interruptions] of [
    // https://github.com/socketio/socket.io/issues/5538
    ['before the first message', { before: [], rounds: 1, by: 'cut' }],
    // https://github.com/socketio/socket.io/issues/4880
    ['twice', { before: ['hello'], rounds: 2, by: 'cut' }],
    ['twice, which the server notices late', { before: ['hello'], rounds: 2, by: 'strand' }],
  ] as const)
    test(`${what} hears everything once`, (t) =>
      compare(t, {
        ours: startCrosswind,
        peers: [peer],
        steps: (t, chat) => interrupted(t, chat, interruptions),
        wanted: [...interruptions.before, ...during(1), ...(interruptions.rounds > 1 ? during(2) : [])],
      }))
})

/** What a member that is not interrupted hears when another one's connection dies under what it says. */
async function saidInVain(t: TestContext, chat: Chat) {
  const { proxy, member } = await joinThroughProxy(t, chat)
  const witness = chat.join()
  await Promise.all([member.is(true), witness.is(true)])
  proxy.hold()
  member.say('said').catch(() => undefined)
  await reconnect(proxy, member)
  await member.settled()
  await witness.settled()
  return witness.heard
}

/** Cuts the connection and lets the member come back. */
async function reconnect(proxy: CuttingProxy, member: Member): Promise<void> {
  proxy.refuse(true)
  proxy.cut()
  await member.is(false)
  proxy.release()
  proxy.refuse(false)
  await member.is(true)
}

// https://github.com/socketio/socket.io/issues/5363
test('a message sent while the connection dies is not lost', (t) =>
  compare(t, { ours: startCrosswind, peers: [startSocketIo], steps: saidInVain, wanted: ['said'] }))

/** What a witness hears of a text whose acknowledgement is lost. */
async function unacknowledged(t: TestContext, chat: Chat) {
  const { proxy, member } = await joinThroughProxy(t, chat)
  const witness = chat.join()
  await Promise.all([member.is(true), witness.is(true)])
  proxy.hold('answers')
  const said = member.say('once')
  await witness.hears('once')
  await reconnect(proxy, member)
  await said
  await member.settled()
  await witness.settled()
  return witness.heard
}

const retrying = (t: TestContext) => startSocketIo(t, { client: { retries: 2, ackTimeout: 10_000 } })

// https://github.com/socketio/socket.io/issues/5334
test('a message whose acknowledgement is lost is sent again, and arrives once', (t) =>
  compare(t, { ours: startCrosswind, peers: [retrying], steps: unacknowledged, wanted: ['once'] }))

/** What a witness hears of a member that speaks as soon as it is connected. */
async function saidAtOnce(_t: TestContext, chat: Chat) {
  const witness = chat.join()
  await witness.is(true)
  const member = chat.join()
  member.onConnected(() => ['one', 'two', 'three'].map((text) => member.say(text)))
  await member.is(true)
  await member.settled()
  await witness.settled()
  return witness.heard
}

// https://github.com/socketio/socket.io/issues/5258
test('a message sent as soon as a client is connected arrives once', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [retrying],
    steps: saidAtOnce,
    wanted: ['one', 'two', 'three'],
  }))

/** What a witness hears of a member that speaks while it is away, and again as soon as it is back. */
async function saidWhileAway(t: TestContext, chat: Chat) {
  const { proxy, member } = await joinThroughProxy(t, chat)
  const witness = chat.join()
  await Promise.all([member.is(true), witness.is(true)])
  proxy.refuse(true)
  proxy.cut()
  await member.is(false)
  void member.say('while away')
  member.onConnected(() => void member.say('once back'))
  proxy.refuse(false)
  await member.is(true)
  await member.settled()
  await witness.settled()
  return witness.heard
}

// https://github.com/socketio/socket.io-client/issues/1458
test('a message sent after a reconnect does not overtake one that waited', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startSocketIo],
    steps: saidWhileAway,
    wanted: ['while away', 'once back'],
  }))

// https://github.com/socketio/socket.io/issues/5067
test('a WebSocket opens over HTTP/2', async (t) => {
  const { open, crosswind } = await start(t, { isSecure: true })
  const opened = open({ modes: ['websocket/2'] })
  const heard = texts(opened.channel<Said>('room.1'), 1)
  await untilState(opened, ({ status }) => status === 'open')
  await crosswind.publish('room.1', { text: 'hello' })
  assert.deepEqual([opened.state.mode, await heard], ['websocket/2', ['hello']])

  const server = await secureServer(t)
  const peer = new SocketIo(server)
  const client = connectHttp('2', `https://localhost:${await openPort(server)}`, null)
  t.after(() => {
    client.close()
    peer.close()
  })
  const socket = client.openSocket('/socket.io/?EIO=4&transport=websocket')
  const answers = [once(socket, 'open').then(() => 'opened'), once(socket, 'close').then(() => 'refused')]
  await reported(
    t,
    Promise.race(answers).then((answer) => t.diagnostic(`${socketIoLabel}: ${answer}`)),
  )
})
