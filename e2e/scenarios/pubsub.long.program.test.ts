// A small real pubsub run: each user's message returns, with and without a log.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { runSmall } from '../lab/testing.ts'
import { readCompressed } from '../report/render.ts'
import { pubsub } from './pubsub.ts'
import { figureAt } from './pubsub-paper.ts'

test('each user’s message returns, with and without a log', async (t) => {
  const flags = '--users 20 --brokers none,bare-file,embedded --iterations 2 --sessions 2 --warmup 0'
  const { summary, isFailure, out } = await runSmall(t, pubsub, flags)
  assert.equal(isFailure, false)
  assert.deepEqual(
    summary.figures
      .filter(({ measure }) => measure === 'meanMs')
      .map(({ at, expected, lost, duplicated }) => [at.broker, at.mode, expected, lost, duplicated]),
    ['none', 'bare-file', 'embedded'].flatMap((broker) =>
      ['websocket/1.1', 'sse/2'].map((mode) => [broker, mode, 40, 0, 0]),
    ),
  )
  // The log's envelope and acknowledgement are larger than a relay's message.
  const [bare, stored] = ['none', 'embedded'].map((broker) => {
    const place = { broker, users: 20, mode: 'websocket/1.1' }
    return figureAt(summary, 'bytesPerMessage', place)?.mean ?? Number.NaN
  })
  assert.ok(bare !== undefined && stored !== undefined && bare > 200 && stored > bare)
  const rows = (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n')
  assert.equal(rows.length, 1 + 2 * 3 * 2)
})
