// Several servers over one log on a broker: any of them serves a window; nothing acknowledged is lost.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type ServerChange, startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { isKind, type Message } from '../../protocol/messages.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { type Broker, onEachBroker } from './brokers.ts'
import { type ContractClient, openNamed } from './contract-client.ts'

const key = newKey()
let logs = 0
const newLog = () => {
  logs += 1
  return `cluster${logs}`
}

async function startServers(
  context: TestContext,
  broker: Broker,
  count: number,
  log = newLog(),
): Promise<TestServer[]> {
  const servers: TestServer[] = []
  for (let index = 0; index < count; index += 1) servers.push(await startServer(context, broker.serve(log)))
  return servers
}

async function startServer(context: TestContext, change: ServerChange): Promise<TestServer> {
  const server = await startTestServer({ drainMs: 200, ...change })
  context.after(() => server.close())
  return server
}

const open = (context: TestContext, server: TestServer, mode: Mode, asked: Record<string, string>) =>
  openNamed(context, server, mode, { channels: 'main', key, ...asked })

/** A server that was cut off for long accepts no windows until it has caught up. */
async function openWhenReady(
  context: TestContext,
  server: TestServer,
  mode: Mode,
  asked: Record<string, string>,
): Promise<ContractClient> {
  for (;;) {
    const client = open(context, server, mode, asked)
    const welcome = await client.next('welcome').catch(() => null)
    if (welcome) return client
    await pause(50)
  }
}

const nameIn = (window: string) => nameOf(key, window)

async function take(client: ContractClient, count: number): Promise<Message[]> {
  const messages: Message[] = []
  while (messages.length < count) messages.push((await client.next('message')).message)
  return messages
}

const texts = (messages: readonly Message[]) =>
  messages.map((message) => (isKind(message, 'title') ? message.body.title : message.kind))

