// The log behind a queue, on a real SQS server, which this file starts and stops.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { openStranger, startSqsServer, startThief, type TestSqs } from '../../scripts/sqs-server.ts'
import type { Log } from './log.ts'
import { testLogContract } from './log-contract.ts'
import {
  ampleLimits,
  countTo,
  draft,
  given,
  idsOf,
  main,
  newFile,
  readAll,
  startMs,
  toyTypes,
} from './log-testing.ts'
import { createMemoryLog } from './memory-log.ts'
import { testPersistence } from './persistence-contract.ts'
import { openSqliteLog } from './sqlite-log.ts'
import { SqsLog, type SqsSettings } from './sqs-log.ts'
import { sqsAppenderFor } from './sqs-testing.ts'

let sqs: TestSqs
before(async () => {
  sqs = await startSqsServer()
})
after(() => sqs.stop())

let queues = 0
const newSettings = (change: Partial<SqsSettings> = {}) => {
  queues += 1
  return { ...sqs.settings(`test${queues}`), ...change }
}

const random = createSeededRandom(3)

testLogContract('sqs', async (parts) => {
  const log = createMemoryLog({ epoch: 'life1', ...parts })
  return SqsLog.open(newSettings(), { log, random, ...parts })
})

testPersistence('sqs, sqlite', (context) => {
  const file = newFile(context)
  const settings = newSettings()
  const limits = { ...ampleLimits, messages: 1_000_000, bytes: 1e9 }
  const parts = { ...given, limits, file }
  const open = () => SqsLog.open(settings, { ...parts, log: openSqliteLog(parts) })
  return { open, appender: sqsAppenderFor(settings, file) }
})

interface Change {
  readonly own?: Log
  readonly failures?: unknown[]
}

/**
 * A server's log behind the queue, with the messages that its followers received and a clock that
 * stands still.
 */
async function openBehind(context: TestContext, settings: SqsSettings, { own, failures }: Change = {}) {
  let time = startMs
  const onFailure = (error: unknown) => {
    if (!failures) throw error
    failures.push(error)
  }
  const parts = { typeOf: toyTypes(), now: () => time, random, onFailure }
  const inner = own ?? createMemoryLog({ epoch: 'life1', limits: ampleLimits, ...parts })
  const log = await SqsLog.open(settings, { ...parts, log: inner })
  const { outage } = log
  const queued = () => log.queued()
  context.after(() => log.close())
  const seen: Message[] = []
  let onHeard = () => undefined as unknown
  log.follow((message) => {
    seen.push(message)
    onHeard()
  })
  const advance = (byMs: number) => {
    time += byMs
  }
  /** Resolves when this many messages were received. */
  const heard = (count: number) =>
    new Promise<void>((resolve) => {
      onHeard = () => seen.length >= count && resolve()
      onHeard()
    })
  return { log, outage, queued, seen, heard, advance }
}

async function strangerAt(context: TestContext, settings: SqsSettings) {
  const stranger = await openStranger(settings)
  context.after(stranger.close)
  return stranger
}

/** As a server sends it. */
const bodyOf = (...ids: string[]) => JSON.stringify(ids.map((id) => ({ ...draft(id), acceptedAt: startMs })))

/** Opens the queue and abandons it, like a stopped server. */
async function makeQueue(context: TestContext) {
  const settings = newSettings()
  const { log } = await openBehind(context, settings)
  await log.close()
  return settings
}

/** Resolves when the queue is empty, including received messages. */
async function untilEmpty(stranger: { readonly size: () => Promise<number> }): Promise<void> {
  const late = AbortSignal.timeout(10_000)
  while ((await stranger.size()) > 0) late.throwIfAborted()
}

test('drafts sent by many senders at once arrive once each, and those of one sender in order', async (context) => {
  const settings = newSettings()
  const { log, seen } = await openBehind(context, settings)
  const senders = countTo(40).map((n) => `s${n}`)
  const write = async (from: string) => {
    for (const n of countTo(3))
      await Promise.all(['a', 'b'].map((part) => log.append({ ...draft(`${n}${part}`), from }, startMs)))
  }
  await Promise.all(senders.map(write))
  for (const sender of senders)
    assert.deepEqual(idsOf(seen.filter(({ from }) => from === sender)), ['1a', '1b', '2a', '2b', '3a', '3b'])
  await untilEmpty(await strangerAt(context, settings))
})

