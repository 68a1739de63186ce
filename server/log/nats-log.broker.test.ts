// The log on a real NATS server, which this file starts and stops.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { Objm } from '@nats-io/obj'
import type { SubscriptionOptions } from '@nats-io/transport-node'
import type { Message } from '../../protocol/messages.ts'
import { startNatsServer, type TestNats } from '../../scripts/nats-server.ts'
import { foldAt } from './folding.ts'
import type { LogLimits, LogParts } from './log.ts'
import { testLogContract } from './log-contract.ts'
import { type ModelledLog, testModel } from './log-model-contract.ts'
import {
  ampleLimits,
  cursorAt,
  draft,
  fill,
  fillUpdates,
  idsOf,
  main,
  readUpdates,
  seqsOf,
  startMs,
  toyTypes,
} from './log-testing.ts'
import { connectToNats } from './nats-connection.ts'
import { NatsLog } from './nats-log.ts'
import { openWatched, testSharedLog } from './shared-log-contract.ts'

let nats: TestNats
before(async () => {
  nats = await startNatsServer()
})
after(() => nats.stop())

const fail = (error: unknown) => assert.fail(String(error))

let streams = 0

const natsParts = { replicas: 0, typeOf: toyTypes() }

testLogContract('nats', async (parts, context) => {
  streams += 1
  const connection = await nats.connect()
  context.after(() => connection.close())
  return NatsLog.open({ ...natsParts, ...parts, connection, name: `contract${streams}` })
})

testModel(
  'nats',
  (first, context) => {
    streams += 1
    const name = `model${streams}`
    async function open(parts: LogParts): Promise<ModelledLog> {
      const connection = await nats.connect()
      context.after(() => connection.close())
      const log = await NatsLog.open({ ...natsParts, ...parts, connection, name })
      return { log, reopen: open, isShared: true, isOrderedBySender: true }
    }
    return open(first)
  },
  25,
)

/** A server's log. Opened again under one name, it is another server's, or the same after a restart. */
async function openLog(
  context: TestContext,
  name: string,
  limits: Partial<LogLimits> = {},
  onFailure: (error: unknown) => void = assert.ifError,
) {
  // Closed last.
  const connection = await nats.connect()
  context.after(() => connection.close())
  const open = async (parts: LogParts) => {
    const log = await NatsLog.open({ ...natsParts, ...parts, connection, name })
    return { log, outage: log.outage, lost: log.lost }
  }
  return { ...(await openWatched(context, open, limits, onFailure)), connection }
}

testSharedLog(
  'nats',
  async (name, parts, context) => {
    const connection = await nats.connect()
    context.after(() => connection.close())
    const log = await NatsLog.open({ ...natsParts, ...parts, connection, name })
    return { log, outage: log.outage, lost: log.lost }
  },
  { kill: () => nats.kill(), restart: () => nats.restart() },
)

test('a server that starts while another one replaces an object waits for the new one, and says so', async (context) => {
  const first = await openLog(context, 'replaced')
  const text = await fillUpdates(first.log, foldAt.messages + 10)
  await first.log.close()
  const { streams } = await jetstreamManager(first.connection)
  const bucket = await new Objm(first.connection).open('replaced-bases')
  const [base] = (await bucket.list()).filter(({ name }) => name.startsWith('base.'))
  const { name, nuid, metadata } = base ?? assert.fail('no base is stored')
  const content = (await bucket.getBlob(name)) ?? assert.fail('the base is empty')
  // As `putBlob` does after it has stored the new content.
  await streams.purge('OBJ_replaced-bases', { filter: `$O.replaced-bases.C.${nuid}` })
  const said = Promise.withResolvers<string>()
  const opening = NatsLog.open({
    ...natsParts,
    connection: first.connection,
    name: 'replaced',
    limits: ampleLimits,
    now: () => startMs,
    print: said.resolve,
    onFailure: assert.ifError,
  })
  assert.equal(
    await said.promise,
    `Waiting for the messages of the stream replaced: the object ${name} does not arrive.`,
  )
  await bucket.putBlob({ name, ...(metadata && { metadata }) }, content)
  const log = await opening
  context.after(() => log.close())
  assert.equal((await readUpdates(log)).text, text)
})

