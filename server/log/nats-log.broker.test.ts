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
  countTo,
  cursorAt,
  draft,
  fill,
  fillAtOnce,
  fillUpdates,
  idsOf,
  main,
  readAll,
  readUpdates,
  seqsOf,
  startMs,
  toyTypes,
  updateDraft,
} from './log-testing.ts'
import { connectToNats } from './nats-connection.ts'
import { NatsLog } from './nats-log.ts'

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

/**
 * A server's log, with the messages that its followers received. Opened again under one name, it is
 * another server's, or the same after a restart.
 */
async function openLog(
  context: TestContext,
  name: string,
  limits: Partial<LogLimits> = {},
  onFailure: (error: unknown) => void = assert.ifError,
) {
  const connection = await nats.connect()
  const losses: string[] = []
  const log = await NatsLog.open({
    ...natsParts,
    connection,
    name,
    now: () => startMs,
    limits: { ...ampleLimits, ...limits },
    onLoss(sentence) {
      losses.push(sentence)
      onLost()
    },
    onFailure,
  })
  context.after(async () => {
    await log.close()
    await connection.close()
  })
  let onLost = () => undefined as unknown
  /** Resolves to the sentence about this loss; `count` 1 is the first. */
  const lost = (count: number) =>
    new Promise<string>((resolve) => {
      onLost = () => losses.length >= count && resolve(losses[count - 1] ?? '')
      onLost()
    })
  const seen: Message[] = []
  const cursors: string[] = []
  log.follow((message, cursor) => {
    seen.push(message)
    cursors.push(cursor)
    onHeard()
  })
  let onHeard = () => undefined as unknown
  /** Resolves when this many messages were received. */
  const heard = (count: number) =>
    new Promise<void>((resolve) => {
      onHeard = () => seen.length >= count && resolve()
      onHeard()
    })
  return { log, connection, seen, cursors, heard, losses, lost }
}

test('two servers receive all messages of both in one order, with the same cursors', async (context) => {
  const one = await openLog(context, 'both')
  const other = await openLog(context, 'both')
  const write = (log: typeof one.log, prefix: string) =>
    Promise.all(countTo(100).map((n) => log.append({ ...draft(`${prefix}-${n}`), from: prefix }, startMs)))
  const seqs = await Promise.all([write(one.log, 'a'), write(other.log, 'b')])
  await Promise.all([one.heard(200), other.heard(200)])
  assert.deepEqual(
    seqs.flat().sort((a, b) => a - b),
    countTo(200),
  )
  assert.deepEqual(one.seen, other.seen)
  assert.deepEqual(one.cursors, other.cursors)
  for (const prefix of ['a', 'b'])
    assert.deepEqual(
      idsOf(one.seen.filter(({ from }) => from === prefix)),
      countTo(100).map((n) => `${prefix}-${n}`),
    )
  const cursor = await cursorAt(one.log, 150)
  const { recovered, messages } = await other.log.read(cursor, main)
  assert.deepEqual([recovered, seqsOf(messages)], [true, countTo(200).slice(150)])
})

test('the same draft sent to both servers is stored once, and acknowledged by both', async (context) => {
  const one = await openLog(context, 'repeats')
  const other = await openLog(context, 'repeats')
  const both = await Promise.all([one, other].map(({ log }) => log.append(draft('w1-1'), startMs)))
  assert.deepEqual(both, [1, 1])
  const taken = await Promise.allSettled([
    one.log.append(draft('w1-2'), startMs),
    other.log.append(draft('w1-2', 'else'), startMs),
  ])
  assert.deepEqual(taken.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.code)).sort(), [
    2,
    'id-taken',
  ])
})

test('an id that JetStream remembers but the log has erased is stored again', async (context) => {
  const { log } = await openLog(context, 'forgotten', { messages: 3 })
  assert.equal(await log.append(draft('w1-1'), startMs), 1)
  await fill(log, 300, 'w2')
  assert.equal(await log.append(draft('w1-1'), startMs), 302)
})

test('a server that starts later has the same state', async (context) => {
  const limits = { messages: 300 }
  const { log } = await openLog(context, 'later', limits)
  await log.append(draft('w1-0', 'x', 'quiet'), startMs)
  const text = await fillUpdates(log, foldAt.messages + 10)
  await fillAtOnce(log, 400, 'w2')
  const later = await openLog(context, 'later', limits)
  assert.deepEqual((await readUpdates(later.log)).text, text)
  assert.deepEqual(idsOf((await later.log.snapshot(new Set(['quiet']))).messages), ['w1-0'])
  assert.deepEqual([...later.log.heads()].sort(), [...log.heads()].sort())
  assert.equal(await later.log.append(draft('w1-0', 'x', 'quiet'), startMs), 1)
  const cursor = await cursorAt(log, 800)
  assert.deepEqual(await readAll(later.log, cursor, main), await readAll(log, cursor, main))
  const lost = await later.log.read(await cursorAt(log, 300), main)
  assert.equal(lost.recovered, false)
  const quiet = await later.log.read(await cursorAt(log, 0), new Set(['quiet']))
  assert.deepEqual([quiet.recovered, idsOf(quiet.messages)], [true, ['w1-0']])
})

