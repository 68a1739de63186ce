// The log on a real Redis server, which this file starts and stops.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { createClient } from '@redis/client'
import { startRedisServer, type TestRedis } from '../../scripts/redis-server.ts'
import type { LogLimits, LogParts } from '../log/log.ts'
import { testLogContract } from '../log/log-contract.ts'
import { type ModelledLog, testModel } from '../log/log-model-contract.ts'
import {
  ampleLimits,
  countTo,
  draft,
  fill,
  idsOf,
  main,
  seqsOf,
  startMs,
  toyTypes,
} from '../log/log-testing.ts'
import { testPersistence } from '../log/persistence-contract.ts'
import { openWatched, testSharedLog } from '../log/shared-log-contract.ts'
import { testStore } from '../log/store-contract.ts'
import { redis } from './index.ts'
import { appenderFor, openRedisLog } from './redis-testing.ts'

let server: TestRedis
before(async () => {
  server = await startRedisServer()
})
after(() => server?.stop())

let logs = 0
function newPrefix(): string {
  logs += 1
  return `log${logs}`
}

const open = (prefix: string, parts: LogParts) => openRedisLog(server.url, prefix, parts)

testStore('redis', () => redis({ url: server.url, prefix: newPrefix() }))

testLogContract('redis', async (parts) => (await open(newPrefix(), parts)).log)

testModel(
  'redis',
  (first) => {
    const prefix = newPrefix()
    async function openOne(parts: LogParts): Promise<ModelledLog> {
      const { log } = await open(prefix, parts)
      return { log, reopen: openOne, isShared: true }
    }
    return openOne(first)
  },
  10,
)

testSharedLog('redis', open, { kill: () => server.kill(), restart: () => server.restart() })

const ample = {
  limits: { ...ampleLimits, messages: 100_000, bytes: 1e9 },
  typeOf: toyTypes(),
  now: () => startMs,
  onFailure: assert.ifError,
}

testPersistence('redis', () => {
  const prefix = newPrefix()
  return {
    open: async () => (await open(prefix, ample)).log,
    appender: appenderFor(server.url, prefix),
    isShared: true,
  }
})

const openLog = (context: TestContext, prefix: string, limits?: Partial<LogLimits>) =>
  openWatched(context, (parts) => open(prefix, parts), limits)

/** Another program that uses the server. */
async function connect(context: TestContext, { url } = server) {
  const client = createClient({ url, RESP: 2 })
  // The server may be killed first.
  client.on('error', () => undefined)
  await client.connect()
  context.after(() => client.isOpen && client.destroy())
  return (...command: string[]) => client.sendCommand(command)
}

test('keys that were erased begin another epoch', async (context) => {
  const prefix = newPrefix()
  const one = await openLog(context, prefix)
  const other = await openLog(context, prefix)
  await fill(one.log, 3)
  const { head } = await one.log.snapshot(main)
  const admin = await connect(context)
  await admin('DEL', `{${prefix}}:log`)
  assert.deepEqual(await Promise.all([one.lost, other.lost]), Array(2).fill('the log of Redis was deleted'))
  const next = await openLog(context, prefix)
  assert.equal(await next.log.append(draft('w2-1'), startMs), 1)
  assert.equal((await next.log.read(head, main)).recovered, false)
})

test('a log that lost its newest messages begins another epoch', async (context) => {
  const prefix = newPrefix()
  const one = await openLog(context, prefix)
  const other = await openLog(context, prefix)
  await fill(one.log, 5)
  await other.heard(5)
  const { head } = await one.log.snapshot(main)
  const admin = await connect(context)
  await admin('MULTI')
  for (const n of [3, 4, 5]) await admin('XDEL', `{${prefix}}:messages`, `${n}-0`)
  await admin('HSET', `{${prefix}}:log`, 'head', '2')
  await admin('EXEC')
  await Promise.all([one.lost, other.lost])
  assert.match([...one.losses, ...other.losses].join(), /^The log of Redis lost its newest messages/)
  const next = await openLog(context, prefix)
  const { recovered, head: now } = await next.log.read(head, main)
  assert.deepEqual([recovered, now.epoch === head.epoch, now.seq], [false, false, 2])
})

