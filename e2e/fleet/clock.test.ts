// Exchanges over real sockets: the server is in this process, so that the true offset is nought.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../server/testing.ts'
import { checkClocks, followClock } from '../lab/clock.ts'
import { exchangeWithServer } from './clock.ts'

test('a clock that is the server’s own is found to be right, within the bound', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  for (const origin of Object.values(server.origin)) {
    const clock = followClock('client', (times) => exchangeWithServer(origin, server.ca, times))
    for (let checks = 0; checks < 3; checks += 1) {
      const [checked] = await checkClocks([clock], { mostBoundMs: 1000 })
      assert.ok(checked && Math.abs(checked.offsetMs) <= checked.boundMs)
      t.diagnostic(`${checked.offsetMs.toFixed(3)} ms ± ${checked.boundMs.toFixed(3)} ms`)
    }
  }
})

test('a server that does not say its time is named', async (t) => {
  const server = await startTestServer({ access: 'invited' })
  t.after(() => server.close())
  await assert.rejects(exchangeWithServer(server.origin['2'], server.ca, 1), /\/api\/clock answered 401/)
})
