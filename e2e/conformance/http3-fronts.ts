// Fronts for servers of tests, and Chromium as their client.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:https'
import { Readable } from 'node:stream'
import { startHttp3Front } from '../../app/http3-front.ts'
import { ensureCertificate } from '../../certs/certificate.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { processTimers } from '../../scripts/process.ts'
import { startHttp3Browser } from '../browser/http3-client.ts'
import { textOf } from '../clients/http-client.ts'
import { findFreePorts } from '../lab/server-process.ts'

/** The program, besides Chromium, that tests of HTTP/3 need and do not find; else false. */
export const lacksFront: string | false = spawnSync('caddy', ['version']).status !== 0 && 'needs caddy'

/** Each server has its own front, and Chromium must know all their ports when it starts. */
const maxFronts = 100

export type Fronts = Awaited<ReturnType<typeof startFronts>>

/** One Chromium and one certificate for all fronts of a file. */
export async function startFronts() {
  const tls = await ensureCertificate({ directory: temporaryFolder(), now: new Date() })
  const free = new Set<number>()
  while (free.size < maxFronts) for (const port of Object.values(await findFreePorts())) free.add(port)
  const browser = await startHttp3Browser([...free], tls.cert)

  async function front(upstreamPort: number) {
    const [port] = free
    assert.ok(port, `more than ${maxFronts} fronts were started`)
    free.delete(port)
    const caddy = await startHttp3Front({ host: 'localhost', port, upstreamPort, ...tls }, processTimers)
    const origin = `https://localhost:${port}`
    try {
      const page = await browser.open(origin)
      return {
        origin,
        connect: () => page.connect(),
        protocols: () => page.protocols(),
        /** After the server. */
        async close(): Promise<void> {
          await caddy.close()
          await page.close()
        },
      }
    } catch (error) {
      await caddy.close()
      throw error
    }
  }

  return {
    front,
    /** Caddy 2.6 drops a request's body over HTTP/3 if its length is not known. */
    async passesStreams(): Promise<boolean> {
      const server = createServer(tls, async (request, response) => response.end(await textOf(request)))
      const { connect, close } = await front(await openPort(server))
      try {
        const { body } = await connect().ask({ method: 'POST', path: '/', body: Readable.from(['streamed']) })
        return (await textOf(body)) === 'streamed'
      } finally {
        server.close()
        await close()
      }
    },
    close: browser.close,
  }
}

/** See `passesStreams`. */
export async function caddyPassesStreams(): Promise<boolean> {
  const fronts = await startFronts()
  try {
    return await fronts.passesStreams()
  } finally {
    await fronts.close()
  }
}
