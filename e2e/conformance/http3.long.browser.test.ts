// Both contracts for each mode over HTTP/3: through the front, with Chromium as the client.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { windowModes } from '../../protocol/modes.ts'
import { type Fronts, lacksFront, startFronts } from './http3-fronts.ts'
import { testServerContract } from './server-contract.ts'
import { testTransportContract } from './transport-contract.ts'

const fronts = lacksFront ? null : await startFronts()
const passesStreams = await fronts?.passesStreams()
after(() => fronts?.close())

describe('each mode over HTTP/3', { skip: lacksFront }, () => {
  const { front } = fronts as Fronts
  const { maxMessageBytes } = testConfig.limits
  let server: TestServer
  let fronted: Awaited<ReturnType<typeof front>>
  before(async () => {
    server = await startTestServer({ limits: { ...testConfig.limits, maxChannels: 1000, maxWindows: 1000 } })
    fronted = await front(server.ports['1.1'])
  })
  after(async () => {
    await server.close()
    await fronted.close()
  })

  for (const mode of windowModes.filter(({ isOverUdp }) => isOverUdp)) {
    const skip = mode.uplink === 'streamed' && !passesStreams && 'this Caddy drops streamed requests'
    describe(mode.name, { skip }, () => {
      testTransportContract(mode, () => {
        const { origin, connect } = fronted
        return { origin, connect, maxMessageBytes, isApplication: false }
      })
      testServerContract(mode, ({ ports }) => front(ports['1.1']))
    })
  }

  test('every answer of the suites came over HTTP/3', async () => {
    assert.deepEqual(await fronted.protocols(), ['h3'])
  })
})
