// Both contracts for each mode over HTTP/3: through the front, with Chromium as the client.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ensureCertificate } from '../../certs/certificate.ts'
import { freePort } from '../../scripts/open-port.ts'
import { processTimers } from '../../scripts/process.ts'
import { temporaryFolder } from '../../server/folder-testing.ts'
import { startHttp3Front } from '../../server/http3-front.ts'
import { startTestServer, type TestServer, testConfig } from '../../server/testing.ts'
import { windowModes } from '../../server/wire/modes.ts'
import { lacksFront, startHttp3Browser } from '../browser/http3-client.ts'
import { testTransportContract } from './transport-contract.ts'

/** One for each server, of which there is one for each test: Chromium is told all ports when it starts. */
const mostServers = 80
const { drainMs } = testConfig

const modes = windowModes.filter(({ isOverUdp }) => isOverUdp)

/** Starts Chromium, and fronts for it, all with one certificate. */
async function prepareFronts() {
  const tls = await ensureCertificate({ directory: temporaryFolder(), now: new Date() })
  const free = new Set<number>()
  while (free.size < mostServers) free.add(await freePort())
  const browser = await startHttp3Browser([...free], tls.cert)
  return {
    async front({ ports }: Pick<TestServer, 'ports'>) {
      const [port] = free
      assert.ok(port, `more than ${mostServers} servers were started`)
      free.delete(port)
      const at = { host: 'localhost', port, upstreamPort: ports['1.1'], drainMs }
      const caddy = await startHttp3Front({ ...at, ...tls }, processTimers)
      const origin = `https://localhost:${port}`
      const page = await browser.open(origin)
      return {
        origin,
        page,
        connect: () => page.connect(),
        async close() {
          await caddy.close()
          await page.close()
        },
      }
    },
    close: browser.close,
  }
}

describe('through the front', { skip: lacksFront }, () => {
  let fronts: Awaited<ReturnType<typeof prepareFronts>>
  let server: TestServer
  let fronted: Awaited<ReturnType<typeof fronts.front>>
  before(async () => {
    fronts = await prepareFronts()
    server = await startTestServer({ limits: { ...testConfig.limits, maxChannels: 1000, maxWindows: 1000 } })
    fronted = await fronts.front(server)
  })
  after(async () => {
    await server.close()
    await fronted.close()
    await fronts.close()
  })

  for (const mode of modes.filter(({ name }) => name === 'sse/3'))
    describe(mode.name, () => {
      testTransportContract(mode, () => {
        const { origin, connect } = fronted
        return { origin, connect, maxMessageBytes: testConfig.limits.maxMessageBytes, editor: 'shared' }
      })
    })

  test('every answer of the suites came over HTTP/3', async () => {
    assert.deepEqual(await fronted.page.protocols(), ['h3'])
  })
})