test('a sender has one message in the queue, and what it appends meanwhile follows in the next', async (context) => {
  const settings = newSettings()
  const inner = createMemoryLog({ ...given, epoch: 'life1' })
  const gate = Promise.withResolvers<void>()
  const reached = new Map(['w1-1', 'w2-1'].map((id) => [id, Promise.withResolvers<void>()]))
  const own: Log = {
    ...inner,
    async append(one, acceptedAt) {
      reached.get(one.id)?.resolve()
      await gate.promise
      return inner.append(one, acceptedAt)
    },
  }
  const { log, seen } = await openBehind(context, settings, { own })
  const stranger = await strangerAt(context, settings)
  const first = log.append(draft('w1-1'), startMs)
  await reached.get('w1-1')?.promise
  const more = ['w1-2', 'w1-3'].map((id) => log.append(draft(id), startMs))
  const other = log.append({ ...draft('w2-1'), from: 'w2' }, startMs)
  await reached.get('w2-1')?.promise
  assert.equal(await stranger.size(), 2, 'the first ones of both senders')
  gate.resolve()
  await Promise.all([first, ...more, other])
  assert.deepEqual(idsOf(seen.filter(({ from }) => from === 'w1')), ['w1-1', 'w1-2', 'w1-3'])
})

test('a received message that is not deleted arrives again and is stored once', async (context) => {
  const settings = await makeQueue(context)
  const stranger = await strangerAt(context, settings)
  const { log, seen, heard } = await openBehind(context, settings)
  // As if a server stored it and ended before deleting it.
  for (const _twice of [1, 2]) await stranger.send(bodyOf('w1-1', 'w1-2'))
  await heard(2)
  await untilEmpty(stranger)
  assert.deepEqual(idsOf(seen), ['w1-1', 'w1-2'])
  assert.equal(await log.append(draft('w1-2'), startMs), 2)
})

test('messages taken by another consumer arrive again after the visibility time-out, and their senders are answered', async (context) => {
  const settings = newSettings()
  const { log, seen } = await openBehind(context, settings)
  const thief = await startThief(settings)
  const appends: Promise<number>[] = []
  for (let n = 1; thief.taken() < 5 && n <= 500; n += 1) {
    appends.push(log.append({ ...draft(`x-${n}`), from: `s${n}` }, startMs))
    await Promise.race([appends.at(-1), thief.next()])
  }
  await thief.stop()
  assert.ok(thief.taken() >= 5, `the thief took ${thief.taken()}`)
  const seqs = await Promise.all(appends)
  assert.deepEqual(
    seqs.toSorted((a, b) => a - b),
    countTo(appends.length),
  )
  assert.equal(new Set(idsOf(seen)).size, appends.length)
})

test('messages left in the queue by an earlier run are stored at the next start', async (context) => {
  const settings = await makeQueue(context)
  const stranger = await strangerAt(context, settings)
  await stranger.send(bodyOf('w1-1', 'w1-2'))
  const thief = await startThief(settings, 1)
  await thief.done
  const { log, seen, heard } = await openBehind(context, settings)
  await heard(2)
  assert.deepEqual(idsOf(seen), ['w1-1', 'w1-2'])
  const { messages } = await readAll(log, { epoch: 'life1', seq: 0 }, main)
  assert.deepEqual(messages, seen)
  await thief.stop()
})

test('invalid messages become dead letters and harm nobody', async (context) => {
  const settings = newSettings({ maxReceives: 1 })
  const { log, seen, queued } = await openBehind(context, settings)
  const stranger = await strangerAt(context, settings)
  const dead = await strangerAt(context, { ...settings, queue: `${settings.queue}-dead` })
  const garbage = ['no JSON', '{}', '[]', '[{"id":"x"}]', `[${JSON.stringify(draft('w1-1'))}]`]
  for (const body of garbage) await stranger.send(body)
  assert.equal(await log.append(draft('w1-1'), startMs), 1)
  const found: string[] = []
  const late = AbortSignal.timeout(20_000)
  while (found.length < garbage.length && !late.aborted) found.push(...(await dead.receive()))
  assert.deepEqual(found.toSorted(), garbage.toSorted())
  assert.equal((await queued()).dead, garbage.length)
  assert.deepEqual(idsOf(seen), ['w1-1'])
})

