// An application's server with little memory, in a process of its own; this file is its entry point.

import { fork } from 'node:child_process'
import { on, once } from 'node:events'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { defaultConfig } from '../../app/config/config.ts'
import { serverEnvironment } from '../../scripts/child-process.mjs'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { createCrosswind, type StandardSchema, type Storage } from '../../server/index.ts'

/** Resident bytes: the highest since the start, sampled. */
interface Figures {
  readonly peak: number
}

const { limits } = defaultConfig

/** Bytes that the log keeps: on a disk, too, the default of a log in memory. */
export const keptBytes = limits.memoryBytes

/** Default limits otherwise, and a bounded heap. The token NAME may write to `room.NAME` and `checked.NAME`. */
export async function startBoundedServer(t: TestContext, kind: 'memory' | 'sqlite') {
  const storage: Storage = kind === 'memory' ? kind : { kind, folder: temporaryFolder(t) }
  const child = fork(import.meta.filename, [JSON.stringify(storage)], {
    execArgv: [...process.execArgv, '--max-old-space-size=256'],
    env: { ...process.env, ...serverEnvironment },
  })
  async function message<Message>(): Promise<Message> {
    for await (const [given] of on(child, 'message', { close: ['exit'] })) return given
    throw new Error(`The server ended with ${child.signalCode ?? child.exitCode}.`)
  }
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.disconnect()
    await ended
  })
  const { origin } = await message<{ origin: string }>()
  return {
    origin,
    figures(): Promise<Figures> {
      const answer = message<Figures>()
      child.send({})
      return answer
    },
  }
}

/** Takes a minute, as one that asks a slow service. */
const slow: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    async validate(value) {
      await pause(60_000, undefined, { ref: false })
      return { value }
    },
  },
}

async function serve(storage: Storage): Promise<void> {
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' }, 'checked.*': { kind: 'json', validate: slow } },
    authorize: ({ token }) =>
      token ? { user: token, read: ['room.*'], write: [`room.${token}`, `checked.${token}`] } : null,
    limits: { logMessages: limits.memoryMessages, logBytes: keptBytes },
    storage,
    onFailure: () => undefined,
  })
  const server = createServer()
  crosswind.attach(server)
  const port = await openPort(server, '127.0.0.1')
  let peak = 0
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 20)
  process.on('message', () => process.send?.({ peak } satisfies Figures))
  process.once('disconnect', () => {
    clearInterval(sampling)
    server.close()
    void crosswind.close({ drainMs: 0 }).then(() => process.exit())
  })
  process.send?.({ origin: `http://127.0.0.1:${port}` })
}

if (import.meta.main) await serve(JSON.parse(process.argv[2] ?? '""'))
