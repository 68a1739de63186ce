// Who takes turns: a mode of Crosswind or a peer, with a server process of its own.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultConfig } from '../../server/config/schema.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { startServerProcess } from '../lab/server-process.ts'
import { type PeerName, peerHttp, type Target } from '../load/target.ts'
import { type FiguresReader, openFiguresReader } from './figures-reader.ts'

/** What is measured: a name and how many of its windows share a connection. */
export interface Contender {
  /** `sse/2`, or a peer's name. */
  readonly name: string
  readonly perBrowser: number
  /** Null where each window has a connection of its own, whatever is asked. */
  readonly sharing: number | null
  readonly server: RunningServer
}

export interface RunningServer {
  readonly target: Target
  readonly figures: FiguresReader
  readonly close: () => Promise<void>
}

export interface Load {
  readonly windows: number
  readonly perBrowser: number
  readonly messagesPerSecond: number
}

const root = join(import.meta.dirname, '../..')
const { polling } = defaultConfig

/** One process for each mode, so that none profits or suffers from what another made of the same code. */
export async function startMode(mode: Mode, load: Load): Promise<RunningServer> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'crosswind-bench-'))
  const flags = flagsFor(load, dataFolder)
  const server = await startServerProcess(join(root, 'server/main.ts'), flags)
  const figures = openFiguresReader(server.origin['1.1'])
  return {
    target: { client: mode.transport, http: mode.http, origin: server.origin[mode.http], polling },
    figures,
    async close() {
      figures.close()
      await server.close()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}

export async function startPeer(name: PeerName): Promise<RunningServer> {
  const http = peerHttp[name]
  const server = await startServerProcess(join(root, 'e2e/peers', name, 'server.ts'), [])
  const figures = openFiguresReader(server.origin['1.1'])
  return {
    target: { client: name, http, origin: server.origin[http], polling },
    figures,
    async close() {
      figures.close()
      await server.close()
    },
  }
}

/** As `npm start` runs it, the log in a file included; only limits are raised to what is asked for. */
function flagsFor({ windows, perBrowser, messagesPerSecond }: Load, dataFolder: string): string[] {
  const { limits } = defaultConfig
  const flags = {
    port: 0,
    'http1-port': 0,
    host: 'localhost',
    'sensor-source': 'none',
    'data-folder': dataFolder,
    'drain-ms': 0,
    'limits-max-windows': Math.max(limits.maxWindows, windows * 2),
    'limits-max-connections': Math.max(limits.maxConnections, windows * 2 + 100),
    'limits-streams-per-session': Math.max(limits.streamsPerSession, perBrowser * 2 + 10),
    'limits-messages-per-second': Math.max(limits.messagesPerSecond, messagesPerSecond * 2),
  }
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
}
