// A small real run over NATS, whose server this test starts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { pubsub } from './pubsub.ts'

test('each user’s message returns over NATS, through Crosswind and through the bare relay', async (t) => {
  const flags = '--users 20 --brokers bare-nats,nats --iterations 2 --sessions 1 --warmup 0'
  const { summary, isFailure } = await runSmall(t, pubsub, flags)
  assert.equal(isFailure, false)
  assert.deepEqual(
    summary.figures
      .filter(({ measure }) => measure === 'meanMs')
      .map(({ at, expected, lost, duplicated }) => [at.broker, at.mode, expected, lost, duplicated]),
    ['bare-nats', 'nats'].flatMap((broker) =>
      ['websocket/1.1', 'sse/2'].map((mode) => [broker, mode, 40, 0, 0]),
    ),
  )
  assert.match(String(summary.parameters.nats), /^nats-server \d/)
})
