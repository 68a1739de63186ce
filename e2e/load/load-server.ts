// Servers that load clients join: modes of Crosswind and relays, each in a process of its own.

import https from 'node:https'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import axios from 'axios'
import { defaultConfig } from '../../server/config/schema.ts'
import type { Figures } from '../../server/process.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { readProcessorMs } from '../lab/process-recorder.ts'
import { makeServerFolder, serverProgram, startServerProcess } from '../lab/server-process.ts'
import { type RelayName, relayClients, type Target } from './load-client.ts'

export type LoadServer = Awaited<ReturnType<typeof startLoadServer>>

type Settings = Readonly<Record<string, string | number>>

/** A server with ten thousand windows may be busy. */
const answerWithinMs = 30_000

/** `client` and `http`: of the load clients. `opened` closes it. */
async function startLoadServer(
  program: string,
  args: readonly string[],
  { client, http }: Pick<Target, 'client' | 'http'>,
  opened: AsyncDisposableStack,
  stages = false,
) {
  const { pid, origin, close } = await startServerProcess(program, args, { stages })
  // Keep-alive: handshakes would be measured too.
  const httpsAgent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  opened.defer(() => {
    httpsAgent.destroy()
    return close()
  })
  async function figures(): Promise<Figures> {
    const options = { httpsAgent, proxy: false, timeout: answerWithinMs } as const
    return (await axios.get<Figures>(`${origin['1.1']}/api/figures`, options)).data
  }
  const target: Target = {
    ...{ client, http, origin: origin[http], polling: defaultConfig.polling },
  }
  return {
    ...{ pid, origin, target, figures },
    /** Since its start. Read from outside where the system allows it: to answer would cost the server as much as some messages. */
    async cpuMs(): Promise<number> {
      const counted = await readProcessorMs(pid)
      return Number.isNaN(counted) ? (await figures()).cpuMs : counted
    },
    /** Rejects after half a minute. */
    async untilCounted(windows: number, signal: AbortSignal): Promise<void> {
      const deadline = performance.now() + countedWithinMs
      for (;;) {
        const found = (await figures()).windows
        if (found >= windows) return
        if (performance.now() > deadline)
          throw new Error(
            `The server counts only ${found} windows, ${countedWithinMs / 1000} s after they joined.`,
          )
        await pause(20, undefined, { signal })
      }
    },
  }
}

const countedWithinMs = 30_000

interface Load {
  readonly windows: number
  readonly perBrowser: number
  /** Messages a second. */
  readonly rate: number
}

/**
 * One process per mode: JIT optimisation for one must not affect another. Like `npm start`, with its file log; only the
 * limits are raised to fit the load. With `stages` it stamps them.
 */
export async function startMode(
  { transport, http }: Mode,
  { windows, perBrowser, rate }: Load,
  opened: AsyncDisposableStack,
  settings: Settings = {},
  stages = false,
): Promise<LoadServer> {
  const folder = await makeServerFolder('load')
  opened.defer(folder.remove)
  const { limits } = defaultConfig
  const flags = folder.flags({
    ...{ port: 0, 'http1-port': 0, host: 'localhost', share: 'none', 'sensor-source': 'none', 'drain-ms': 0 },
    // The load clients send edits.
    editor: 'mirror',
    'limits-max-windows': Math.max(limits.maxWindows, windows * 2),
    'limits-max-connections': Math.max(limits.maxConnections, windows * 2 + 100),
    'limits-streams-per-session': Math.max(limits.streamsPerSession, perBrowser * 2 + 10),
    'limits-messages-per-second': Math.max(limits.messagesPerSecond, rate * 2),
    ...settings,
  })
  return startLoadServer(serverProgram, flags, { client: transport, http }, opened, stages)
}

/** A relay of `e2e/peers`. */
export function startRelay(name: RelayName, opened: AsyncDisposableStack): Promise<LoadServer> {
  return startRelayFor([name], relayClients[name], opened)
}

/** `args` of relays.ts; `clients` join it. */
export function startRelayFor(
  args: readonly string[],
  clients: Pick<Target, 'client' | 'http'>,
  opened: AsyncDisposableStack,
): Promise<LoadServer> {
  return startLoadServer(join(import.meta.dirname, '../peers/relays.ts'), args, clients, opened)
}
