// Both contracts on an application's servers, whose own routes and WebSocket keep working.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defaultConfig } from '../../app/config/config.ts'
import { modes } from '../../protocol/modes.ts'
import { type Application, startApplication, visitOwnRoutes } from './application.ts'
import { reachDirectly } from './contract-client.ts'
import { testServerContract } from './server-contract.ts'
import { testTransportContract } from './transport-contract.ts'

const { maxMessageBytes } = defaultConfig.limits

describe('on an application’s servers', () => {
  let application: Application
  let ownRoutes: Awaited<ReturnType<typeof visitOwnRoutes>>
  before(async () => {
    application = await startApplication()
    ownRoutes = await visitOwnRoutes(application)
  })
  after(() => application.close())

  for (const mode of modes)
    describe(mode.name, () =>
      testTransportContract(mode, () => ({
        ...reachDirectly(application, mode),
        maxMessageBytes,
        isApplication: true,
      })),
    )

  test('the application’s own routes and WebSocket answered all the while', async (t) => {
    const { rounds, slowestMs } = await ownRoutes.finish()
    t.diagnostic(`${rounds} rounds, the slowest ${slowestMs.toFixed(0)} ms`)
    assert.ok(rounds > 0)
  })
})

for (const mode of modes)
  describe(`${mode.name}, on an application’s server of its own`, () =>
    testServerContract(mode, (application) => reachDirectly(application, mode), true))
