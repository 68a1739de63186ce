// Entry point of a process of its own: the test server with that configuration, so that its memory is its alone.
// `node flooded-server.ts CONFIG`: CONFIG is JSON, any part of the configuration.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startTestServer, testConfig } from '../../../server/testing.ts'

const { limits, ...change } = JSON.parse(process.argv[2] ?? '{}')
const server = await startTestServer({ ...change, limits: { ...testConfig.limits, ...limits } })

// Without this what is left over cannot be told from what was not collected yet.
setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

process.on('message', () => {
  collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send?.({ type: 'memory', rss, heapUsed, external })
})
process.once('disconnect', () => server.close())
process.send?.({ type: 'ready', ports: server.ports, ca: server.ca })
