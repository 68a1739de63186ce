// Servers under test, one or several: stopped, killed and restarted on the same ports and log.

import { setTimeout as delay } from 'node:timers/promises'
import type { HttpVersion, Message, PollAnswer } from '../../client/wire.ts'
import { startNatsServer } from '../../scripts/nats-server.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { childrenOf } from '../lab/process-recorder.ts'
import { programs } from '../lab/programs.ts'
import {
  findFreePorts,
  type Ports,
  type ServerFolder,
  type StartedServer,
  startServerProcess,
} from '../lab/server-process.ts'
import { startBalancer } from '../network/balancer.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import type { MemorySample } from './resilience-summary.ts'

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

/** Ms, or work done while the server is down. */
type Away = number | (() => unknown)

/** Operations that faults and measurements need of one server, or of several behind one address. */
export type ServerUnderTest = Pick<
  RestartingServer,
  | 'ports'
  | 'origin'
  | 'ca'
  | 'crashes'
  | 'life'
  | 'isUp'
  | 'restart'
  | 'kill'
  | 'close'
  | 'errors'
  | 'sampleMemory'
> & {
  /** SIGKILL for the broker of several servers, which starts again at once. */
  readonly killBroker?: () => Promise<void>
  /**
   * SIGKILL for one of the workers, selected by a number from 0 to 1; returns its process id,
   * undefined if there is none or it is unknown.
   */
  readonly killWorker?: (draw: number) => Promise<number | undefined>
}

/** A line of `--log-format json`; docs/operating.md lists the codes. */
interface ServerLine {
  readonly code: string
  readonly message: string
}

/** Restarts, kills and closes run one at a time. */
export class RestartingServer {
  readonly ports: Ports
  readonly origin: Readonly<Record<HttpVersion, string>>
  /** PEM. */
  readonly ca: string
  /** Standard error of each unexpected exit. */
  readonly crashes: string[] = []
  /** From all its processes; empty without `--log-format json`. */
  readonly lines: readonly ServerLine[]
  /** Server process, from 1. */
  life = 1
  /** False from a stop, kill or crash until the next start. */
  isUp = true
  readonly #launch: () => Promise<StartedServer>
  #written = ''
  #server: StartedServer
  #turn: Promise<unknown> = Promise.resolve()

  static async start(
    { ca, flags }: Pick<ServerFolder, 'ca' | 'flags'>,
    program = programs.server,
    place: { readonly ports?: Ports; readonly host?: string } & Readonly<Record<string, unknown>> = {},
  ) {
    const { ports = await findFreePorts(), host = 'localhost', ...change } = place
    const own = { ...settings, ...change, host, port: ports['2'], 'http1-port': ports['1.1'] }
    const args = flags(own as Readonly<Record<string, string | number>>)
    const lines: ServerLine[] = []
    const onLine = (line: string) => {
      if (line.startsWith('{')) lines.push(JSON.parse(line))
    }
    const launch = () => startServerProcess(program, args, { host, onLine })
    return new RestartingServer(ports, ca, launch, await launch(), lines)
  }

  private constructor(
    ports: Ports,
    ca: string,
    launch: () => Promise<StartedServer>,
    server: StartedServer,
    lines: readonly ServerLine[],
  ) {
    this.lines = lines
    this.ports = ports
    this.origin = server.origin
    this.ca = ca
    this.#launch = launch
    this.#server = server
    this.#watch(server)
  }

  get pid(): number {
    return this.#server.pid
  }

  /**
   * Sends SIGTERM; restarts this many ms after the exit, or once the work is done. Resolves when
   * the server is up.
   */
  restart(away: Away): Promise<void> {
    return this.#inTurn(() => this.#replace(this.#server.close, away))
  }

