// A replica of Redis is promoted after its master was killed; servers know both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@redis/client'
import { startRedisServer } from '../../scripts/redis-server.ts'
import { draft, fill, main } from '../log/log-testing.ts'
import { appendUntilStored, manyMessages, openWatched } from '../log/shared-log-contract.ts'
import { openRedisLog } from './redis-testing.ts'

test('a replica that is promoted without the newest messages begins another epoch, and the loss is reported', {
  timeout: 120_000,
}, async (context) => {
  const master = await startRedisServer()
  context.after(master.stop)
  const replica = await startRedisServer({ replicaof: `127.0.0.1 ${master.port}` })
  context.after(replica.stop)
  const open = () =>
    openWatched(
      context,
      (parts) => openRedisLog([master.url, replica.url], 'crosswind', parts),
      manyMessages,
      () => undefined,
    )
  const run = async (url: string, ...command: string[]) => {
    const client = await createClient({ url, RESP: 2 }).connect()
    try {
      return await client.sendCommand(command)
    } finally {
      client.destroy()
    }
  }
  const one = await open()
  await fill(one.log, 20)
  // Resolves when the replica has them.
  assert.equal(await run(master.url, 'WAIT', '1', '0'), 1)
  const { head } = await one.log.snapshot(main)
  // From here on it receives nothing; the servers still use the master.
  await run(replica.url, 'REPLICAOF', 'NO', 'ONE')
  await fill(one.log, 5, 'w2')
  await master.kill()
  assert.equal(await one.lost, 'the log of Redis lost its newest messages')
  assert.equal(one.losses.length, 1)
  const next = await open()
  const { head: now } = await next.log.snapshot(main)
  assert.deepEqual([now.epoch === head.epoch, now.seq], [false, 20])
  assert.equal(await appendUntilStored(next.log, draft('w2-1')), 21)
})
