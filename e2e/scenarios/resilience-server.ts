// The server under test: stopped, killed and restarted with the same ports and log.

import { setTimeout as delay } from 'node:timers/promises'
import type { Message, PollAnswer } from '../../server/wire/messages.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import {
  findFreePorts,
  type Ports,
  type ServerFolder,
  type StartedServer,
  serverProgram,
  startServerProcess,
} from '../lab/server-process.ts'
import type { MemorySample } from './resilience-analysis.ts'

/** Persistent log, short timeouts and small queues for slow windows. */
const settings = {
  host: 'localhost',
  share: 'none',
  storage: 'sqlite',
  'sensor-source': 'none',
  // Silence is noticed within five seconds, so that short runs include it.
  'heartbeat-ms': 2000,
  'drain-ms': 2000,
  'limits-queue-bytes-per-window': 1_048_576,
  'limits-max-message-bytes': 65_536,
  // Keeps all messages of a run.
  'limits-log-messages': 1_000_000,
  'limits-log-bytes': 4 * 1024 ** 3,
}

const sampleEveryMs = 500

/** Restarts, kills and closes run one at a time. */
export class RestartingServer {
  readonly ports: Ports
  readonly origin: Readonly<Record<HttpVersion, string>>
  /** PEM. */
  readonly ca: string
  /** Standard error of each unexpected exit. */
  readonly crashes: string[] = []
  /** Server process, from 1. */
  life = 1
  /** False from a stop, kill or crash until the next start. */
  isUp = true
  readonly #launch: () => Promise<StartedServer>
  #written = ''
  #server: StartedServer
  #turn: Promise<unknown> = Promise.resolve()

  static async start({ ca, flags }: Pick<ServerFolder, 'ca' | 'flags'>, program = serverProgram) {
    const ports = await findFreePorts()
    const args = flags({ ...settings, port: ports['2'], 'http1-port': ports['1.1'] })
    const launch = () => startServerProcess(program, args)
    return new RestartingServer(ports, ca, launch, await launch())
  }

  private constructor(ports: Ports, ca: string, launch: () => Promise<StartedServer>, server: StartedServer) {
    this.ports = ports
    this.origin = server.origin
    this.ca = ca
    this.#launch = launch
    this.#server = server
    this.#watch(server)
  }

  /** Sends SIGTERM; restarts `awayMs` after the exit. Resolves when the server is up. */
  restart(awayMs: number): Promise<void> {
    return this.#inTurn(() => this.#replace(this.#server.close, awayMs))
  }

  /** Like `restart`, with SIGKILL. */
  kill(awayMs: number): Promise<void> {
    return this.#inTurn(() => this.#replace(this.#server.kill, awayMs))
  }

  close(): Promise<void> {
    return this.#inTurn(() => {
      this.isUp = false
      return this.#server.close()
    })
  }

  errors(): string {
    return this.#written + this.#server.errors()
  }

  /** Skips times when the server is down. */
  sampleMemory(elapsed: () => number) {
    const samples: MemorySample[] = []
    const sampleNow = async () => {
      const life = this.life
      const figures = await this.#server.figures().catch(() => null)
      if (!figures || life !== this.life) return
      const { rssBytes, heapUsedBytes, windows } = figures
      samples.push({ atMs: elapsed(), life, rssBytes, heapUsedBytes, windows })
    }
    const timer = setInterval(sampleNow, sampleEveryMs)
    return { samples, sampleNow, stop: () => clearInterval(timer) }
  }

  /** A crash is followed by a restart; one that fails is a crash too. */
  #watch(server: StartedServer): void {
    server.exited.then(() => {
      if (!this.isUp) return
      this.isUp = false
      this.crashes.push(server.errors())
      this.#inTurn(() => this.#replace(() => server.exited, 0)).catch((error) =>
        this.crashes.push(String(error)),
      )
    })
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(act)
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #replace(end: () => Promise<void>, awayMs: number): Promise<void> {
    this.isUp = false
    await end()
    await delay(awayMs)
    const server = await this.#launch()
    this.#written += this.#server.errors()
    this.#server = server
    this.life += 1
    this.isUp = true
    this.#watch(server)
  }
}

/** The complete log of some channels, by polls over HTTP/1.1, which set their own pace. */
export async function readLog(
  { origin, ca }: Pick<RestartingServer, 'origin' | 'ca'>,
  channels: readonly string[],
): Promise<Message[]> {
  const http = connectHttp('1.1', origin['1.1'], ca)
  const query = new URLSearchParams({ window: 'reader-of-the-log', channels: channels.join(',') })
  const poll = async (): Promise<PollAnswer> => {
    const { status, body } = await http.ask({ path: `/api/poll?${query}` })
    const text = await textOf(body)
    if (status !== 200) throw new Error(`The log could not be read back: ${status} ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }
  try {
    const messages: Message[] = []
    let cursor = `${(await poll()).cursor.split(':')[0]}:0`
    for (;;) {
      query.set('cursor', cursor)
      const answer = await poll()
      for (const frame of answer.frames) if (frame.type === 'message') messages.push(frame.message)
      if (answer.cursor === cursor) return messages
      cursor = answer.cursor
    }
  } finally {
    http.close()
  }
}
