// A small real run over NATS, whose server this starts itself.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pubsubRun } from './pubsub.ts'
import { readPubsubOptions } from './scenario-options.ts'

test('each user’s message comes back over NATS, through Crosswind and through the bare relay', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-pubsub-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const flags = ['--users', '20', '--brokers', 'bare-nats,nats', '--iterations', '2', '--sessions', '1']
  const options = readPubsubOptions([...flags, '--warmup', '0', '--out', join(folder, 'report')])
  const { summary, isFailure } = await pubsubRun(options, 'test', t.signal)
  assert.equal(isFailure, false)
  assert.deepEqual(
    summary.groups.map(({ mode, broker, n, duplicated }) => [mode, broker, n, duplicated]),
    ['websocket/1.1', 'sse/2'].flatMap((mode) =>
      ['bare-nats', 'nats'].map((broker) => [mode, broker, 40, 0]),
    ),
  )
  assert.match(summary.brokerVersions.nats ?? '', /^nats-server \d/)
})
