// What a log must do besides when it outlives its process: the second part of the suite, for those that do.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { createSeededRandom } from '../wire/random.ts'
import type { Log } from './log.ts'
import { draft, idsOf, main, readAll, seqsOf } from './log-testing.ts'

/** Where one log lives. */
export interface Place {
  /** Opens it, again and again. */
  readonly open: () => Log | Promise<Log>
  /** What Node runs to call `appendForever` there: a file and its arguments; the first number is added. */
  readonly appender: readonly string[]
}

/** `createPlace` gives one with no log yet, for at least 100,000 messages. */
export function testPersistence(name: string, createPlace: (context: TestContext) => Place): void {
  test(`${name}: opened again it is the same log`, async (context) => {
    const place = createPlace(context)
    const first = await place.open()
    for (const n of [1, 2, 3]) await first.append(draft(`w1-${n}`), 1000.25)
    const before = await first.snapshot(main)
    await first.close()

    const again = await place.open()
    const { recovered, messages, head } = await readAll(again, { ...before.head, seq: 1 }, main)
    assert.deepEqual([recovered, seqsOf(messages), head], [true, [2, 3], before.head])
    assert.deepEqual(messages[1], { ...draft('w1-3'), seq: 3, acceptedAt: 1000.25 })
    assert.deepEqual(await again.snapshot(main), before)
    assert.deepEqual([...again.heads()], [['main', 3]])
    assert.equal(await again.append(draft('w1-2'), 1), 2)
    assert.equal(await again.append(draft('w1-4'), 1), 4)
    await again.close()
  })

  test(`${name}: killed at any moment it has all that was acknowledged, in order`, async (context) => {
    const place = createPlace(context)
    const empty = await place.open()
    const { head: start } = await empty.snapshot(main)
    await empty.close()

    const random = createSeededRandom(11)
    let acknowledged = 0
    for (let round = 1; round <= 5; round += 1) {
      const seqs = await appendAndKill(place, acknowledged + 1, Math.ceil(random() * 600))
      const log = await place.open()
      const { recovered, messages, head } = await readAll(log, start, main)
      await log.close()
      assert.deepEqual([recovered, head.epoch], [true, start.epoch])
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

/** Lets a process append until it has printed `count` numbers, kills it, and gives all that it printed. */
async function appendAndKill(place: Place, first: number, count: number): Promise<number[]> {
  const appender = startAppender(place, first)
  const seqs: number[] = []
  for await (const line of appender.lines) {
    seqs.push(Number(line))
    if (seqs.length === count) appender.kill()
  }
  await appender.ended
  assert.ok(seqs.length >= count, 'the appending process ended by itself')
  return seqs
}

export interface Appender {
  /** An acknowledged number each. */
  readonly lines: AsyncIterable<string>
  readonly kill: () => void
  /** Resolves once the process is gone, and its locks with it. */
  readonly ended: Promise<unknown>
}

export function startAppender({ appender }: Pick<Place, 'appender'>, first: number): Appender {
  const child = spawn(process.execPath, [...appender, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return {
    lines: createInterface({ input: child.stdout }),
    kill: () => void child.kill('SIGKILL'),
    ended: once(child, 'close'),
  }
}
