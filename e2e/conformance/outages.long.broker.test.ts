// When the log fails, running servers say why, send windows away, and continue when it is back.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { Config } from '../../app/config/config.ts'
import { type ServerChange, startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { isKind, type Message } from '../../protocol/messages.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { subjectOf } from '../../server/log/nats-bucket.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { onEachBroker } from './brokers.ts'
import { openClient } from './contract-client.ts'

/** Much longer than any pause here. */
const options = { timeout: 60_000 }

let nats: TestNats
before(async () => {
  nats = await startNatsServer()
})
after(() => nats.stop())

const key = newKey()
const nameIn = (window: string) => nameOf(key, window)
const mode = modes.find(({ name }) => name === 'sse/2') as Mode

/** Servers of one stream, each with its own NATS address. */
async function startServers(
  context: TestContext,
  stream: string,
  addresses: readonly string[],
  change: Partial<Config> = {},
): Promise<TestServer[]> {
  const servers: TestServer[] = []
  for (const address of addresses) {
    const own = { ...testConfig.nats, servers: [address], stream }
    servers.push(await startServer(context, { broker: 'nats', nats: own, ...change }))
  }
  return servers
}

async function startServer(context: TestContext, change: ServerChange): Promise<TestServer> {
  const server = await startTestServer({ drainMs: 200, ...change }, undefined, context.signal)
  context.after(() => server.close())
  return server
}

function open(
  context: TestContext,
  { origin, ca }: TestServer,
  asked: Readonly<Record<string, string>>,
  by = mode,
) {
  const query = new URLSearchParams({ channels: 'main', key, ...asked })
  query.set('window', nameIn(query.get('window') ?? ''))
  const client = openClient({ mode: by, origin: origin[by.http], ca, query })
  context.after(() => client.close())
  return client
}

type Client = ReturnType<typeof open>

async function take(client: Client, count: number): Promise<Message[]> {
  const messages: Message[] = []
  while (messages.length < count) messages.push((await client.next('message')).message)
  return messages
}

const texts = (messages: readonly Message[]) =>
  messages.map((message) => (isKind(message, 'title') ? message.body.title : message.kind))

async function ask({ origin, ca }: TestServer, path: string) {
  const http = connectHttp('1.1', origin['1.1'], ca)
  try {
    const { status, body } = await http.ask({ path })
    return { status, text: await textOf(body) }
  } finally {
    http.close()
  }
}

async function askUntil(server: TestServer, path: string, isWanted: (answer: string) => boolean) {
  for (;;) {
    const { status, text } = await ask(server, path)
    if (isWanted(`${status} ${text}`)) return text
    await pause(50)
  }
}

const isReady = (server: TestServer) => askUntil(server, '/readyz', (answer) => answer.startsWith('200'))
const isUnready = (server: TestServer) => askUntil(server, '/readyz', (answer) => answer.startsWith('503'))

/** Resends a draft until it is stored, as windows do. Returns the refusals. */
async function sendUntilStored(client: Pick<Client, 'send'>, draft: ReturnType<typeof draftOf>) {
  const refusals: string[] = []
  for (;;) {
    const answer = await client.send(draft).catch((error: Error) => error)
    if (!(answer instanceof Error) && answer.type === 'stored') return refusals
    refusals.push(answer.message)
    await pause(50)
  }
}

onEachBroker((name, broker) => {
  test(
    `a server cut off from ${name} sends its windows to another server, and accepts them again later`,
    options,
    async (context) => {
      const proxy = await startProxy(broker().port)
      context.after(() => proxy.close())
      const one = await startServer(context, broker().serve('cut'))
      const cut = await startServer(context, broker().serve('cut', proxy.port))
      const author = open(context, one, { window: 'w1' })
      const reader = open(context, cut, { window: 'w2' })
      const { cursor } = await reader.next('welcome')
      await author.next('welcome')
      await author.send(draftOf(nameIn('w1'), 1, 'before'))
      await take(reader, 1)
      await isReady(cut)
      proxy.hold()
      const lost = author.send(draftOf(nameIn('w1'), 2, 'meanwhile'))
      const { code, sentence } = await reader.ended
      assert.equal(code, 'draining')
      assert.match(sentence, new RegExp(`cut off from its log.*${name}`))
      await lost
      const moved = open(context, one, { window: 'w2', opening: '1', cursor })
      assert.equal((await moved.next('welcome')).recovered, true)
      assert.deepEqual(texts(await take(moved, 2)), ['before', 'meanwhile'])

      assert.match(await isUnready(cut), new RegExp(name))
      assert.equal((await ask(cut, '/healthz')).status, 200)
      assert.match((await ask(cut, '/metrics')).text, /^crosswind_log_up 0$/m)
      assert.equal((await ask(one, '/readyz')).status, 200)
      const refused = open(context, cut, { window: 'w3' })
      assert.equal((await refused.ended).code, 'draining')
      assert.equal((await ask(cut, '/d/main')).status, 503)

      proxy.release()
      await isReady(cut)
      assert.match((await ask(cut, '/metrics')).text, /^crosswind_log_up 1$/m)
      const back = open(context, cut, { window: 'w2', opening: '2', cursor })
      assert.equal((await back.next('welcome')).recovered, true)
      assert.deepEqual(texts(await take(back, 2)), ['before', 'meanwhile'])
    },
  )
})

for (const what of ['deleted', 'recreated', 'shortened'] as const)
  test(
    `a stream that is ${what} while servers use it: each draft is stored once in its successor, and windows are told`,
    options,
    async (context) => {
      const proxy = await startProxy(Number(nats.address().split(':')[1]))
      context.after(() => proxy.close())
      const address = `127.0.0.1:${proxy.port}`
      const [one, other] = await startServers(context, what, [address, address])
      assert.ok(one && other)
      const author = open(context, one, { window: 'w1' })
      const reader = open(context, other, { window: 'w2' })
      const { cursor } = await reader.next('welcome')
      await author.next('welcome')
      const lossesBefore = await lossesOf(one)
      await author.send(draftOf(nameIn('w1'), 1, '1'))
      if (what === 'shortened') {
        await nats.kill()
        nats.save(what)
        await nats.restart()
      }
      for (const n of [2, 3]) await sendUntilStored(author, draftOf(nameIn('w1'), n, `${n}`))
      await take(reader, 3)
      const admin = await nats.connect()
      context.after(() => admin.close())
      const { streams } = await jetstreamManager(admin)
      const { config } = await streams.info(what)
      // Cut off, so that they find another stream on their return.
      proxy.refuse(what !== 'deleted')
      if (what !== 'deleted') proxy.cut()
      if (what === 'shortened') {
        await nats.kill()
        nats.setBack(what)
        await nats.restart()
        // Meanwhile other clients have written as many messages.
        for (const n of [8, 9]) await publish(what, draftOf(nameIn('w1'), n, `${n}`))
      } else await streams.delete(what)
      if (what === 'recreated') {
        // NATS 2.9 continues erasing, and loses messages of a stream created immediately.
        await pause(1000)
        await streams.add(config as never)
      }
      proxy.refuse(false)
      const sent = [one, other].map((server, n) =>
        sendUntilStored(poster(server), draftOf(nameIn('w1'), n + 4, `${n + 4}`)),
      )
      assert.equal((await reader.ended).code, 'draining')
      await Promise.all(sent)
      for (const [n, server] of [one, other].entries()) {
        await isReady(server)
        const again = open(context, server, { window: `w3${n}`, cursor })
        const { recovered, cursor: head } = await again.next('welcome')
        const [epoch, seq] = head.split(':')
        const stored = what === 'shortened' ? '5' : '2'
        assert.deepEqual([recovered, seq, epoch === cursor.split(':')[0]], [false, stored, false])
      }
      const isLoss = (await lossesOf(one)) > lossesBefore
      assert.equal(isLoss, what === 'shortened')
    },
  )

test(
  'a server that cannot restart its log exits with code 1, so that its supervisor restarts it',
  options,
  async (context) => {
    const folder = temporaryFolder(context)
    for (const workers of ['1', '2']) {
      const stream = `unfit${workers}`
      const flags = ['--broker', 'nats', '--nats-servers', nats.address(), '--nats-stream', stream]
      const own = ['--port', '0', '--http1-port', '0', '--data-folder', folder, '--workers', workers]
      const child = spawn(process.execPath, ['app/main.ts', ...flags, ...own, '--log-format', 'json'], {
        cwd: join(import.meta.dirname, '../..'),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      context.after(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      const codes: string[] = []
      for await (const line of createInterface({ input: child.stdout as Readable })) {
        const { code } = JSON.parse(line)
        codes.push(code)
        if (code !== 'started') continue
        const admin = await nats.connect()
        context.after(() => admin.close())
        const { streams } = await jetstreamManager(admin)
        await streams.delete(stream)
        // The stream would erase pages.
        await streams.add({ name: stream, subjects: [`${stream}.>`], max_age: 1e12 })
      }
      const [code] = await ended
      assert.deepEqual([code, codes.includes('restart-failed'), codes.at(-1)], [1, true, 'stopped'])
    }
  },
)

async function lossesOf(server: TestServer): Promise<number> {
  const { text } = await ask(server, '/metrics')
  return Number(/^crosswind_log_losses_total (\d+)$/m.exec(text)?.[1])
}

/** Publishes directly, without a server. */
async function publish(stream: string, draft: ReturnType<typeof draftOf>): Promise<void> {
  const payload = JSON.stringify({ ...draft, acceptedAt: Date.now() })
  const connection = await nats.connect()
  // JetStream may still be recovering.
  await jetstream(connection).publish(subjectOf(stream, draft.channel), payload, { retries: 200 })
  await connection.close()
}

/** Posts over a new connection each time, as the page does after a loss. */
function poster({ origin, ca }: TestServer) {
  return {
    async send(draft: unknown) {
      const http = connectHttp('1.1', origin['1.1'], ca)
      try {
        const { body } = await http.ask({
          method: 'POST',
          path: `/api/messages?key=${key}`,
          body: JSON.stringify(draft),
          headers: { 'content-type': 'application/json' },
        })
        return JSON.parse(await textOf(body))
      } finally {
        http.close()
      }
    },
  }
}

test(
  'a full stream: the refusal names the reason, and writing continues when there is room',
  options,
  async (context) => {
    const [server] = await startServers(context, 'full', [nats.address()])
    assert.ok(server)
    const reader = open(context, server, { window: 'w1' })
    await reader.next('welcome')
    await poster(server).send(draftOf(nameIn('w1'), 1, 'before'))
    await take(reader, 1)
    const admin = await nats.connect()
    context.after(() => admin.close())
    const { streams } = await jetstreamManager(admin)
    await streams.update('full', { max_bytes: 200, discard: 'new' } as never)
    const refused = await poster(server).send(draftOf(nameIn('w1'), 2, 'meanwhile'))
    assert.equal(refused.code, 'log-unavailable')
    assert.match(refused.message, /maximum bytes exceeded/)
    assert.ok(refused.retryAfterMs > 0)
    assert.match(await isUnready(server), /maximum bytes exceeded/)
    assert.match((await ask(server, '/metrics')).text, /^crosswind_log_up 0$/m)
    assert.match(
      (await ask(server, '/metrics')).text,
      /^crosswind_log_outage\{reason="maximum bytes exceeded"\} 1$/m,
    )
    // Readers stay connected, and new ones may open.
    const late = open(context, server, { window: 'w2' })
    assert.deepEqual(texts(await take(late, 1)), ['before'])
    await streams.update('full', { max_bytes: -1 } as never)
    await isReady(server)
    assert.match((await ask(server, '/metrics')).text, /^crosswind_log_up 1$/m)
    await sendUntilStored(poster(server), draftOf(nameIn('w1'), 2, 'meanwhile'))
    assert.deepEqual(texts(await take(reader, 1)), ['meanwhile'])
  },
)

test(
  'three servers that start together with a new NATS cluster all wait until it is ready',
  options,
  async (context) => {
    const routes = await freePorts(3)
    const list = routes.map((port) => `nats://${routesHost}:${port}`).join(', ')
    const starting = routes.map((port, n) =>
      startNatsServer(
        `server_name: n${n}\ncluster { name: c, listen: "${routesHost}:${port}", routes: [${list}] }`,
      ),
    )
    context.after(async () => Promise.all((await Promise.all(starting)).map((one) => one.stop())))
    // The first one may be alone for a while.
    const first = await (starting[0] as (typeof starting)[number])
    const opened = [1, 2, 3].map(() => startServers(context, 'together', [first.address()]))
    for (const [n, [server]] of (await Promise.all(opened)).entries())
      await sendUntilStored(poster(server as TestServer), draftOf(nameIn('w1'), n, `${n}`))
    const admin = await first.connect()
    context.after(() => admin.close())
    const { config, state } = await (await jetstreamManager(admin)).streams.info('together')
    assert.deepEqual([config.num_replicas, state.last_seq], [3, 3])
  },
)

test(
  'a server that starts before the third one of a new NATS cluster has joined waits for it, and has three replicas',
  options,
  async (context) => {
    const routes = await freePorts(3)
    const list = routes.map((port) => `nats://${routesHost}:${port}`).join(', ')
    const startOne = async (n: number) => {
      const one = await startNatsServer(
        `server_name: n${n}\ncluster { name: late, listen: "${routesHost}:${routes[n]}", routes: [${list}] }`,
      )
      context.after(one.stop)
      return one
    }
    const [first] = await Promise.all([startOne(0), startOne(1)])
    const admin = await first.connect()
    context.after(() => admin.close())
    // The two have a leader as soon as they can add a stream.
    const { streams } = await untilAnswered(() => jetstreamManager(admin))
    await untilAnswered(() => streams.add({ name: 'alone', subjects: ['alone'], num_replicas: 1 }))
    const asked = admin.subscribe('$JS.API.STREAM.CREATE.late', { max: 2 })
    const opened = startServers(context, 'late', [first.address()])
    const requests = asked[Symbol.asyncIterator]()
    await requests.next()
    await requests.next()
    await startOne(2)
    await opened
    assert.equal((await streams.info('late')).config.num_replicas, 3)
  },
)

async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await pause(50)
    }
  }
}

/** On a host where no other test takes a port meanwhile. */
const routesHost = '127.0.0.9'

/** Ports of that host, free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, routesHost))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
