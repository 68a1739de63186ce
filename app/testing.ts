// A real server on free ports for tests, with a certificate in a folder of its own.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ensureCertificate } from '../certs/certificate.ts'
import { processTimers } from '../scripts/process.ts'
import type { SharedStorage } from '../server/index.ts'
import { invitationLink, loadKey, makeInvitation, type Permission } from './access.ts'
import { type Config, defaultConfig } from './config/config.ts'
import { type Server, startServer } from './server.ts'

export const testConfig: Config = {
  ...defaultConfig,
  port: 0,
  http1Port: 0,
  access: 'open',
  storage: 'memory',
  polling: { intervalMs: 20, holdMs: 300 },
  drainMs: 2000,
  limits: {
    ...defaultConfig.limits,
    maxMessageBytes: 64 * 1024,
    maxWindows: 100,
    maxConnections: 200,
    maxChannels: 100,
    channelsPerWindow: 8,
    messagesPerSecond: 100_000,
    queueBytesPerWindow: 256 * 1024,
    logMessages: 1000,
    logBytes: 1024 * 1024,
    logHours: 24,
  },
  sensor: { ...defaultConfig.sensor, source: 'none' },
}

export interface TestServer extends Server {
  readonly origin: Readonly<Record<'2' | '1.1', string>>
  /** In PEM. */
  readonly ca: string
  readonly authorityFile: string
  readonly cert: string
  /** An invitation link, as `npm run invite` makes it, to the HTTP/2 listener. */
  readonly invite: (permission: Permission, forMs?: number) => Promise<string>
}

/**
 * Stops the clocks of this process until the end of the test, and lets the test advance them. Timers
 * run as usual. Call before a server starts.
 */
export function stopClock(t: TestContext) {
  let now = Math.trunc(processTimers.now())
  let wall = now
  t.mock.method(processTimers, 'now', () => now)
  t.mock.method(Date, 'now', () => wall)
  return {
    now: () => now,
    pass(ms: number) {
      now += ms
      wall += ms
    },
    /** Sets the wall clock, as by hand; the monotonic clock does not follow. */
    set(byMs: number) {
      wall += byMs
    },
  }
}

const page =
  '<!doctype html><div id="crosswind"></div><script type="application/json" id="settings">null</script>'

/** Settings that differ from `testConfig`, and the storage of a package. */
export type ServerChange = Partial<Config> & { readonly sharedStorage?: SharedStorage }

/** `webFolder` is one with an empty page by default. */
export async function startTestServer(
  { sharedStorage, ...change }: ServerChange = {},
  webFolder?: string | URL,
  signal?: AbortSignal,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-test-'))
  const tls = await ensureCertificate({ directory: join(folder, 'certs'), now: new Date() })
  await writeFile(join(folder, 'index.html'), page)
  const config = { ...testConfig, ...change }
  const server = await startServer({
    config,
    tls,
    webFolder: webFolder ?? folder,
    root: folder,
    sharedStorage,
    signal,
  })
  const ca = tls.cert
  return {
    ...server,
    origin: {
      '2': `https://localhost:${server.ports['2']}`,
      '1.1': `https://localhost:${server.ports['1.1']}`,
    },
    ca,
    authorityFile: tls.authorityFile,
    cert: tls.cert,
    async invite(permission, forMs = 3_600_000) {
      const key = await loadKey(config, folder)
      const token = await makeInvitation({ ...permission, expiresAt: Date.now() + forMs }, key)
      return invitationLink(`https://localhost:${server.ports['2']}`, token)
    },
    async close() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
