// Both contracts for each mode: the transport's, and that of servers that fill, drain or restart.

import { after, before, describe } from 'node:test'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { modes } from '../../protocol/modes.ts'
import { reachDirectly } from './contract-client.ts'
import { testServerContract } from './server-contract.ts'
import { testTransportContract } from './transport-contract.ts'

let server: TestServer | null = null
before(async () => {
  // Each test has channels and windows of its own.
  server = await startTestServer({ limits: { ...testConfig.limits, maxChannels: 1000, maxWindows: 1000 } })
})
after(() => server?.close())

// The tests wait more than they work.
describe('each mode', { concurrency: 3 }, () => {
  for (const mode of modes)
    describe(mode.name, { concurrency: 1 }, () => {
      testTransportContract(mode, () => {
        if (!server) throw new Error('The server has not started.')
        return { ...reachDirectly(server, mode), maxMessageBytes: 64 * 1024, isApplication: false }
      })
      testServerContract(mode, (started) => reachDirectly(started, mode))
    })
})