test('documents of a deleted stream are not mixed with those of the next one', async (context) => {
  const first = await openLog(context, 'again')
  await fillUpdates(first.log, foldAt.messages + 10)
  await first.log.close()
  const { streams } = await jetstreamManager(first.connection)
  await streams.delete('again')
  const { log } = await openLog(context, 'again')
  assert.equal((await readUpdates(log)).text, '')
  const text = await fillUpdates(log, foldAt.messages + 20, 'w2')
  await log.close()
  const later = await openLog(context, 'again')
  const read = await readUpdates(later.log)
  assert.equal(read.text, text)
  assert.ok(read.updates.length < 30, `${read.updates.length} are in no base`)
})

test('a stream that lost its newest messages continues with another epoch, and documents keep what was written since', async (context) => {
  const limits = { messages: 300 }
  // A base may be on its way to the bucket when NATS is killed.
  const open = () => openLog(context, 'back', limits, () => undefined)
  const author = await open()
  const one = await open()
  const other = await open()
  // The oldest are only in a base.
  const early = await fillUpdates(author.log, foldAt.messages + 400)
  await nats.kill()
  nats.save('back')
  await nats.restart()
  await fillUpdates(author.log, foldAt.messages + 400, 'w2')
  const { head: cursor } = await author.log.snapshot(main)
  await Promise.all([one.heard(cursor.seq), other.heard(cursor.seq)])
  // Its base in the bucket has the messages that the stream is about to lose.
  await author.log.close()
  await nats.kill()
  nats.setBack('back')
  await nats.restart()
  const reasons = await Promise.all([one.lost, other.lost])
  assert.deepEqual(new Set(reasons), new Set(['the stream back lost its newest messages']))
  assert.match([...one.losses, ...other.losses].join(), /^The stream back of NATS lost its newest messages/)
  await assert.rejects(async () => one.log.append(draft('w3-0'), startMs), { code: 'log-unavailable' })
  await Promise.all([one.log.close(), other.log.close()])

  const next = await open()
  const later = await open()
  const { recovered, head } = await next.log.read(cursor, main)
  assert.deepEqual([recovered, head.epoch === cursor.epoch], [false, false])
  assert.deepEqual((await later.log.snapshot(main)).head, head)
  const since = await fillUpdates(next.log, cursor.seq - head.seq + 10, 'w4')
  assert.equal((await next.log.read(cursor, main)).recovered, false)
  for (const { log } of [next, await open()]) {
    const { text } = await readUpdates(log)
    for (const word of `${early}${since}`.trim().split(' ')) assert.ok(text.includes(`${word} `), word)
  }
})

/**
 * A log on a stream of this name that skips the message `w1-2` once, and the messages that its
 * followers received.
 */
async function openSkipping(context: TestContext, name: string) {
  const connection = await nats.connect()
  let skipped = 0
  /** Its acknowledgement subject names the consumer, and counts what the consumer delivered (JetStream's `$JS.ACK`). */
  let consumer = ''
  const skipping = new Proxy(connection, {
    get(target, member) {
      const value = Reflect.get(target, member)
      if (member !== 'subscribe') return typeof value === 'function' ? value.bind(target) : value
      return (subject: string, options: SubscriptionOptions) =>
        target.subscribe(subject, {
          ...options,
          callback(error, message) {
            const ack = message.reply?.split('.') ?? []
            const isOfStream = message.subject.startsWith(`${name}.`)
            if (isOfStream && skipped === 0 && message.string().includes('"w1-2"')) {
              skipped += 1
              consumer = ack[3] ?? ''
            } else if (isOfStream && consumer === ack[3]) {
              const reply = ack.with(6, String(Number(ack[6]) - 1)).join('.')
              options.callback?.(error, Object.create(message, { reply: { value: reply } }))
            } else options.callback?.(error, message)
          },
        })
    },
  })
  const log = await NatsLog.open({
    ...natsParts,
    connection: skipping,
    name,
    limits: ampleLimits,
    now: () => startMs,
    onFailure: assert.ifError,
  })
  context.after(async () => {
    await log.close()
    await connection.close()
  })
  const seen: Message[] = []
  log.follow((message) => seen.push(message))
  return { log, seen, skipped: () => skipped }
}

test('a message that NATS skips is received at the next heartbeat', async (context) => {
  const { log, seen, skipped } = await openSkipping(context, 'skipping')
  const seqs = [await log.append(draft('w1-1'), startMs), await log.append(draft('w1-2'), startMs)]
  assert.deepEqual([seqs, seqsOf(seen), skipped()], [[1, 2], [1, 2], 1])
})

