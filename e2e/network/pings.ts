// Pings through a link over real sockets, and what the link was asked for at the same moments.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createSeededRandom } from '../../server/wire/random.ts'
import { type LinkFigures, startLink } from './link.ts'
import { createPaths } from './path.ts'
import type { Profile } from './profiles.ts'

/** One way each, ms, in the order of the pings. */
export interface Pinged {
  readonly up: readonly number[]
  readonly down: readonly number[]
  /** What the profile's course says for the moments at which they were sent. */
  readonly askedUp: readonly number[]
  readonly askedDown: readonly number[]
  readonly figures: LinkFigures
}

export interface Pinging {
  readonly profile: Profile
  readonly seed: number
  readonly count: number
  readonly everyMs: number
}

/** Eight bytes: the sender's `performance.now()`. */
const pingBytes = 8

/** Client, link and server are all in this process, and so have one clock. */
export async function ping(pinging: Pinging): Promise<Pinged> {
  const { profile, seed } = pinging
  const server = createServer({ noDelay: true })
  server.on('connection', (socket) => readPings(socket, (at) => atServer(socket, at)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: targetPort } = server.address() as AddressInfo
  const startedAt = performance.now()
  const link = await startLink({ targetPort, profile, random: createSeededRandom(seed) })
  const asked = createPaths(profile, createSeededRandom(seed))
  const found = {
    up: [] as number[],
    down: [] as number[],
    askedUp: [] as number[],
    askedDown: [] as number[],
  }
  const client = connect({ port: link.port, host: '127.0.0.1', noDelay: true })
  readPings(client, (at) => found.down.push(performance.now() - at))

  function atServer(socket: Socket, at: number): void {
    const now = performance.now()
    found.up.push(now - at)
    found.askedUp.push(asked.up(at - startedAt) - (at - startedAt))
    found.askedDown.push(asked.down(now - startedAt) - (now - startedAt))
    writePing(socket)
  }

  await sendPings(client, pinging, found.down, () => {
    for (const values of Object.values(found)) values.length = 0
  })
  const figures = link.figures()
  await link.close()
  server.close()
  return { ...found, figures }
}

/** The first one goes through the handshake: `onReady` forgets it. */
async function sendPings(
  client: Socket,
  { count, everyMs }: Pinging,
  answers: readonly number[],
  onReady: () => void,
): Promise<void> {
  writePing(client)
  while (answers.length === 0) await setTimeout(10)
  onReady()
  const timer = setInterval(() => writePing(client), everyMs)
  while (answers.length < count) await setTimeout(everyMs)
  clearInterval(timer)
}

function writePing(socket: Socket): void {
  const bytes = Buffer.alloc(pingBytes)
  bytes.writeDoubleBE(performance.now())
  socket.write(bytes)
}

function readPings(socket: Socket, onPing: (sentAt: number) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= pingBytes; rest = rest.subarray(pingBytes)) onPing(rest.readDoubleBE())
  })
}
