import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft, Message } from '../../protocol/messages.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { History } from './history.ts'
import { KeptJson } from './kept-json.ts'
import { type Bounds, hourMs, type Memory } from './log.ts'
import { countTo, seqsOf, type ToyTypes, toyTypes } from './log-testing.ts'
import { openInMemory } from './memory-log.ts'
import { portion } from './recent-messages.ts'
import { Entry, Tables } from './tables.ts'

interface Change extends ToyTypes {
  readonly bounds?: Partial<Bounds>
  readonly memory?: Memory
  readonly head?: number
}

const ample = { messages: 1000, bytes: 100_000_000, ageMs: 1000 }

/** `{"data":""}` */
const minBytes = 11

function jsonOf(bytes: number, writer: string | null): KeptJson {
  return new KeptJson(`{"data":"${'x'.repeat(bytes - minBytes)}"}`, writer)
}

/** `take` adds messages, of 20 bytes by default; `kept` returns the numbers that a channel holds. */
function openHistory({ bounds, memory, head, ...types }: Change = {}) {
  const clock = { ms: 0 }
  const planned: (() => void)[] = []
  const database = openInMemory()
  const history = new History({
    tables: new Tables(database),
    typeOf: toyTypes(types),
    limits: { ...ample, ...bounds },
    now: () => clock.ms,
    onFailure: assert.ifError,
    defer: (run) => void planned.push(run),
    ...(memory && { memory }),
    ...(head !== undefined && { head }),
  })
  const add = (channel: string, bytes: number, writer: string | null) => {
    const seq = history.head + 1
    const draft: Draft = {
      id: `w1-${seq}`,
      channel,
      kind: 'json',
      from: 'w1',
      at: 1,
      body: jsonOf(bytes, writer),
    }
    assert.deepEqual(history.insert([new Entry(draft, clock.ms)]), [seq])
    history.add({ ...draft, seq, acceptedAt: clock.ms } as Message, bytes, writer)
  }
  const take = (channel: string, count: number, bytes = 20, writer: string | null = null) => {
    for (let n = 0; n < count; n += 1) add(channel, bytes, writer)
  }
  function kept(channel: string): number[] {
    const seqs: number[] = []
    for (let from = history.floorOf(channel); from < history.head; ) {
      const { messages, upTo } = history.after(from, [channel])
      seqs.push(...seqsOf(messages))
      from = upTo
    }
    return seqs
  }
  const endTurn = () => {
    for (const run of planned.splice(0)) run()
  }
  const rows = () => Number(database.prepare('SELECT count(*) AS count FROM message').get()?.count)
  return { history, clock, take, kept, endTurn, rows }
}

test('drops nothing within the limits', () => {
  const { history, take, kept, endTurn, rows } = openHistory()
  take('main', 1000)
  endTurn()
  assert.deepEqual([kept('main').length, history.floorOf('main'), rows()], [1000, 0, 1000])
})

test('drops the oldest by count, by bytes and by age', () => {
  for (const [bounds, ms] of [
    [{ messages: 30 }, 0],
    [{ bytes: 605 }, 0],
    [{ ageMs: 100 }, 171],
  ] as const) {
    const { history, clock, take, kept } = openHistory({ bounds })
    for (let n = 1; n <= 100; n += 1) {
      clock.ms = ms === 0 ? 0 : n
      take('main', 1)
    }
    clock.ms = ms
    assert.equal(history.floorOf('main'), 70)
    assert.deepEqual(kept('main'), countTo(100).slice(70))
  }
})

test('a flood of large or small messages on a channel costs no other one a message', () => {
  for (const [count, bytes] of [
    [274, 10_486],
    [5300, 20],
  ] as const) {
    const { history, take, kept } = openHistory({ bounds: { messages: 5000, bytes: 2_684_354 } })
    take('victim', 200, 100)
    take('evil', count, bytes)
    assert.deepEqual(kept('victim'), countTo(200))
    assert.deepEqual([history.floorOf('victim'), history.floorOf('quiet')], [0, 0])
    assert.ok(history.floorOf('evil') > 200)
  }
})

test('a writer who fills many channels pays before a larger channel does', () => {
  const { take, kept } = openHistory({ bounds: { messages: 1000, bytes: 1_000_000 } })
  take('victim', 40, 1000, 'ann')
  for (const n of countTo(400)) take(`evil.${n % 100}`, 10, 1000, 'eve')
  assert.equal(kept('victim').length, 40)
})