test('a server that starts later has what a channel had dropped, though the stream begins before that', async (context) => {
  const old = startMs - 2 * ampleLimits.ageMs
  const first = await openLog(context, 'dropped')
  await first.log.append(updateDraft('w1-0', 'in no base', 'first'), startMs)
  await first.log.append(draft('w1-1', 'x', 'second'), old)
  for (const n of countTo(100)) await first.log.append(draft(`w2-${n}`), old)
  await first.log.close()
  const { log, losses } = await openLog(context, 'dropped')
  assert.deepEqual(idsOf((await log.snapshot(new Set(['second']))).messages), ['w1-1'])
  assert.deepEqual(idsOf((await log.snapshot(main)).messages), ['w2-100'])
  assert.equal(await log.append(draft('w1-2', 'y', 'second'), startMs), 103)
  const { recovered, messages } = await readAll(log, await cursorAt(log, 102), new Set(['second']))
  assert.deepEqual([recovered, idsOf(messages), losses], [true, ['w1-2'], []])
})

const manyMessages = { messages: 100_000, bytes: 1e9 }

test('a client resumes at a server that started later, from before a base', async (context) => {
  const { log } = await openLog(context, 'based', manyMessages)
  await fillUpdates(log, foldAt.messages + 10)
  // So that the updates are no longer in memory.
  await fillAtOnce(log, 4200, 'w2', 'x', 'other')
  const later = await openLog(context, 'based', manyMessages)
  const { recovered, messages } = await readAll(later.log, await cursorAt(log, 0), main)
  assert.deepEqual([recovered, messages.length, later.losses], [true, foldAt.messages + 10, []])
})

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

test('NATS is killed and restarted: acknowledged messages are there, and the log continues in order', async (context) => {
  const { log, seen, heard } = await openLog(context, 'killed')
  await fill(log, 20)
  await nats.kill()
  const appends = ['w2-1', 'w2-2'].map((id) => log.append(draft(id), startMs))
  await nats.restart()
  assert.deepEqual(await Promise.all(appends), [21, 22])
  await heard(22)
  assert.deepEqual(idsOf(seen.slice(20)), ['w2-1', 'w2-2'])
  const other = await openLog(context, 'killed')
  const { messages } = await readAll(other.log, await cursorAt(log, 0), main)
  assert.deepEqual(seqsOf(messages), countTo(22))
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
  const reasons = await Promise.all([one.log.lost, other.log.lost])
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

test('while NATS is away an append is refused after a delay, and stored when it is repeated', async (context) => {
  const { log } = await openLog(context, 'away')
  await fill(log, 3)
  await nats.kill()
  const appends = ['w2-1', 'w2-2'].map((id) => log.append(draft(id), startMs))
  await Promise.all(appends.map((append) => assert.rejects(async () => append, { code: 'log-unavailable' })))
  await nats.restart()
  const again = ['w2-1', 'w2-2'].map((id) => log.append(draft(id), startMs))
  assert.deepEqual(await Promise.all(again), [4, 5])
})

test('a full stream is an outage with its reason, until a message is stored again', async (context) => {
  const { log } = await openLog(context, 'brim')
  await fill(log, 3)
  assert.equal(log.outage?.(), null)
  const admin = await nats.connect()
  context.after(() => admin.close())
  const { streams } = await jetstreamManager(admin)
  const setLimit = (most: number) => streams.update('brim', { max_bytes: most, discard: 'new' } as never)
  await setLimit(200)
  await assert.rejects(async () => log.append(draft('w1-4'), startMs), {
    code: 'log-unavailable',
    message: /maximum bytes exceeded/,
  })
  assert.deepEqual(log.outage?.(), { reason: 'maximum bytes exceeded', since: startMs, isCutOff: false })
  await setLimit(-1)
  assert.equal(await log.append(draft('w1-4'), startMs), 4)
  assert.equal(log.outage?.(), null)
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
  for (const { lost } of servers)
    assert.match(await lost(1), /^Another program erased 3 messages of the stream purged of NATS/)
  const behind = await one.log.read(await cursorAt(one.log, 1), main)
  assert.deepEqual([behind.recovered, seqsOf(behind.messages)], [false, [5]])
  assert.equal((await one.log.read(await cursorAt(one.log, 3), main)).recovered, true)

  await streams.purge('purged')
  for (const { lost } of servers) assert.match(await lost(2), /^Another program erased 2 messages/)
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
