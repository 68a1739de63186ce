// The log's contract over a stream, and the messages that several processes of one log receive.

import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { type LogParts, logFull, logUnavailable } from '../log/log.ts'
import { testLogContract } from '../log/log-contract.ts'
import {
  ampleLimits,
  countTo,
  cursorAt,
  draft,
  idsOf,
  main,
  seqsOf,
  startMs,
  toyTypes,
} from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { hostLog, joinLog } from './shared-log.ts'

const given: LogParts = {
  limits: ampleLimits,
  typeOf: toyTypes(),
  now: () => startMs,
  onFailure: assert.ifError,
}

async function openJoined(parts: LogParts) {
  const { own, join } = openHost(parts)
  const { log } = await join()
  const close = async () => {
    await log.close()
    await own.close()
  }
  return { ...log, close }
}

testLogContract('shared', openJoined, false)

function openHost(parts: LogParts = given) {
  const own = createMemoryLog({ epoch: 'epoch123', ...parts })
  const host = hostLog(own)
  async function join() {
    const [near, far] = duplexPair()
    host.attach(far)
    return { ...(await joinLog(near, parts.onFailure)), link: near, hostLink: far }
  }
  return { own, host, join }
}

test('all processes receive the same messages in one order, with the same cursors', async () => {
  const { join } = openHost()
  const joined = [await join(), await join()]
  const heard = joined.map(({ log }) => {
    const seen: Message[] = []
    const cursors: string[] = []
    log.follow((message, cursor) => {
      seen.push(message)
      cursors.push(cursor)
    })
    return { seen, cursors }
  })
  const seqs = await Promise.all(
    joined.flatMap(({ log }, index) =>
      countTo(50).map((n) => log.append({ ...draft(`w${index}-${n}`), from: `w${index}` }, startMs)),
    ),
  )
  assert.deepEqual(
    seqs.toSorted((one, other) => one - other),
    countTo(100),
  )
  const [one, other] = heard
  assert.deepEqual(seqsOf(one?.seen ?? []), countTo(100))
  assert.deepEqual(one, other)
  const [first, second] = joined
  assert.ok(first && second)
  const { recovered, messages } = await second.log.read(await cursorAt(first.log, 60), main)
  assert.deepEqual([recovered, seqsOf(messages)], [true, countTo(100).slice(60)])
})

test('all processes know an outage of the log until it is over, including one that joins later', async () => {
  const { host, join } = openHost()
  const early = await join()
  assert.equal(early.outage(), null)
  const outage = { reason: 'the disk is full', since: 1, isCutOff: false }
  host.tellOutage(outage)
  const late = await join()
  assert.deepEqual([early.outage(), late.outage()], [outage, outage])
  host.tellOutage(null)
  await late.log.snapshot(main)
  assert.equal(late.outage(), null)
})

test('a process that joins later knows the heads, and the same draft sent to two is stored once', async () => {
  const { own, join } = openHost()
  await own.append(draft('w1-1'), startMs)
  await own.append(draft('w1-2', 'x', 'other'), startMs)
  const one = await join()
  const other = await join()
  assert.deepEqual([...one.log.heads()], [...own.heads()])
  const both = await Promise.all([one, other].map(({ log }) => log.append(draft('w1-3'), startMs)))
  assert.deepEqual(both, [3, 3])
  assert.deepEqual(idsOf((await other.log.snapshot(main)).messages), ['w1-3'])
})

test('a refusal is the same on both sides', async () => {
  const full = { ...ampleLimits, maxChannels: 1 }
  const { own, join } = openHost({ ...given, limits: full })
  const { log } = await join()
  await log.append(draft('w1-1'), startMs)
  await assert.rejects(async () => log.append(draft('w1-1', 'else'), startMs), { code: 'id-taken' })
  await assert.rejects(async () => log.append(draft('w1-2', 'x', 'new'), startMs), {
    code: 'too-many-channels',
  })
  const refusal = new Refusal('document-full', 'The document is full.', 'w1-4', 50)
  const host = hostLog({ ...own, append: () => Promise.reject(refusal) })
  const [near, far] = duplexPair()
  host.attach(far)
  const guarded = await joinLog(near, assert.ifError)
  const said = await Promise.resolve(guarded.log.append(draft('w1-4'), startMs)).catch(
    (error: unknown) => error,
  )
  assert.ok(said instanceof Refusal)
  assert.deepEqual([said.status, said.toJSON()], [413, refusal.toJSON()])
  for (const [error, code] of [
    [logFull('ENOSPC'), 'log-full'],
    [logUnavailable('ETIMEDOUT'), 'log-unavailable'],
  ] as const) {
    const failing = hostLog({ ...own, append: () => Promise.reject(error) })
    const [here, there] = duplexPair()
    failing.attach(there)
    const joined = await joinLog(here, assert.ifError)
    await assert.rejects(async () => joined.log.append(draft('w1-4'), startMs), { code })
  }
  await log.close()
  await assert.rejects(async () => log.append(draft('w1-5'), startMs), { code: 'draining' })
})

test('when the process with the log ends, pending drafts must be sent again', async () => {
  const { own } = openHost()
  const host = hostLog({ ...own, append: () => new Promise(() => undefined) })
  const [near, far] = duplexPair()
  host.attach(far)
  const { log } = await joinLog(near, assert.ifError)
  const waiting = log.append(draft('w1-1'), startMs)
  setImmediate(() => near.destroy())
  await assert.rejects(async () => waiting, { code: 'log-unavailable' })
  await assert.rejects(async () => log.append(draft('w1-2'), startMs), { code: 'log-unavailable' })
})

test('a note goes to all others, and so does the will of a process that ends', async () => {
  const { host, join } = openHost()
  const notes: Record<string, unknown[]> = { host: [], one: [], other: [] }
  host.bus.follow((note) => notes.host?.push(note))
  const one = await join()
  const other = await join()
  one.bus.follow(
    (note) => notes.one?.push(note),
    () => undefined,
  )
  other.bus.follow(
    (note) => notes.other?.push(note),
    () => undefined,
  )
  one.bus.bequeath?.({ type: 'gone', from: 'one' })
  one.bus.post({ from: 'one' })
  await one.log.snapshot(main)
  host.bus.post({ from: 'host' })
  await one.log.snapshot(main)
  await other.log.snapshot(main)
  assert.deepEqual(notes, {
    host: [{ from: 'one' }],
    one: [{ from: 'host' }],
    other: [{ from: 'one' }, { from: 'host' }],
  })
  one.hostLink.destroy()
  await new Promise((resolve) => one.hostLink.once('close', resolve))
  await other.log.snapshot(main)
  assert.deepEqual(notes.other?.at(-1), { type: 'gone', from: 'one' })
  assert.deepEqual(notes.host?.at(-1), { type: 'gone', from: 'one' })
})

test('a process that does not read is cut off, and the others continue', async () => {
  const { own, host, join } = openHost({ ...given, limits: { ...ampleLimits, bytes: 1e9 } })
  const { log } = await join()
  const [, stuck] = duplexPair()
  host.attach(stuck)
  const body = 'x'.repeat(1_000_000)
  for (const n of countTo(70)) {
    await own.append(draft(`w1-${n}`, body), startMs)
    // Lets the one that reads take its turn.
    await log.snapshot(new Set())
  }
  assert.ok(stuck.destroyed)
  assert.equal((await log.snapshot(main)).head.seq, 70)
})