test('a channel keeps what the largest one has at least half of, however many there are', () => {
  const random = createSeededRandom(3)
  const { take, kept } = openHistory({ bounds: { messages: 2000, bytes: 400_000 } })
  const names = countTo(50).map((n) => `room.${n}`)
  for (let n = 0; n < 10_000; n += 1) {
    const name = names[Math.floor(random() ** 2 * names.length)] ?? ''
    take(name, 1, minBytes + Math.ceil(random() * 350))
  }
  const counts = names.map((name) => kept(name).length)
  // An equal part is 40 messages, or 8000 bytes.
  assert.ok(Math.min(...counts) >= 10, String(counts))
})

test('many writers on one channel share it, and leave the others alone', () => {
  const { take, kept } = openHistory({ bounds: { messages: 1000, bytes: 1_000_000 } })
  take('victim', 90, 1000, 'ann')
  for (const n of countTo(2000)) take('evil', 1, 1000, `user-${n}`)
  assert.equal(kept('victim').length, 90)
})

test('a channel that keeps less drops its own, and always holds its newest', () => {
  const keep = { messages: 5, bytes: 1000, hours: 50 / hourMs }
  const { history, clock, take, kept } = openHistory({
    keepOn: (name) => (name === 'main' ? keep : undefined),
  })
  take('main', 10)
  take('other', 10)
  assert.deepEqual([kept('main'), kept('other').length], [[6, 7, 8, 9, 10], 10])
  clock.ms = 60
  assert.deepEqual([history.floorOf('main'), kept('main')], [9, [10]])
  take('main', 1, 5000)
  assert.deepEqual(kept('main'), [21])
})

test('messages that are too old are no longer held, on quiet channels too', () => {
  const { history, clock, take } = openHistory({ bounds: { ageMs: 100_000 } })
  take('quiet', 3)
  clock.ms = 99_500
  take('main', 2)
  assert.equal(history.heldBefore(5), 4)
  clock.ms = 100_001
  take('main', 1)
  assert.equal(history.heldBefore(5), 1)
})

test('dropped messages are erased in portions of many small ones or of few large ones', () => {
  const { take, endTurn, rows } = openHistory({ bounds: { messages: 300 } })
  take('main', 1000)
  const left: number[] = [rows()]
  for (let turn = 1; turn <= 4; turn += 1) {
    // The next message plans the next portion.
    take('main', 1)
    endTurn()
    left.push(rows())
  }
  assert.deepEqual(left, [1000, 745, 490, 300, 301])

  const large = openHistory({ bounds: { messages: 5 } })
  large.take('main', 5, 1_048_576)
  large.take('main', 5)
  large.endTurn()
  assert.equal(large.rows(), 8)
})

test('several channels are read in order, in portions limited by messages and bytes', () => {
  const { history, take } = openHistory({ bounds: { messages: 5000 } })
  const read = (seq: number, ...channels: string[]) => {
    const { messages, upTo } = history.after(seq, channels)
    return [seqsOf(messages), upTo] as const
  }
  take('main', 1)
  take('other', 600)
  take('main', portion.messages)
  // Up to where the next message of these channels would exceed the limit.
  assert.deepEqual(read(0, 'main'), [[1, ...countTo(1100).slice(601)], 1100])
  assert.deepEqual(read(1100, 'main'), [[1101], 1101])
  assert.deepEqual(read(599, 'other', 'never', 'main'), [countTo(1099).slice(599), 1099])
  assert.deepEqual(read(0, 'never'), [[], 1101])

  const half = portion.bytes / 2
  for (const bytes of [half, half, minBytes, portion.bytes + 1, minBytes]) take('main', 1, bytes)
  const ends = [1101]
  for (let end = 1101; end < 1106; ends.push(end)) [, end] = read(end, 'main')
  assert.deepEqual(ends, [1101, 1103, 1104, 1105, 1106])
})

test('a cursor from before the first message that is known is refused only where its channel may lack something', () => {
  const { history, take } = openHistory({ head: 4 })
  history.noteGap(10)
  history.noteGap(30, 'main')
  for (const [seq, channel] of [
    [5, 'early'],
    [31, 'main'],
    [40, 'late'],
  ] as const) {
    history.skip(seq - 1)
    take(channel, 1)
  }
  const floors = ['early', 'main', 'late', 'never'].map((channel) => history.floorOf(channel))
  assert.deepEqual(floors, [4, 30, 10, 10])
})

test('the newest messages are in memory, within limits', () => {
  const { history, take } = openHistory({ memory: { messages: 3, bytes: 1000 } })
  const main = new Set(['main'])
  take('main', 10)
  assert.deepEqual(seqsOf(history.recent(7, main)?.messages ?? []), [8, 9, 10])
  assert.equal(history.recent(6, main), null)
  take('main', 1, 2000)
  assert.deepEqual(seqsOf(history.recent(10, main)?.messages ?? []), [11])
  assert.equal(history.recent(9, main), null)
  // Nothing is missed there, however long ago.
  assert.deepEqual(history.recent(0, new Set(['quiet'])), { messages: [], upTo: 11 })
})