test('a refusal by the log reaches the sender unchanged, and nothing stays in the queue', async (context) => {
  const settings = newSettings({ maxReceives: 1000 })
  const { log, seen } = await openBehind(context, settings)
  await log.append(draft('w1-1'), startMs)
  await assert.rejects(log.append(draft('w1-1', 'else'), startMs), { code: 'id-taken' })
  await untilEmpty(await strangerAt(context, settings))
  assert.deepEqual(idsOf(seen), ['w1-1'])
})

test('characters that XML cannot contain pass through the queue', async (context) => {
  const { log, seen } = await openBehind(context, newSettings())
  const html = '\u0000\u000b\u001f\ufffe\uffff\ud800 é€😀\u2028'
  await log.append(draft('w1-1', html), startMs)
  assert.deepEqual(seen[0]?.body, { html })
})

test('when a message does not arrive, its sender gets an error, and everything queued behind it fails too', async (context) => {
  const settings = newSettings({ visibilitySeconds: 600 })
  const { log, seen, advance } = await openBehind(context, settings)
  const thief = await startThief(settings)
  context.after(() => thief.stop())
  let count = 0
  let stolen = Promise.resolve(0)
  while (thief.taken() === 0 && count < 500) {
    count += 1
    stolen = log.append(draft(`w1-${count}`), startMs)
    await Promise.race([stolen, thief.next()])
  }
  const behind = log.append(draft('behind'), startMs)
  advance(606_000)
  await Promise.all([stolen, behind].map((append) => assert.rejects(append, { code: 'log-unavailable' })))
  assert.equal(seen.length, count - 1)
})

test('while the queue is away an append is refused, and stored when it is repeated', async (context) => {
  const settings = newSettings()
  const failures: unknown[] = []
  const { log, outage } = await openBehind(context, settings, { failures })
  assert.equal(await log.append(draft('w1-1'), startMs), 1)
  await sqs.kill()
  const appends = ['w1-2', 'w1-3'].map((id) => log.append(draft(id), startMs))
  await Promise.all(appends.map((append) => assert.rejects(append, { code: 'log-unavailable' })))
  assert.match(outage()?.reason ?? '', /queue/)
  await sqs.restart()
  // The first one may discover that the queue is lost.
  await log.append(draft('w1-2'), startMs).catch(() => undefined)
  const again = ['w1-2', 'w1-3'].map((id) => log.append(draft(id), startMs))
  assert.deepEqual(await Promise.all(again), [2, 3])
  assert.equal(outage(), null)
})

test('closing answers what is in progress and closes the log', async (context) => {
  const settings = newSettings()
  const { log } = await openBehind(context, settings)
  const appends = countTo(30).map((n) => log.append({ ...draft('x'), from: `s${n}` }, startMs))
  await log.close()
  assert.equal(new Set(await Promise.all(appends)).size, 30)
  await untilEmpty(await strangerAt(context, settings))
})

test('without a server or without credentials, the start fails with a sentence', async (context) => {
  const refused = (change: Partial<SqsSettings>, sentence: RegExp) => {
    const log = createMemoryLog({ ...given, epoch: 'life1' })
    return assert.rejects(SqsLog.open(newSettings(change), { ...given, log }), sentence)
  }
  await refused(
    { endpoint: 'http://127.0.0.1:1' },
    /^Error: No SQS server answers at http:\/\/127\.0\.0\.1:1 \(sqs\.endpoint\): .*ECONNREFUSED/,
  )
  const known = { ...process.env }
  context.after(() => void Object.assign(process.env, known))
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  // Nor are there any in files or from EC2.
  Object.assign(process.env, { AWS_EC2_METADATA_DISABLED: 'true', HOME: '/none' })
  await refused({}, /^Error: There are no credentials for SQS at http.* Set AWS_ACCESS_KEY_ID and/)
})
