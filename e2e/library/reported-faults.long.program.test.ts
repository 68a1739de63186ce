// Faults that users of Socket.IO, y-websocket and Hocuspocus reported, tried on each and on Crosswind.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Socket, Server as SocketIo } from 'socket.io'
import { io } from 'socket.io-client'
import * as Y from 'yjs'
import { connect, programs } from '../../client/node.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { connectHttp } from '../clients/http-client.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { type Said, secureServer, start, texts, untilState } from './testing.ts'
import { converged, provide, startDocuments } from './yjs-testing.ts'

/** Asserts nothing of the other systems: a test's diagnostics show what their present versions do. */
async function reported(t: TestContext, work: Promise<unknown>): Promise<void> {
  const late = setTimeout(20_000, null, { ref: false }).then(() =>
    Promise.reject(new Error('no end in 20 s')),
  )
  await Promise.race([work, late]).catch((error) => t.diagnostic(`Not found out: ${error}`))
}

/** A server that publishes to one room, and a client that follows it. */
interface Chat {
  readonly label: string
  readonly origin: string
  publish(text: string): unknown
  /** `through`: the origin of a proxy. */
  follow(through: string): Follower
  /** Resolves once the server has given up a connection that is lost; at once if the next one replaces it. */
  givenUp(): Promise<unknown>
}

interface Follower {
  /** Texts, and `gap` where the client is told that it may have missed some. */
  readonly heard: readonly string[]
  /** Resolves once it is connected, or is not. */
  is(connected: boolean): Promise<unknown>
  /** Resolves once all published messages that will arrive have arrived. */
  settled(): Promise<unknown>
}

const { version } = createRequire(import.meta.url)('socket.io/package.json')
const socketIoLabel = `Socket.IO ${version}`

const originOf = (port: number) => `http://localhost:${port}`

async function startSocketIo(t: TestContext): Promise<Chat> {
  const http = createServer()
  const port = await openPort(http)
  const server = new SocketIo(http, { connectionStateRecovery: {}, pingInterval: 300, pingTimeout: 300 })
  t.after(() => void server.close())
  let newest: Socket | undefined
  server.on('connection', (socket) => {
    newest = socket
    if (!socket.recovered) void socket.join('room')
    socket.on('settle', (answer) => answer())
  })
  return {
    label: socketIoLabel,
    origin: originOf(port),
    publish: (text) => server.to('room').emit('said', text),
    givenUp: () => new Promise((resolve) => newest?.once('disconnect', resolve)),
    follow(through) {
      const heard: string[] = []
      const socket = io(through, { transports: ['websocket'], reconnectionDelay: 100 })
      t.after(() => socket.close())
      let isFirst = true
      socket.on('connect', () => {
        if (!isFirst && !socket.recovered) heard.push('gap')
        isFirst = false
      })
      socket.on('said', (text) => heard.push(text))
      return {
        heard,
        is: async (connected) =>
          socket.connected === connected ||
          new Promise<void>(
            (resolve) => void socket.once(connected ? 'connect' : 'disconnect', () => resolve()),
          ),
        settled: () => socket.emitWithAck('settle'),
      }
    },
  }
}

async function startCrosswind(t: TestContext, mode: string): Promise<Chat> {
  const { crosswind, origin } = await start(t)
  return {
    label: `Crosswind over ${mode}`,
    origin,
    publish: (text) => crosswind.publish('room.1', { text }),
    givenUp: async () => undefined,
    follow(through) {
      const heard: string[] = []
      const opened = connect(`${through}/realtime`, { modes: [mode] })
      t.after(() => opened.close())
      const room = opened.channel<Said>('room.1')
      const settle = '(all)'
      room.on('gap', () => heard.push('gap'))
      room.on('message', ({ data }) => data.text !== settle && heard.push(data.text))
      return {
        heard,
        is: (connected) => untilState(opened, ({ status }) => (status === 'open') === connected),
        async settled() {
          const isHeard = new Promise<void>((resolve) => {
            const off = room.on('message', ({ data }) => {
              if (data.text !== settle) return
              off()
              resolve()
            })
          })
          await room.publish({ text: settle })
          await isHeard
        },
      }
    },
  }
}

interface Interruptions {
  /** Published before them, and heard. */
  readonly before: readonly string[]
  readonly rounds: number
  /** The server notices late that a stranded connection is lost. */
  readonly by: 'cut' | 'strand'
}

/** Interrupts a follower, and compares what it heard with what was published meanwhile and after. */
async function interrupted(t: TestContext, chat: Chat, { before, rounds, by }: Interruptions) {
  const proxy = await startProxy(Number(new URL(chat.origin).port))
  t.after(proxy.close)
  const follower = chat.follow(originOf(proxy.port))
  const published: string[] = []
  async function publish(text: string): Promise<void> {
    published.push(text)
    await chat.publish(text)
  }
  await follower.is(true)
  for (const text of before) await publish(text)
  await follower.settled()
  for (let round = 1; round <= rounds; round += 1) {
    proxy.refuse(true)
    const givenUp = chat.givenUp()
    proxy[by]()
    await follower.is(false)
    // The server repeats the newest one to anybody.
    for (const text of [`early ${round}`, `during ${round}`]) await publish(text)
    proxy.refuse(false)
    await follower.is(true)
    await givenUp
    await publish(`after ${round}`)
    await follower.settled()
  }
  const { heard } = follower
  const lost = published.filter((text) => !heard.includes(text))
  t.diagnostic(`${chat.label} heard ${heard.join(', ')}; lost ${lost.join(', ') || 'nothing'}`)
  return { published, heard }
}

