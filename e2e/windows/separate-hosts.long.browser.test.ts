// Several machines: hosts in network namespaces with wrong clocks, one behind a known delay.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { measureOnHosts, whyNoHosts } from './separate-hosts.ts'
import { browserName } from './stage.ts'

const reason = browserName === 'chromium' ? await whyNoHosts() : 'runs once, in Chromium'

test('the measurement finds a delay added between two hosts with wrong clocks', {
  skip: reason ?? false,
}, async (t) => {
  const folder = temporaryFolder(t)
  const addedMs = 40
  const { delays, boundMs, near, far, summary } = await measureOnHosts({
    addedMs,
    wrongMs: { near: -3000, far: 70_000 },
    flags: ['--sessions', '1', '--blocks', '1', '--windows', '1', '--keys', '40', '--modes', 'websocket/1.1'],
    out: join(folder, 'report'),
  })
  const [found] = delays
  assert.ok(found && delays.length === 1)
  t.diagnostic(`${found.addedMs.toFixed(1)} ms of ${addedMs} ms added, ± ${boundMs.toFixed(1)} ms`)
  assert.equal(summary.clock, 'server exchange')
  for (const { n, lost, missed } of [near, far]) assert.deepEqual([n, lost, missed], [40, 0, []])
  // No exchange over a round trip of 80 ms can bound its clock closer.
  assert.ok(far.boundMs >= addedMs && near.boundMs < far.boundMs)
  assert.ok(Math.abs(found.addedMs - addedMs) <= boundMs, JSON.stringify(found))
  // Both directions are equal, so the exchanges’ midpoint is right: mistaking one direction for the
  // other would be 40 ms off.
  assert.ok(Math.abs(found.addedMs - addedMs) < addedMs / 2, JSON.stringify(found))
})
