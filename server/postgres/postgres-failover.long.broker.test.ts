// A standby of PostgreSQL is promoted after its primary was killed; servers know both.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startPostgresServer } from '../../scripts/postgres-server.ts'
import { countTo, draft, fill, main, readAll, seqsOf } from '../log/log-testing.ts'
import { appendUntilStored, manyMessages, openWatched } from '../log/shared-log-contract.ts'
import { openPostgresLog } from './postgres-testing.ts'

const options = { timeout: 120_000 }

async function startPair(context: TestContext, more: string) {
  const primary = await startPostgresServer(more)
  context.after(primary.stop)
  const standby = await primary.startStandby('one')
  context.after(standby.stop)
  const open = () =>
    openWatched(
      context,
      (parts) => openPostgresLog([primary.url, standby.url], 'crosswind', parts),
      manyMessages,
      () => undefined,
    )
  return { primary, standby, open }
}

test(
  'a synchronous standby that is promoted has every acknowledged message, once and in order',
  options,
  async (context) => {
    const { primary, standby, open } = await startPair(context, "synchronous_standby_names = 'one'")
    const one = await open()
    const other = await open()
    await fill(one.log, 20)
    const acknowledged: number[] = []
    const writing = (async () => {
      for (const n of countTo(200)) acknowledged.push(await appendUntilStored(one.log, draft(`w2-${n}`)))
    })()
    await other.heard(70)
    await primary.kill()
    standby.promote()
    await writing
    await other.heard(220)
    assert.deepEqual(
      acknowledged,
      countTo(200).map((n) => n + 20),
    )
    assert.deepEqual(seqsOf(other.seen), countTo(220))
    const { head } = await one.log.snapshot(main)
    const { messages } = await readAll((await open()).log, { ...head, seq: 0 }, main)
    assert.deepEqual([messages, one.losses], [one.seen, []])
  },
)

test(
  'a standby that is promoted without the newest messages begins another epoch, and the loss is reported',
  options,
  async (context) => {
    const { primary, standby, open } = await startPair(context, '')
    const one = await open()
    await fill(one.log, 20)
    const { head } = await one.log.snapshot(main)
    await standby.kill()
    await fill(one.log, 5, 'w2')
    await primary.kill()
    await standby.restart()
    standby.promote()
    assert.equal(await one.lost, 'the log of PostgreSQL lost its newest messages')
    assert.equal(one.losses.length, 1)
    const next = await open()
    const { head: now } = await next.log.snapshot(main)
    assert.notEqual(now.epoch, head.epoch)
    assert.ok(now.seq <= 20, `${now.seq}`)
  },
)
