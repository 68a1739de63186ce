// Several processes on the same ports meet the transport contract and survive a killed worker.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { isKind, type Message } from '../../protocol/messages.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { requireMode } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import { type ContractClient, openNamed, reachDirectly } from './contract-client.ts'
import { testTransportContract } from './transport-contract.ts'

const maxMessageBytes = 64 * 1024

async function startWorkers() {
  const folder = await makeServerFolder('workers')
  const settings = {
    workers: 2,
    port: 0,
    'http1-port': 0,
    host: 'localhost',
    'sensor-source': 'none',
    'drain-ms': 500,
    'limits-max-message-bytes': maxMessageBytes,
    'limits-messages-per-second': 100_000,
    'polling-interval-ms': 20,
    'polling-hold-ms': 300,
  }
  const { pid, origin, close } = await startServerProcess(programs.server, folder.flags(settings))
  return {
    pid,
    origin,
    ca: folder.ca,
    async stop() {
      await close()
      await folder.remove()
    },
  }
}

type Started = Awaited<ReturnType<typeof startWorkers>>

let shared: Started
before(async () => {
  shared = await startWorkers()
})
after(() => shared.stop())

for (const mode of modes) {
  describe(`${mode.name}, two workers`, () => {
    testTransportContract(mode, () => ({
      ...reachDirectly(shared, mode),
      maxMessageBytes,
      isApplication: false,
    }))
  })
}

test('one scrape has the metrics of all processes', async (context) => {
  const http = connectHttp('2', shared.origin['2'], shared.ca)
  context.after(() => http.close())
  const text = await textOf((await http.ask({ path: '/metrics' })).body)
  const processes = text.matchAll(/^process_start_time_seconds\{process="([^"]+)"\} \d/gm)
  assert.deepEqual(Array.from(processes, ([, name]) => name).sort(), ['log', 'worker-1', 'worker-2'])
  assert.match(text, /^crosswind_processes_silent 0$/m)
})

const needsProc = { skip: process.platform !== 'linux' }

test("a second server with workers is refused the first one's ports, and accepts no connection", async () => {
  const folder = await makeServerFolder('workers-again')
  const settings = { workers: 2, host: 'localhost', 'http1-port': 0, 'sensor-source': 'none' }
  const port = Number(new URL(shared.origin['2']).port)
  try {
    const started = startServerProcess(programs.server, folder.flags({ ...settings, port }))
    await assert.rejects(started, new RegExp(`Port ${port} is in use on localhost`))
  } finally {
    await folder.remove()
  }
})

test('a TLS session resumes at any worker', async () => {
  const { port, hostname } = new URL(shared.origin['1.1'])
  const connect = (session?: Buffer) =>
    connectTls({ host: hostname, port: Number(port), ca: shared.ca, session, ALPNProtocols: ['http/1.1'] })
  const first = connect()
  // With TLS 1.3 the session follows the handshake.
  const [session] = await once(first, 'session')
  first.destroy()
  const resumed: boolean[] = []
  for (let connection = 0; connection < 12; connection += 1) {
    const socket = connect(session)
    await once(socket, 'secureConnect')
    resumed.push(socket.isSessionReused())
    socket.destroy()
  }
  assert.deepEqual(
    resumed,
    Array.from({ length: 12 }, () => true),
  )
})

test('connections are distributed among the workers', needsProc, async (context) => {
  const names = Array.from({ length: 40 }, (_, index) => `shared-${index}`)
  for (const window of names)
    await open(context, shared, requireMode('sse/2'), { window, channels: 'shared-out' }).next('welcome')
  const counts = [...(await windowsOf(shared)).values()]
  // With an even hash, one of two workers gets fewer than five of forty once in five million times.
  assert.ok(counts.length === 2 && Math.min(...counts) >= 5, `windows by worker: ${counts}`)
})

const key = newKey()
const nameIn = (window: string) => nameOf(key, window)

const open = (context: TestContext, server: Started, mode: Mode, asked: Record<string, string>) =>
  openNamed(context, server, mode, { key, ...asked })

