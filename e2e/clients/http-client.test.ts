// Clock exchanges over real sockets with a server in this process: the true offset is zero.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../app/testing.ts'
import { checkClocks, followClock } from '../lab/clock.ts'
import { exchangeWithServer } from './http-client.ts'

test("the server's own clock has an offset within the bound", async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  for (const origin of Object.values(server.origin)) {
    const clock = followClock('client', (times) => exchangeWithServer(origin, server.ca, times))
    for (let checks = 0; checks < 3; checks += 1) {
      const [checked] = await checkClocks([clock])
      assert.ok(checked && Math.abs(checked.offsetMs) <= checked.boundMs)
      t.diagnostic(`${checked.offsetMs.toFixed(3)} ms ± ${checked.boundMs.toFixed(3)} ms`)
    }
  }
})

test('a refusal includes the path and the status', async (t) => {
  const server = await startTestServer({ access: 'invited' })
  t.after(() => server.close())
  await assert.rejects(exchangeWithServer(server.origin['2'], server.ca, 1), /\/api\/clock answered 401/)
})