test('what the log has erased is no longer in Redis, and its keys can be used again', async (context) => {
  const prefix = newPrefix()
  const { log } = await openLog(context, prefix, { messages: 10 })
  await fill(log, 300)
  await log.close()
  const admin = await connect(context)
  const lengths = await Promise.all(
    [
      ['XLEN', `{${prefix}}:messages`],
      ['HLEN', `{${prefix}}:keys`],
      ['ZCARD', `{${prefix}}:channel:main`],
    ].map((command) => admin(...command)),
  )
  assert.ok(Number(lengths[0]) < 100, `${lengths}`)
  assert.equal(new Set(lengths.map(Number)).size, 1)
})

test('keys of another version are refused, with both versions', async (context) => {
  const prefix = newPrefix()
  await openLog(context, prefix)
  const admin = await connect(context)
  await admin('HSET', `{${prefix}}:log`, 'version', '9')
  await assert.rejects(open(prefix, ample), {
    message: `The log ${prefix} of Redis at 127.0.0.1:${server.port} has version 9; this server uses version 1. Use @crosswind/redis of the version that made it, or another prefix.`,
  })
})

test('a Redis that may erase keys by itself is refused, with the remedy', async (context) => {
  const full = await startRedisServer({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' })
  context.after(full.stop)
  await assert.rejects(openRedisLog(full.url, 'crosswind', ample), {
    message: /erases any keys when its memory is full \(maxmemory-policy allkeys-lru\): set noeviction/,
  })
})

test('a Redis whose memory is full refuses messages with its reason, and goes on when there is room', async (context) => {
  const full = await startRedisServer()
  context.after(full.stop)
  const { log, outage } = await openWatched(context, (parts) => openRedisLog(full.url, 'brim', parts))
  const admin = await connect(context, full)
  await fill(log, 2)
  await admin('CONFIG', 'SET', 'maxmemory', '1mb')
  await assert.rejects(async () => log.append(draft('w2-1'), startMs), {
    code: 'log-unavailable',
    message: /OOM/,
  })
  assert.match(outage?.()?.reason ?? '', /OOM/)
  await admin('CONFIG', 'SET', 'maxmemory', '0')
  assert.equal(await log.append(draft('w2-1'), startMs), 3)
  assert.equal(outage?.(), null)
})

test('a wrong password is refused at once', async (context) => {
  const closed = await startRedisServer({ requirepass: 'secret' })
  context.after(closed.stop)
  const url = closed.url.replace('//', '//:wrong@')
  await assert.rejects(openRedisLog(url, 'crosswind', ample), {
    message: /^Crosswind cannot use Redis at 127\.0\.0\.1:\d+: WRONGPASS/,
  })
})

test('notes reach the other servers, and after an interrupted connection the servers are told', async (context) => {
  const prefix = newPrefix()
  const one = await openLog(context, prefix)
  const other = await openLog(context, prefix)
  const notes = [{ n: 1 }, { n: 2, long: 'wïnd 🌬'.repeat(9000) }, { n: 3 }, { n: 3 }]
  const got: unknown[] = []
  const all = Promise.withResolvers<void>()
  const returned = Promise.withResolvers<void>()
  other.bus?.follow((note) => got.push(note) === notes.length && all.resolve(), returned.resolve)
  for (const note of notes) one.bus?.post(note)
  await all.promise
  assert.deepEqual(got, notes)
  const admin = await connect(context)
  await admin('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await returned.promise
  await fill(one.log, 2)
  await other.heard(2)
  assert.deepEqual([idsOf(other.seen), seqsOf(other.seen)], [['w1-1', 'w1-2'], countTo(2)])
})