onEachBroker((name, broker) => {
  for (const mode of modes.filter((one) => ['sse/2', 'websocket/1.1', 'long-polling/2'].includes(one.name))) {
    test(`${name}, ${mode.name}: windows of two servers receive each other's messages, and are counted together`, async (context) => {
      const [one, other] = await startServers(context, broker(), 2)
      assert.ok(one && other)
      const first = open(context, one, mode, { window: 'w1' })
      const second = open(context, other, mode, { window: 'w2' })
      await Promise.all([first.next('welcome'), second.next('welcome')])
      for (const client of [first, second]) while ((await client.next('presence')).windows < 2);
      const sent = Promise.all([
        ...['a', 'b', 'c'].map((text, n) => first.send(draftOf(nameIn('w1'), n, text))),
        ...['x', 'y', 'z'].map((text, n) => second.send(draftOf(nameIn('w2'), n, text))),
      ])
      const [left, right] = await Promise.all([take(first, 6), take(second, 6)])
      const answers = await sent
      assert.ok(answers.every(({ type }) => type === 'stored'))
      assert.deepEqual(left, right)
      assert.deepEqual(
        texts(left).filter((text) => 'abc'.includes(text)),
        ['a', 'b', 'c'],
      )
      assert.deepEqual(
        left.map(({ seq }) => seq),
        [1, 2, 3, 4, 5, 6],
      )
    })

    test(`${name}, ${mode.name}: a window whose server stops continues at another, from its cursor`, async (context) => {
      const [one, other] = await startServers(context, broker(), 2)
      assert.ok(one && other)
      const reader = open(context, one, mode, { window: 'w1' })
      const author = open(context, other, mode, { window: 'w2' })
      const { cursor } = await reader.next('welcome')
      await author.next('welcome')
      await author.send(draftOf(nameIn('w2'), 1, 'before'))
      assert.deepEqual(texts(await take(reader, 1)), ['before'])
      await one.close()
      await reader.ended
      await author.send(draftOf(nameIn('w2'), 2, 'meanwhile'))
      const again = open(context, other, mode, { window: 'w1', opening: '1', cursor })
      const { recovered } = await again.next('welcome')
      await author.send(draftOf(nameIn('w2'), 3, 'after'))
      assert.deepEqual([recovered, texts(await take(again, 3))], [true, ['before', 'meanwhile', 'after']])
      // The second server has the messages that the first had acknowledged.
      assert.deepEqual(
        await again.send(draftOf(nameIn('w2'), 1, 'before')).then(({ type }) => type),
        'stored',
      )
      assert.deepEqual(
        again.waiting().filter(({ type }) => type === 'message'),
        [],
      )
    })
  }

  test(`${name}: a window from a server that was ahead waits, and gets what it missed`, async (context) => {
    const mode = modes[0]
    assert.ok(mode)
    const stretch = await startProxy(broker().port)
    context.after(() => stretch.close())
    const log = newLog()
    const [one] = await startServers(context, broker(), 1, log)
    const behind = await startServer(context, broker().serve(log, stretch.port))
    assert.ok(one)
    const author = open(context, one, mode, { window: 'w1' })
    const { cursor: first } = await author.next('welcome')
    await author.send(draftOf(nameIn('w1'), 0, 'before'))
    // It has received the first message; the others are held back.
    const witness = open(context, behind, mode, { window: 'w3', cursor: first })
    await take(witness, 1)
    stretch.hold()
    for (const n of [1, 2, 3]) await author.send(draftOf(nameIn('w1'), n, `${n}`))
    const [epoch] = first.split(':')
    const moved = open(context, behind, mode, { window: 'w2', cursor: `${epoch}:3` })
    stretch.release()
    const { recovered } = await moved.next('welcome')
    assert.deepEqual([recovered, texts(await take(moved, 1))], [true, ['3']])
  })

  test(`${name}: a server that missed erased messages rereads the state, and continues`, async (context) => {
    const mode = modes[0]
    assert.ok(mode)
    const stretch = await startProxy(broker().port)
    context.after(() => stretch.close())
    const limits = { ...testConfig.limits, logMessages: 10 }
    const log = newLog()
    const one = await startServer(context, { ...broker().serve(log), limits })
    const away = await startServer(context, { ...broker().serve(log, stretch.port), limits })
    assert.ok(one)
    const author = open(context, one, mode, { window: 'w1' })
    const reader = open(context, away, mode, { window: 'w2' })
    const { cursor } = await author.next('welcome')
    await reader.next('welcome')
    const [epoch] = cursor.split(':')
    stretch.refuse(true)
    stretch.cut()
    for (let n = 1; n <= 300; n += 1) await author.send(draftOf(nameIn('w1'), n, `${n}`))
    stretch.refuse(false)
    const back = await openWhenReady(context, away, mode, { window: 'w4', cursor: `${epoch}:300` })
    const draft = draftOf(nameIn('w4'), 1, 'back')
    while ((await back.send(draft)).type !== 'stored');
    const late = open(context, away, mode, { window: 'w3', cursor: `${epoch}:300` })
    assert.deepEqual(texts(await take(late, 1)), ['back'])
    await author.send(draftOf(nameIn('w1'), 301, 'on'))
    assert.deepEqual(texts(await take(late, 1)), ['on'])
  })

  test(`${name}: if messages are erased before a server read them, its windows get no later ones without notice`, async (context) => {
    const mode = modes[0]
    assert.ok(mode)
    const stretch = await startProxy(broker().port)
    context.after(() => stretch.close())
    const log = newLog()
    const [one] = await startServers(context, broker(), 1, log)
    const away = await startServer(context, broker().serve(log, stretch.port))
    assert.ok(one)
    const author = open(context, one, mode, { window: 'w1' })
    const reader = open(context, away, mode, { window: 'w2' })
    await author.next('welcome')
    const [epoch] = (await reader.next('welcome')).cursor.split(':')
    await author.send(draftOf(nameIn('w1'), 1, 'before'))
    await take(reader, 1)
    stretch.refuse(true)
    stretch.cut()
    await author.send(draftOf(nameIn('w1'), 2, 'erased'))
    await broker().purge(log)
    await author.send(draftOf(nameIn('w1'), 3, 'after'))
    stretch.refuse(false)
    await openWhenReady(context, away, mode, { window: 'w3', cursor: `${epoch}:3` })
    // The first may arrive with the state; the second is delivered as a message.
    for (const n of [4, 5]) await author.send(draftOf(nameIn('w1'), n, `${n}`))
    await assert.rejects(reader.next('message'))
    const back = await openWhenReady(context, away, mode, {
      window: 'w2',
      opening: '1',
      cursor: `${epoch}:1`,
    })
    assert.deepEqual(texts(await take(back, 1)), ['5'])
  })

  test(`${name}: if the broker is killed while windows write, every acknowledged message arrives everywhere, once and in order`, async (context) => {
    const mode = modes[0]
    assert.ok(mode)
    const [one, other] = await startServers(context, broker(), 2)
    assert.ok(one && other)
    const author = open(context, one, mode, { window: 'w1' })
    const reader = open(context, other, mode, { window: 'w2' })
    await Promise.all([author.next('welcome'), reader.next('welcome')])
    const expected: string[] = []
    const write = async (from: number, to: number) => {
      for (let n = from; n < to; n += 1) {
        const draft = draftOf(nameIn('w1'), n, `${n}`)
        // Resends temporarily refused drafts, as a window does.
        while ((await author.send(draft)).type !== 'stored');
        expected.push(`${n}`)
      }
    }
    await write(0, 20)
    await broker().kill()
    const writing = write(20, 40)
    await broker().restart()
    await writing
    assert.deepEqual(texts(await take(reader, 40)), expected)
  })
})