  /** Like `restart`, with SIGKILL. */
  kill(away: Away): Promise<void> {
    return this.#inTurn(() => this.#replace(this.#server.kill, away))
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

  /** See `ServerUnderTest`. */
  readonly killWorker = async (draw: number): Promise<number | undefined> => {
    const workers = this.isUp ? await childrenOf(this.#server.pid) : []
    const worker = workers[Math.floor(draw * workers.length)]
    if (worker === undefined) return undefined
    try {
      process.kill(worker, 'SIGKILL')
      return worker
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined
      throw error
    }
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

  /** A crash is followed by a restart; a failed restart is a crash too. */
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

  async #replace(end: () => Promise<void>, away: Away): Promise<void> {
    this.isUp = false
    await end()
    await (typeof away === 'number' ? delay(away) : away())
    const server = await this.#launch()
    this.#written += this.#server.errors()
    this.#server = server
    this.life += 1
    this.isUp = true
    this.#watch(server)
  }
}

interface ClusterSettings {
  readonly servers: number
  readonly workers?: number
  /** Puts a relay between each server and NATS. */
  readonly isRelayed?: boolean
  /** For each server. */
  readonly more?: Readonly<Record<string, string>>
}

/**
 * Servers on their own addresses (127.0.0.2 and so on) over one NATS stream, behind a balancer on
 * localhost. Each fault hits the next server.
 */
export async function startCluster(
  folder: Pick<ServerFolder, 'ca' | 'flags'>,
  { servers: count, workers = 1, isRelayed = false, more = {} }: ClusterSettings,
  opened: AsyncDisposableStack,
) {
  const nats = await startNatsServer()
  opened.defer(nats.stop)
  const ports = await findFreePorts()
  const hosts = Array.from({ length: count }, (_, place) => `127.0.0.${place + 2}`)
  const servers: RestartingServer[] = []
  const relays: CuttingProxy[] = []
  for (const host of hosts) {
    const relay = isRelayed ? await startProxy(Number(nats.address().split(':')[1])) : null
    if (relay) opened.defer(relay.close)
    if (relay) relays.push(relay)
    const address = relay ? `127.0.0.1:${relay.port}` : nats.address()
    const settings = { broker: 'nats', 'nats-servers': address, access: 'open', workers, ...more }
    const server = await RestartingServer.start(folder, programs.server, { ...settings, ports, host })
    opened.defer(() => server.close())
    servers.push(server)
  }
  for (const port of Object.values(ports)) {
    const balancer = await startBalancer(
      { host: '127.0.0.1', port },
      hosts.map((host) => ({ host, port })),
    )
    opened.defer(balancer.close)
  }
  let turn = 0
  const next = () => {
    turn += 1
    return servers[turn % count] as RestartingServer
  }
  const origin = { '2': `https://localhost:${ports['2']}`, '1.1': `https://localhost:${ports['1.1']}` }
  const server: ServerUnderTest = {
    ports,
    origin,
    ca: folder.ca,
    get crashes() {
      return servers.flatMap(({ crashes }) => crashes)
    },
    /** Processes started so far, over all servers. */
    get life() {
      return servers.reduce((sum, { life }) => sum + life, 0)
    },
    get isUp() {
      return servers.some(({ isUp }) => isUp)
    },
    restart: (awayMs) => next().restart(awayMs),
    kill: (awayMs) => next().kill(awayMs),
    killWorker: (draw) => next().killWorker(draw),
    async killBroker() {
      await nats.kill()
      await nats.restart()
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()))
    },
    errors: () => servers.map((server) => server.errors()).join(''),
    sampleMemory(elapsed) {
      const each = servers.map((server) => server.sampleMemory(elapsed))
      return {
        /** Processes of the first server are 1, 2 …, of the second 1001, 1002 … */
        get samples() {
          return each.flatMap(({ samples }, place) =>
            samples.map((sample) => ({ ...sample, life: place * 1000 + sample.life })),
          )
        },
        async sampleNow() {
          await Promise.all(each.map(({ sampleNow }) => sampleNow()))
        },
        stop() {
          for (const { stop } of each) stop()
        },
      }
    },
  }
  return { server, servers, nats, relays }
}

/**
 * The log of some channels, by polls over HTTP/1.1, which set their own pace. Incomplete if a
 * snapshot replaced its beginning.
 */
export async function readLog(
  { origin, ca }: Pick<RestartingServer, 'origin' | 'ca'>,
  channels: readonly string[],
): Promise<{ readonly messages: Message[]; readonly isWhole: boolean }> {
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
    let isWhole = true
    let cursor = `${(await poll()).cursor.split(':')[0]}:0`
    for (;;) {
      query.set('cursor', cursor)
      const answer = await poll()
      for (const frame of answer.frames) {
        if (frame.type === 'message') messages.push(frame.message)
        else if (frame.type === 'welcome' && !frame.recovered) isWhole = false
      }
      if (answer.cursor === cursor) return { messages, isWhole }
      cursor = answer.cursor
    }
  } finally {
    http.close()
  }
}

/** The document's text, as the server has it, without the line feed that ends its last line. */
export async function readDocument(
  { origin, ca }: Pick<RestartingServer, 'origin' | 'ca'>,
  channel: string,
): Promise<string> {
  const http = connectHttp('1.1', origin['1.1'], ca)
  try {
    const { status, body } = await http.ask({ path: `/api/documents/${channel}` })
    const text = await textOf(body)
    if (status !== 200) throw new Error(`The document could not be read: ${status} ${text.slice(0, 200)}`)
    return text.replace(/\n$/, '')
  } finally {
    http.close()
  }
}
