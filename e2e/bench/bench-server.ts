// Servers under test: a mode of Crosswind or a peer, each in its own process.

import https from 'node:https'
import { join } from 'node:path'
import axios from 'axios'
import { defaultConfig } from '../../server/config/schema.ts'
import type { Figures } from '../../server/process.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { readProcessorMs } from '../lab/process-recorder.ts'
import { makeServerFolder, serverProgram, startServerProcess } from '../lab/server-process.ts'
import { type PeerName, peerHttp, type Target } from '../load/load-client.ts'

export interface BenchServer {
  readonly target: Target
  readonly figures: () => Promise<Figures>
  /** Since its start. Read from outside where the system allows it: to answer would cost the server as much as some messages. */
  readonly cpuMs: () => Promise<number>
  readonly close: () => Promise<void>
}

/**
 * One process per mode: JIT optimisation for one must not affect another. Like `npm start`, with its file log; only the
 * limits are raised to fit the load. With `stages` it stamps them, as the lab's servers do.
 */
export async function startMode(
  { transport, http }: Mode,
  { windows, perBrowser, rate }: { windows: number; perBrowser: number; rate: number },
  stages = false,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<BenchServer> {
  const folder = await makeServerFolder('bench')
  const { limits } = defaultConfig
  const flags = folder.flags({
    port: 0,
    'http1-port': 0,
    host: 'localhost',
    share: 'none',
    'sensor-source': 'none',
    'drain-ms': 0,
    // The load clients send edits.
    editor: 'mirror',
    'limits-max-windows': Math.max(limits.maxWindows, windows * 2),
    'limits-max-connections': Math.max(limits.maxConnections, windows * 2 + 100),
    'limits-streams-per-session': Math.max(limits.streamsPerSession, perBrowser * 2 + 10),
    'limits-messages-per-second': Math.max(limits.messagesPerSecond, rate * 2),
    ...settings,
  })
  const server = await startBenchServer(serverProgram, flags, { client: transport, http }, stages)
  return { ...server, close: () => server.close().then(folder.remove) }
}

export function startPeer(name: PeerName): Promise<BenchServer> {
  const program = join(import.meta.dirname, '../peers/relays.ts')
  return startBenchServer(program, [name], { client: name, http: peerHttp[name] })
}

/** A server with ten thousand windows may be busy. */
const answerWithinMs = 30_000

/** `client` and `http`: of the load clients. */
export async function startBenchServer(
  program: string,
  args: readonly string[],
  { client, http }: Pick<Target, 'client' | 'http'>,
  stages = false,
): Promise<BenchServer> {
  const { pid, origin, close } = await startServerProcess(program, args, { stages })
  // Keep-alive: handshakes would be measured too.
  const httpsAgent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  async function figures(): Promise<Figures> {
    const options = { httpsAgent, proxy: false, timeout: answerWithinMs } as const
    return (await axios.get<Figures>(`${origin['1.1']}/api/figures`, options)).data
  }
  return {
    target: { client, http, origin: origin[http], polling: defaultConfig.polling },
    figures,
    async cpuMs() {
      const counted = await readProcessorMs(pid)
      return Number.isNaN(counted) ? (await figures()).cpuMs : counted
    },
    close() {
      httpsAgent.destroy()
      return close()
    },
  }
}