const recoveringModes = ['sse/1.1', 'websocket/1.1', 'long-polling/1.1']

describe('a client that is interrupted', { concurrency: true }, () => {
  for (const [what, interruptions] of [
    ['before the first message (Socket.IO 5538)', { before: [], rounds: 1, by: 'cut' }],
    ['twice (Socket.IO 4880)', { before: ['hello'], rounds: 2, by: 'cut' }],
    ['twice, which the server notices late (Socket.IO 4880)', { before: ['hello'], rounds: 2, by: 'strand' }],
  ] as const)
    test(`${what} hears everything once`, async (t) => {
      const ours = recoveringModes.map(async (mode) => {
        const { published, heard } = await interrupted(t, await startCrosswind(t, mode), interruptions)
        assert.deepEqual(heard, published, mode)
      })
      const peer = await startSocketIo(t)
      await Promise.all([...ours, reported(t, interrupted(t, peer, interruptions))])
    })
})

test('a WebSocket opens over HTTP/2 (Socket.IO 5067)', async (t) => {
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

/** A server with one document, and clients that write in it. */
interface Documents {
  readonly label: string
  readonly port: number
  open(port: number, doc: Y.Doc): Editor
  close?(): unknown
}

interface Editor {
  /** Returns the state that it reports to the application. */
  says(): object
  isSynced(synced: boolean): Promise<unknown>
  /** Resolves once it says that everything is stored, or if it does not in time. */
  settled(): Promise<unknown>
  close(): void
}

async function startDocumentsOver(t: TestContext, mode: string): Promise<Documents> {
  const { origin } = await startDocuments(t)
  return {
    label: `Crosswind over ${mode}`,
    port: Number(new URL(origin).port),
    open(port, doc) {
      const provider = provide(t, originOf(port), 'doc.1', doc, { modes: [mode], platform: programs })
      return {
        says: () => ({ synced: provider.synced, unsaved: provider.unsaved }),
        async isSynced(synced) {
          while (provider.synced !== synced) await new Promise((resolve) => provider.once('sync', resolve))
        },
        settled: () => provider.whenSaved(),
        close: () => provider.destroy(),
      }
    },
  }
}

/** Their packages, in a folder of their own; with the same Yjs, of which a process may have one. */
async function installPeers(folder: string): Promise<Readonly<Record<string, () => Promise<Documents>>>> {
  await cp(join(import.meta.dirname, '../peers/yjs'), folder, { recursive: true })
  const links = ['yjs', 'y-protocols'].map((name) => join(import.meta.dirname, '../../node_modules', name))
  await promisify(execFile)('npm', ['install', '--no-save', '--no-audit', '--no-fund', ...links], {
    cwd: folder,
    timeout: 15_000,
  })
  return import(String(pathToFileURL(join(folder, 'peers.mjs'))))
}

/** Writes twice while nothing gets through to the server, and returns what the editor said. */
async function writtenInVain(t: TestContext, documents: Documents) {
  const proxy = await startProxy(documents.port)
  t.after(proxy.close)
  const doc = new Y.Doc()
  const stored = new Y.Doc()
  const editor = documents.open(proxy.port, doc)
  const witness = documents.open(documents.port, stored)
  await Promise.all([editor.isSynced(true), witness.isSynced(true)])
  const said: object[] = []
  for (const letter of ['a', 'b']) {
    proxy.hold()
    doc.getText('t').insert(0, letter)
    const heldUp = editor.says()
    proxy.refuse(true)
    proxy.cut()
    await editor.isSynced(false)
    const lost = editor.says()
    proxy.release()
    proxy.refuse(false)
    await Promise.all([editor.isSynced(true), converged(doc, stored)])
    await editor.settled()
    said.push({ heldUp, lost, back: editor.says() })
  }
  t.diagnostic(`${documents.label}: ${said.map((round) => JSON.stringify(round)).join(', ')}`)
  editor.close()
  witness.close()
  doc.destroy()
  stored.destroy()
  await documents.close?.()
  return said
}

test('what is written while the connection dies is stored, and unsaved until then (Hocuspocus 825)', async (t) => {
  const round = {
    heldUp: { synced: true, unsaved: 1 },
    lost: { synced: false, unsaved: 1 },
    back: { synced: true, unsaved: 0 },
  }
  const ours = recoveringModes.map(async (mode) => {
    const said = await writtenInVain(t, await startDocumentsOver(t, mode))
    assert.deepEqual(said, [round, round], mode)
  })
  await Promise.all(ours)
  const folder = temporaryFolder(t)
  const peers = installPeers(folder).then((installed) =>
    Promise.all(Object.values(installed).map(async (start) => writtenInVain(t, await start()))),
  )
  await reported(t, peers)
})
