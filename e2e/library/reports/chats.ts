// A server that relays texts among the members of one room: Crosswind or Socket.IO.

import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { type ServerOptions, type Socket, Server as SocketIo } from 'socket.io'
import { io, type SocketOptions } from 'socket.io-client'
import { connect } from '../../../client/node.ts'
import { openPort } from '../../../scripts/open-port.ts'
import { type Said, start, untilState } from '../testing.ts'
import { originOf } from './comparison.ts'

export interface Chat {
  readonly label: string
  readonly origin: string
  publish(text: string): unknown
  /** `through`: the origin of a proxy. */
  join(through?: string): Member
  /** Resolves once the server has given up a connection that is lost; at once if the next one replaces it. */
  givenUp(): Promise<unknown>
  /** What waits in the server's memory for its members, in bytes. */
  waitingBytes(): number
}

export interface Member {
  /** Texts, its own too, and `gap` where it is told that it may have missed some. */
  readonly heard: readonly string[]
  /** Rejects with the reason, if there is an answer that has one. */
  say(text: string): Promise<unknown>
  /** Each time that it is connected. */
  onConnected(listener: () => void): void
  /** Resolves once it is connected, or is not. */
  is(connected: boolean): Promise<unknown>
  hears(text: string): Promise<unknown>
  /** Resolves once all that was said or published before, and will arrive, has arrived. */
  settled(): Promise<unknown>
}

/** What a member hears, and who waits for it. */
class Hearing {
  readonly heard: string[] = []
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>()

  readonly add = (text: string): void => {
    this.heard.push(text)
    this.#awaited.get(text)?.resolve()
  }

  readonly hears = async (text: string): Promise<void> => {
    if (this.heard.includes(text)) return
    const awaited = this.#awaited.getOrInsertComputed(text, () => Promise.withResolvers())
    await awaited.promise
  }
}

const { version } = createRequire(import.meta.url)('socket.io/package.json')
export const socketIoLabel = `Socket.IO ${version}`

interface SocketIoSetting {
  readonly server?: Partial<ServerOptions>
  readonly client?: Partial<SocketOptions>
}

/** What waits in the queues of Socket.IO and of its WebSocket, which have no public figure. */
function bytesBefore(connection: Socket['conn']): number {
  const { writeBuffer, transport } = connection as unknown as {
    readonly writeBuffer: readonly { readonly data: string }[]
    readonly transport: { readonly socket: { readonly bufferedAmount: number } }
  }
  return writeBuffer.reduce((sum, { data }) => sum + data.length, transport.socket.bufferedAmount)
}

export async function startSocketIo(t: TestContext, setting: SocketIoSetting = {}): Promise<Chat> {
  const http = createServer()
  const port = await openPort(http)
  const server = new SocketIo(http, { connectionStateRecovery: {}, ...setting.server })
  t.after(() => void server.close())
  let newest: Socket | undefined
  server.on('connection', (socket) => {
    newest = socket
    if (!socket.recovered) void socket.join('room')
    socket.on('say', (text, answer) => {
      server.to('room').emit('said', text)
      answer()
    })
    socket.on('settle', (answer) => answer())
  })
  return {
    label: socketIoLabel,
    origin: originOf(port),
    publish: (text) => server.to('room').emit('said', text),
    givenUp: () => new Promise((resolve) => newest?.once('disconnect', resolve)),
    waitingBytes: () =>
      [...server.sockets.sockets.values()].reduce((sum, { conn }) => sum + bytesBefore(conn), 0),
    join(through = originOf(port)) {
      const { heard, hears, add } = new Hearing()
      const socket = io(through, { transports: ['websocket'], reconnectionDelay: 100, ...setting.client })
      t.after(() => socket.close())
      let isFirst = true
      socket.on('connect', () => {
        if (!isFirst && !socket.recovered) add('gap')
        isFirst = false
      })
      socket.on('said', add)
      return {
        heard,
        hears,
        say: (text) => socket.emitWithAck('say', text),
        onConnected: (listener) => void socket.on('connect', listener),
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

export async function startCrosswind(t: TestContext, mode: string): Promise<Chat> {
  const { crosswind, origin } = await start(t)
  const room = 'room.1'
  /** Texts by which members find out that they have heard everything. */
  const markers = new Set<string>()
  return {
    label: `Crosswind over ${mode}`,
    origin,
    publish: (text) => crosswind.publish(room, { text }),
    givenUp: async () => undefined,
    waitingBytes: () => crosswind.clients().reduce((sum, { backlogBytes }) => sum + backlogBytes, 0),
    join(through = origin) {
      const { heard, hears, add } = new Hearing()
      const opened = connect(`${through}/realtime`, { modes: [mode] })
      t.after(() => opened.close())
      const joined = opened.channel<Said>(room)
      joined.on('gap', () => add('gap'))
      joined.on('message', ({ data }) => markers.has(data.text) || add(data.text))
      const isOpen = ({ status }: { readonly status: string }) => status === 'open'
      return {
        heard,
        hears,
        say: (text) => joined.publish({ text }),
        onConnected(listener) {
          let wasOpen = false
          opened.on('state', (state) => {
            const opens = isOpen(state) && !wasOpen
            wasOpen = isOpen(state)
            if (opens) listener()
          })
        },
        is: (connected) => untilState(opened, (state) => isOpen(state) === connected),
        async settled() {
          const marker = `settled ${markers.size}`
          markers.add(marker)
          const { promise, resolve } = Promise.withResolvers<void>()
          const off = joined.on('message', ({ data }) => data.text === marker && resolve())
          await joined.publish({ text: marker })
          await promise
          off()
        },
      }
    },
  }
}