/** Retries, as a window does: a worker may have accepted the connection just before it ended. */
async function openWelcomed(
  context: TestContext,
  server: Started,
  mode: Mode,
  asked: Record<string, string>,
) {
  for (let attempt = 1; ; attempt += 1) {
    const client = open(context, server, mode, asked)
    try {
      return { client, welcome: await client.next('welcome') }
    } catch (error) {
      if (attempt === 10) throw error
    }
  }
}

async function take(client: ContractClient, count: number): Promise<string[]> {
  const messages: Message[] = []
  while (messages.length < count) messages.push((await client.next('message')).message)
  return messages.map((message) => (isKind(message, 'title') ? message.body.title : message.kind))
}

/**
 * The pid of the worker with this number, which is in its environment. Reads the kernel's tables.
 */
function workerNumbered(pid: number, number: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const isIt = (child: number) =>
    readFileSync(`/proc/${child}/environ`, 'utf8').split('\0').includes(`WORKER_NUMBER=${number}`)
  return children.find(isIt) ?? assert.fail(`There is no worker ${number}.`)
}

/** Windows by worker. */
async function windowsOf({ origin, ca }: Started): Promise<ReadonlyMap<string, number>> {
  const http = connectHttp('2', origin['2'], ca)
  const text = await textOf((await http.ask({ path: '/metrics' })).body)
  http.close()
  const samples = text.matchAll(/^crosswind_windows\{mode="[^"]+",process="worker-(\d+)"\} (\d+)$/gm)
  return new Map(Array.from(samples, ([, worker = '', windows]) => [worker, Number(windows)]))
}

for (const mode of modes.filter(({ name }) => ['sse/2', 'websocket/1.1', 'streaming/2'].includes(name))) {
  test(
    `${mode.name}: when a worker is killed, its windows continue at another, from their cursors`,
    needsProc,
    async (context) => {
      const server = await startWorkers()
      context.after(server.stop)
      const channels = 'killed'
      const readers = new Map<string, ContractClient>()
      const cursors = new Map<string, string>()
      let byWorker: ReadonlyMap<string, number> = new Map()
      while (byWorker.size < 2 || readers.size < 4) {
        assert.ok(readers.size < 50, 'Fifty connections went to one worker.')
        const window = `w${readers.size + 1}`
        const { client, welcome } = await openWelcomed(context, server, mode, { window, channels })
        readers.set(window, client)
        cursors.set(window, welcome.cursor)
        byWorker = await windowsOf(server)
      }
      const all = [...readers.values()]
      for (const client of all) while ((await client.next('presence')).windows < readers.size);
      const send = async (author: string, texts: readonly string[]) => {
        const { client } = await openWelcomed(context, server, mode, { window: author, channels })
        for (const [n, text] of texts.entries()) {
          const { type } = await client.send({ ...draftOf(nameIn(author), n, text), channel: channels })
          assert.equal(type, 'stored')
        }
      }
      await send('a1', ['1', '2', '3'])
      for (const client of all) assert.deepEqual(await take(client, 3), ['1', '2', '3'])

      const lost = new Set<string>()
      const allLost = new Promise<void>((resolve) => {
        for (const [window, { ended }] of readers)
          void ended.then(() => lost.add(window).size === byWorker.get('1') && resolve())
      })
      process.kill(workerNumbered(server.pid, '1'), 'SIGKILL')
      await allLost
      await send('a2', ['4', '5'])
      for (const window of lost) {
        const place = { window, channels, opening: '1', cursor: cursors.get(window) ?? '' }
        const { client: again, welcome } = await openWelcomed(context, server, mode, place)
        assert.equal(welcome.recovered, true)
        assert.deepEqual(await take(again, 3), ['1', '2', '3'])
        readers.set(window, again)
      }
      for (const client of readers.values()) assert.deepEqual(await take(client, 2), ['4', '5'])
      await send('a3', ['6'])
      for (const client of readers.values()) assert.deepEqual(await take(client, 1), ['6'])
    },
  )
}
