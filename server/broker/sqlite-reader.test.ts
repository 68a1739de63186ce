import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogClosed } from './log.ts'
import { ampleLimits, cursorAt, fillAtOnce, main, readPortions, seqsOf } from './log-testing.ts'
import { littleMemory, openByHand, settled } from './sqlite-testing.ts'

const limits = { ...ampleLimits, logMessages: 3000 }

test('each portion of the file takes a turn, so that others have theirs', async (context) => {
  const { log, endTurn } = openByHand(context, { limits, memory: littleMemory })
  void fillAtOnce(log, 1750)
  endTurn()
  for (const [channel, portions] of [
    ['main', [500, 500, 500, 248, 2]],
    ['quiet', [0, 0, 0, 0, 0]],
  ] as const) {
    const counts: number[] = []
    const start = await cursorAt(log, 0)
    const reading = readPortions(log, start, new Set([channel]), ({ messages }) => {
      counts.push(messages.length)
    })
    for (const turns of [0, 1, 2, 3]) {
      await settled()
      assert.equal(counts.length, turns)
      endTurn()
    }
    await reading
    // The last one came from memory, at once.
    assert.deepEqual(counts, portions)
  }
})

test('what is recent is answered at once', async (context) => {
  const { log, endTurn } = openByHand(context, { limits })
  void fillAtOnce(log, 10)
  endTurn()
  assert.deepEqual(seqsOf((await log.read(await cursorAt(log, 8), main)).messages), [9, 10])
})

test('a portion that was begun is answered as it was, whatever happens meanwhile', async (context) => {
  const { log, endTurn } = openByHand(context, { limits, memory: littleMemory })
  void fillAtOnce(log, 3000)
  endTurn()
  const reading = log.read(await cursorAt(log, 0), main)
  void fillAtOnce(log, 3000, 'w2')
  await log.close()
  endTurn()
  const { recovered, messages, reached, head } = await reading
  assert.deepEqual([recovered, messages.length, reached.seq, head.seq], [true, 500, 500, 3000])
  await assert.rejects(log.read(reached, main), LogClosed)
})
