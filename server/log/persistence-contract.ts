// Contract tests for logs that outlive their process.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { createSeededRandom } from '../../protocol/time.ts'
import { bodiesOf, changing, readings, said } from './change-contract.ts'
import { deletionDraft, readGone } from './deletion-contract.ts'
import type { Log } from './log.ts'
import {
  cursorAt,
  draft,
  endedForMs,
  fillUpdates,
  idsOf,
  main,
  readAll,
  readUpdates,
  seqsOf,
  startMs,
} from './log-testing.ts'

interface Storage {
  /** Callable repeatedly. */
  readonly open: () => Log | Promise<Log>
  /**
   * Node arguments of a program that appends until killed and prints acknowledged numbers; the
   * first is added.
   */
  readonly appender: readonly string[]
  /** See `ModelledLog`. */
  readonly isShared?: boolean
}

/** `createStorage` returns an empty storage for at least 100,000 messages. */
export function testPersistence(name: string, createStorage: (context: TestContext) => Storage): void {
  test(`${name}: a reopened log is the same log`, async (context) => {
    const storage = createStorage(context)
    const first = await storage.open()
    for (const n of [1, 2, 3]) await first.append(draft(`w1-${n}`), 1000.25)
    const before = await first.snapshot(main)
    await first.close()

    const again = await storage.open()
    const { recovered, messages, head } = await readAll(again, { ...before.head, seq: 1 }, main)
    assert.deepEqual([recovered, seqsOf(messages), head.seq], [true, [2, 3], 3])
    assert.deepEqual(messages[1], { ...draft('w1-3'), seq: 3, acceptedAt: 1000.25 })
    assert.deepEqual((await again.snapshot(main)).messages, before.messages)
    assert.deepEqual([...again.heads()], [['main', 3]])
    assert.deepEqual(await again.find(draft('w1-1')), { ...draft('w1-1'), seq: 1, acceptedAt: 1000.25 })
    assert.equal(await again.append(draft('w1-2'), 1), 2)
    assert.equal(await again.append(draft('w1-4'), 1), 4)
    await again.close()
  })

  test(`${name}: a reopened log has changed messages as they are now`, async (context) => {
    const storage = createStorage(context)
    const first = await storage.open()
    for (const one of [said('w1-1', 'old'), said('w1-2', 'secret'), changing('w1-3', 1, 'new')])
      await first.append(one, startMs)
    await first.append(changing('w1-4', 2), startMs)
    const before = await readings(first)
    await first.close()
    const again = await storage.open()
    const after = await readings(again)
    assert.deepEqual(bodiesOf(after.back), bodiesOf(before.back))
    assert.deepEqual(bodiesOf(after.newest), bodiesOf(before.newest))
    assert.doesNotMatch(JSON.stringify(after), /secret|old/)
    await again.close()
  })

  test(`${name}: a reopened log has each message of a cumulative kind, in a base or after it`, async (context) => {
    const storage = createStorage(context)
    let written = ''
    for (const [round, count] of [700, 10, 600, 0].entries()) {
      const log = await storage.open()
      assert.equal((await readUpdates(log)).text, written)
      written += await fillUpdates(log, count, `w${round}`)
      const { updates, text } = await readUpdates(log)
      assert.deepEqual([text, [...log.heads()]], [written, [['main', updates.at(-1)?.seq]]])
      assert.ok(updates.length < 500, `${updates.length} are in no base`)
      await log.close()
    }
  })

  test(`${name}: a reopened log has nothing of an erased document except what was written there since`, async (context) => {
    const storage = createStorage(context)
    const first = await storage.open()
    const start = await cursorAt(first, 0)
    await fillUpdates(first, 600, 'w1', 'gone')
    await fillUpdates(first, 10, 'w2')
    await first.append(draft('w2-a', 'x', 'gone'), startMs)
    await first.append(deletionDraft('w2-b', true), startMs - endedForMs)
    await readGone(first)
    await first.close()

    const second = await storage.open()
    assert.deepEqual([...second.heads().keys()], ['main'])
    assert.equal((await readUpdates(second, 'gone')).text, '')
    const anew = await fillUpdates(second, 600, 'w1', 'gone')
    await second.close()

    const third = await storage.open()
    assert.equal((await readUpdates(third, 'gone')).text, anew)
    const all = await readAll(third, start, new Set(['main', 'gone']))
    assert.equal(all.head.seq, 1213)
    if (!storage.isShared) assert.deepEqual([all.recovered, all.messages.length], [true, 10 + 1 + 600])
    await third.close()
  })

  test(`${name}: a log killed at any moment has everything acknowledged, in order`, async (context) => {
    const storage = createStorage(context)
    const empty = await storage.open()
    const { head: start } = await empty.snapshot(main)
    await empty.close()

    const random = createSeededRandom(11)
    let acknowledged = 0
    for (let round = 1; round <= 5; round += 1) {
      const seqs = await appendAndKill(storage, acknowledged + 1, Math.ceil(random() * 600))
      const log = await storage.open()
      const { recovered, messages, head } = await readAll(log, start, main)
      await log.close()
      assert.equal(recovered, true)
      assert.ok(head.seq >= Math.max(...seqs), `${Math.max(...seqs)} was acknowledged, ${head.seq} is kept`)
      assert.deepEqual(
        idsOf(messages),
        messages.map(({ seq }) => `a-${seq}`),
      )
      assert.equal(messages.length, head.seq)
      acknowledged = head.seq
    }
  })
}

/** Kills the appender after `count` numbers; returns all printed. */
async function appendAndKill(storage: Storage, first: number, count: number): Promise<number[]> {
  const appender = startAppender(storage.appender, first)
  const seqs: number[] = []
  for await (const line of appender.lines) {
    seqs.push(Number(line))
    if (seqs.length === count) appender.kill()
  }
  await appender.ended
  assert.ok(seqs.length >= count, 'the appending process ended by itself')
  return seqs
}

interface Appender {
  /** One acknowledged number each. */
  readonly lines: AsyncIterable<string>
  readonly kill: () => void
  /** Resolves when the process has ended and released its locks. */
  readonly ended: Promise<unknown>
}

export function startAppender(appender: readonly string[], first: number): Appender {
  const child = spawn(process.execPath, [...appender, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return {
    lines: createInterface({ input: child.stdout }),
    kill: () => void child.kill('SIGKILL'),
    ended: once(child, 'close'),
  }
}