test('a message that NATS skips is received when the next one comes, in order', async (context) => {
  const { log, seen, skipped } = await openSkipping(context, 'skipping-one')
  await log.append(draft('w1-1'), startMs)
  const skippedOne = log.append({ ...draft('w1-2'), from: 'w3' }, startMs)
  const next = log.append({ ...draft('w2-3'), from: 'w2' }, startMs)
  assert.deepEqual(await Promise.all([skippedOne, next]), [2, 3])
  assert.deepEqual([idsOf(seen), skipped()], [['w1-1', 'w1-2', 'w2-3'], 1])
})

test('a full stream is an outage with its reason, until a message is stored again', async (context) => {
  const { log, outage } = await openLog(context, 'brim')
  await fill(log, 3)
  assert.equal(outage?.(), null)
  const admin = await nats.connect()
  context.after(() => admin.close())
  const { streams } = await jetstreamManager(admin)
  const setLimit = (most: number) => streams.update('brim', { max_bytes: most, discard: 'new' } as never)
  await setLimit(200)
  await assert.rejects(async () => log.append(draft('w1-4'), startMs), {
    code: 'log-unavailable',
    message: /maximum bytes exceeded/,
  })
  assert.deepEqual(outage?.(), { reason: 'maximum bytes exceeded', since: startMs, isCutOff: false })
  await setLimit(-1)
  assert.equal(await log.append(draft('w1-4'), startMs), 4)
  assert.equal(outage?.(), null)
})

test('closes while NATS is away, even if it was about to join the stream again', {
  timeout: 60_000,
}, async (context) => {
  const broker = await startNatsServer()
  context.after(() => broker.stop())
  const settings = { stream: 'gone', replicas: 0, credentialsFile: null, servers: [broker.address()] }
  const { connection, close } = await connectToNats(settings, { now: () => startMs, onFailure: fail })
  context.after(close)
  const log = await NatsLog.open({
    ...natsParts,
    connection,
    name: 'gone',
    limits: ampleLimits,
    now: () => startMs,
    onFailure: () => undefined,
  })
  const admin = await broker.connect()
  // As after an epoch has ended: the log joins again, and gets no answer.
  admin.publish('gone-lives')
  await admin.flush()
  await admin.close()
  process.kill(broker.pid(), 'SIGSTOP')
  for await (const { type } of connection.status()) if (type === 'disconnect') break
  await broker.kill()
  await log.close()
})

test("reports NATS' storage, and how often the connection was restored", async (context) => {
  const settings = { stream: 'figures', replicas: 0, credentialsFile: null, servers: [nats.address()] }
  const { connection, figures, close } = await connectToNats(settings, {
    now: () => startMs,
    onFailure: fail,
  })
  const log = await NatsLog.open({
    ...natsParts,
    connection,
    name: 'figures',
    limits: ampleLimits,
    now: () => startMs,
    onFailure: () => undefined,
  })
  context.after(async () => {
    await log.close()
    await close()
  })
  await fill(log, 3)
  const { bytes, ...others } = await figures()
  assert.ok((bytes?.figures ?? 0) > 0)
  assert.deepEqual(others, { brokerHead: { figures: 3 }, reconnects: { nats: 0 } })
  await nats.kill()
  assert.deepEqual(await figures(), { reconnects: { nats: 0 } })
  await nats.restart()
  await fill(log, 1, 'w2')
  assert.deepEqual((await figures()).reconnects, { nats: 1 })
})

test('reports the largest message that NATS accepts', async () => {
  const settings = { stream: 'sizes', replicas: 0, credentialsFile: null, servers: [nats.address()] }
  const { maxBytes, close } = await connectToNats(settings, { now: () => startMs, onFailure: fail })
  await close()
  assert.equal(maxBytes, 8 * 1024 * 1024 - 1024)
})

