// When messages are sent, how marks are found in any framing, and what the tally counts.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createMarkReader, createTallying, startAuthor } from './marked-messages.ts'

interface Sent {
  readonly id: string
  readonly title: string
}

/** An author on manual time. */
function stageAuthor(interval: { first: number; count: number; startAt: number; intervalMs: number }) {
  mock.timers.enable({ apis: ['setTimeout'] })
  let now = 1000
  const sent: Sent[] = []
  const publish = ({ id, body }: { id: string; body: { title: string } }) =>
    void sent.push({ id, title: body.title })
  startAuthor({ name: 'w', channel: 'c', publish }, interval, () => now)
  return {
    sent,
    ids: () => sent.map(({ id }) => id),
    /** Advances the clock, and timers by `timerMs`: less if they are late. */
    pass(ms: number, timerMs = ms) {
      now += ms
      mock.timers.tick(timerMs)
    },
  }
}

test('a late timer sends everything that is due, and nothing early', (t) => {
  t.after(() => mock.timers.reset())
  const { ids, pass } = stageAuthor({ first: 5, count: 4, startAt: 1010, intervalMs: 20 })
  pass(9)
  assert.deepEqual(ids(), [])
  pass(1)
  assert.deepEqual(ids(), ['w-5'])
  pass(45, 20)
  assert.deepEqual(ids(), ['w-5', 'w-6', 'w-7'])
  pass(14)
  assert.equal(ids().length, 3)
  pass(1)
  assert.deepEqual(ids(), ['w-5', 'w-6', 'w-7', 'w-8'])
  pass(1000)
  assert.equal(ids().length, 4)
})

function markedTitle(mark: number): string {
  const { sent, pass } = stageAuthor({ first: mark, count: 1, startAt: 1000, intervalMs: 1 })
  pass(0)
  mock.timers.reset()
  return sent[0]?.title ?? ''
}

function marksIn(chunks: readonly Buffer[]): number[] {
  const marks: number[] = []
  const read = createMarkReader((mark) => marks.push(mark))
  for (const chunk of chunks) read(chunk)
  return marks
}

const messages = [0, 7, 10, 12345].map((mark) =>
  JSON.stringify({ id: `w-${mark}`, body: { title: markedTitle(mark) } }),
)
const whole = Buffer.from(`42${JSON.stringify(messages[0])}data: ${messages.slice(1).join('\n\ndata: ')}`)

test('the content has about 60 bytes', () => {
  assert.ok(Math.abs(markedTitle(123).length - 60) <= 3)
})

test('marks are found in JSON, and in JSON within JSON', () => {
  assert.deepEqual(marksIn([whole]), [0, 7, 10, 12345])
})

test('marks are found once wherever the bytes are split', () => {
  for (let at = 1; at < whole.length; at += 1) {
    assert.deepEqual(marksIn([whole.subarray(0, at), whole.subarray(at)]), [0, 7, 10, 12345], `cut at ${at}`)
  }
  assert.deepEqual(marksIn(Array.from(whole, (byte) => Buffer.from([byte]))), [0, 7, 10, 12345])
})

test('similar text is not a mark', () => {
  assert.deepEqual(marksIn([Buffer.from('<p>1</p><p><p'), Buffer.from('>#5# <p> #6# <')]), [5])
})

const interval = { first: 10, count: 3, startAt: 1000, intervalMs: 100 }

test('a message is late from the moment it was due', () => {
  const tallying = createTallying(1, interval, () => undefined)
  tallying.take(0, 10, 1004)
  tallying.take(0, 12, 1250)
  assert.deepEqual([...tallying.result().latenciesMs], [4, 50])
})

test('counts copies and messages out of order, except those of the warm-up', () => {
  const tallying = createTallying(2, interval, () => undefined)
  for (const mark of [9, 10, 12, 11, 12, 13]) tallying.take(1, mark, 2000)
  const { received, duplicated, reordered } = tallying.result()
  assert.deepEqual({ received, duplicated, reordered }, { received: 3, duplicated: 1, reordered: 1 })
})

test('is complete exactly when every window has every message', () => {
  let completed = 0
  const tallying = createTallying(2, interval, () => {
    completed += 1
  })
  for (const window of [0, 1])
    for (const mark of [10, 11, 12]) {
      assert.equal(completed, 0)
      tallying.take(window, mark, 2000)
    }
  assert.equal(completed, 1)
  tallying.take(1, 12, 2001)
  assert.equal(completed, 1)
})