test('a server that starts before its broker waits, and prints every ten seconds what it waits for', async (context) => {
  const broker = await startNatsServer()
  context.after(() => broker.stop())
  await broker.kill()
  const settings = { stream: 'early', replicas: 0, credentialsFile: null, servers: [broker.address()] }
  const said: string[] = []
  let asked = 0
  const opening = connectToNats(settings, {
    onFailure: fail,
    // Each attempt takes three seconds.
    now: () => asked++ * 3000,
    print(sentence) {
      said.push(sentence)
      if (said.length === 2) void broker.restart()
    },
  })
  const { close } = await opening
  await close()
  assert.match(said[0] ?? '', /^Waiting for NATS at 127\.0\.0\.1:\d+ \(nats\.servers\): .+\.$/)
  assert.ok(said.length < asked / 2, `${said.length} sentences in ${asked} attempts`)
})

test('a stream that would erase pages by itself is refused, with the limit and the remedy', async (context) => {
  const connection = await nats.connect()
  context.after(() => connection.close())
  const { streams } = await jetstreamManager(connection)
  const name = 'erasing'
  const limits = { ...ampleLimits }
  const parts = { ...natsParts, connection, name, limits, now: () => startMs, onFailure: assert.ifError }
  for (const [limit, sentence] of [
    [{ max_bytes: 1e6 }, /max_bytes 1000000, discard old/],
    [{ max_msgs: 10 }, /max_msgs 10/],
    [{ max_age: 1e12 }, /max_age 1000000000000/],
    [{ retention: 'interest' }, /retention interest/],
  ] as const) {
    await streams.add({ name, subjects: [`${name}.>`], ...limit })
    await assert.rejects(NatsLog.open(parts), (error: Error) => {
      assert.match(error.message, sentence)
      assert.match(error.message, /nats\.stream/)
      return true
    })
    await streams.delete(name)
  }
  await streams.add({ name, subjects: [`${name}.>`], max_bytes: 1e6, discard: 'new' })
  await (await NatsLog.open(parts)).close()
})

test('a purge by another program is reported once, on every server, and windows that were away get a snapshot', async (context) => {
  const servers = await Promise.all([0, 1].map(() => openLog(context, 'purged')))
  const [one, other] = servers
  assert.ok(one && other)
  await fill(one.log, 5)
  const admin = await nats.connect()
  context.after(() => admin.close())
  const { streams } = await jetstreamManager(admin)
  await streams.purge('purged', { seq: 4 })
  for (const { lossTold } of servers)
    assert.match(await lossTold(1), /^Another program erased 3 messages of the stream purged of NATS/)
  const behind = await one.log.read(await cursorAt(one.log, 1), main)
  assert.deepEqual([behind.recovered, seqsOf(behind.messages)], [false, [5]])
  assert.equal((await one.log.read(await cursorAt(one.log, 3), main)).recovered, true)

  await streams.purge('purged')
  for (const { lossTold } of servers) assert.match(await lossTold(2), /^Another program erased 2 messages/)
  await fill(one.log, 1, 'w2')
})

test('messages that the servers erase by their limits are not reported as a purge', async (context) => {
  const servers = await Promise.all([0, 1].map(() => openLog(context, 'limited', { messages: 10 })))
  const [one] = servers
  assert.ok(one)
  // More than a portion that is erased at once.
  await fill(one.log, 200)
  const admin = await nats.connect()
  context.after(() => admin.close())
  let checks = 0
  for await (const _ of admin.subscribe('$JS.API.STREAM.INFO.limited')) {
    checks += 1
    // Three of each server: a loss is reported at the second.
    if (checks === 6) break
  }
  assert.deepEqual(
    servers.map(({ losses }) => losses),
    [[], []],
  )
})

test('a note of another server that cannot be used is reported, and the connection goes on', async (context) => {
  const settings = { stream: 'odd', replicas: 0, credentialsFile: null, servers: [nats.address()] }
  const failures: string[] = []
  const onFailure = (error: unknown) => void failures.push(String(error))
  const { bus, close } = await connectToNats(settings, { now: () => startMs, onFailure })
  context.after(close)
  const usable = Promise.withResolvers<void>()
  bus.follow(
    (note) => {
      const { pages } = note as { readonly pages?: object }
      if (Object.keys(pages as object).length > 0) usable.resolve()
    },
    () => undefined,
  )
  const admin = await nats.connect()
  context.after(() => admin.close())
  for (const note of ['no JSON', '{"type":"counts"}', '{"pages":{"main":1}}'])
    admin.publish('odd-notes', note)
  await usable.promise
  const sentence = 'Error: A note of another server cannot be used: is it of this version?'
  assert.deepEqual(failures, [sentence, sentence])
})
