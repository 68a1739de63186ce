import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../wire/messages.ts'
import { createSeededRandom } from '../wire/time.ts'
import { Folding } from './folding.ts'
import { KeptJson } from './kept-json.ts'
import type { Bounds, Memory } from './log.ts'
import { countTo, draft, main, seqsOf } from './log-testing.ts'
import { portion, Retention, Tail } from './retention.ts'

const ample = { messages: 1000, bytes: 100_000_000, ageMs: 1000 }

/** `take` adds messages, of 10 bytes by default; `kept` returns the numbers that a channel holds. */
function openRetention(change: Partial<Bounds> = {}, keepOn?: (channel: string) => Bounds | undefined) {
  const clock = { ms: 0 }
  const retention = new Retention({
    bounds: { ...ample, ...change },
    keepOn,
    now: () => clock.ms,
    onDropped: () => undefined,
  })
  let seq = 0
  const take = (channel: string, count: number, bytes = 10, writer: string | null = null) => {
    for (let n = 0; n < count; n += 1) {
      seq += 1
      retention.add({ seq, channel, bytes, acceptedAt: clock.ms, writer })
    }
  }
  function kept(channel: string): number[] {
    const seqs: number[] = []
    for (let from = 0; from < seq; ) {
      const { held, upTo } = retention.after(from, [channel])
      for (const { seq } of held) seqs.push(seq)
      from = upTo
    }
    return seqs
  }
  return { retention, clock, take, kept }
}

test('retention drops nothing within its limits', () => {
  const { retention, take, kept } = openRetention()
  take('main', 1000)
  assert.deepEqual([kept('main').length, retention.floorOf('main'), retention.erasable()], [1000, 0, []])
})

test('retention drops the oldest by count, by bytes and by age', () => {
  for (const [change, ms] of [
    [{ messages: 30 }, 0],
    [{ bytes: 305 }, 0],
    [{ ageMs: 100 }, 171],
  ] as const) {
    const { retention, clock, take, kept } = openRetention(change)
    for (let n = 1; n <= 100; n += 1) {
      clock.ms = ms === 0 ? 0 : n
      take('main', 1)
    }
    clock.ms = ms
    assert.equal(retention.floorOf('main'), 70)
    assert.deepEqual(kept('main'), countTo(100).slice(70))
  }
})

test('a flood of large or small messages on a channel costs no other one a message', () => {
  for (const [count, bytes] of [
    [274, 1_048_576],
    [104_938, 20],
  ] as const) {
    const { retention, take, kept } = openRetention({ messages: 100_000, bytes: 268_435_456 })
    take('victim', 200, 100)
    take('evil', count, bytes)
    assert.deepEqual(kept('victim'), countTo(200))
    assert.deepEqual([retention.floorOf('victim'), retention.floorOf('quiet')], [0, 0])
    assert.ok(retention.floorOf('evil') > 200)
  }
})

test('a writer who fills many channels pays before a larger channel does', () => {
  const { take, kept } = openRetention({ messages: 1000, bytes: 1_000_000 })
  take('victim', 40, 1000, 'ann')
  for (const n of countTo(400)) take(`evil.${n % 100}`, 10, 1000, 'eve')
  assert.equal(kept('victim').length, 40)
})

test('a channel keeps what the largest one has at least half of, however many there are', () => {
  const random = createSeededRandom(3)
  const { take, kept } = openRetention({ messages: 2000, bytes: 200_000 })
  const names = countTo(50).map((n) => `room.${n}`)
  for (let n = 0; n < 30_000; n += 1) {
    const name = names[Math.floor(random() ** 2 * names.length)] ?? ''
    take(name, 1, Math.ceil(random() * 200))
  }
  const counts = names.map((name) => kept(name).length)
  // An equal part is 40 messages, or 4000 bytes.
  assert.ok(Math.min(...counts) >= 10, String(counts))
})

test('many writers on one channel share it, and leave the others alone', () => {
  const { take, kept } = openRetention({ messages: 1000, bytes: 1_000_000 })
  take('victim', 90, 1000, 'ann')
  for (const n of countTo(2000)) take('evil', 1, 1000, `user-${n}`)
  assert.equal(kept('victim').length, 90)
})

test('a channel that keeps less drops its own, and always holds its newest', () => {
  const keep = { messages: 5, bytes: 1000, ageMs: 50 }
  const { retention, clock, take, kept } = openRetention({}, (name) => (name === 'main' ? keep : undefined))
  take('main', 10)
  take('other', 10)
  assert.deepEqual([kept('main'), kept('other').length], [[6, 7, 8, 9, 10], 10])
  clock.ms = 60
  assert.deepEqual([retention.floorOf('main'), kept('main')], [9, [10]])
  take('main', 1, 5000)
  assert.deepEqual(kept('main'), [21])
})

test('old messages on quiet channels go without being read', () => {
  const dropped: number[] = []
  const clock = { ms: 0 }
  const retention = new Retention({
    bounds: ample,
    now: () => clock.ms,
    onDropped: ({ seq }) => dropped.push(seq),
  })
  retention.add({ seq: 1, channel: 'quiet', bytes: 10, acceptedAt: 0, writer: null })
  clock.ms = 1500
  retention.add({ seq: 2, channel: 'main', bytes: 10, acceptedAt: 1500, writer: null })
  assert.deepEqual(dropped, [1])
})

test('messages that are too old are no longer held, on quiet channels too', () => {
  const { retention, clock, take } = openRetention({ ageMs: 100_000 })
  take('quiet', 3)
  clock.ms = 99_500
  take('main', 2)
  assert.equal(retention.heldBefore(5), 4)
  clock.ms = 100_001
  take('main', 1)
  assert.equal(retention.heldBefore(5), 1)
})

test('retention erases in portions of many small messages or of few large ones', () => {
  const { retention, take } = openRetention({ messages: 300 })
  take('main', 1000)
  const portions: number[] = []
  for (let gone = retention.erasable(); gone.length > 0; gone = retention.erasable()) {
    portions.push(gone.length)
    retention.erased(gone.length)
  }
  assert.deepEqual(portions, [256, 256, 188])

  // One message more is less than a portion.
  take('main', 1)
  assert.deepEqual([retention.floorOf('main'), retention.erasable()], [701, []])

  const large = openRetention({ messages: 5 })
  large.take('main', 5, 1_048_576)
  large.take('main', 5)
  assert.equal(large.retention.erasable().length, 2)
  for (const count of [2, 2, 1]) large.retention.erased(count)
  large.take('main', 1)
  assert.deepEqual([large.retention.floorOf('main'), large.retention.erasable()], [6, []])
})

test('retention offers a portion until it is erased', () => {
  const { retention, take } = openRetention({ messages: 10 })
  take('main', 100)
  assert.equal(retention.erasable().length, 90)
  assert.equal(retention.erasable()[0]?.seq, 1)
})

test('several channels are read in order, in portions limited by messages and bytes', () => {
  const { retention, take } = openRetention({ messages: 5000 })
  take('main', 1)
  take('other', 600)
  take('main', portion.messages)
  const first = retention.after(0, ['main'])
  // Up to where the next message of these channels would exceed the limit.
  assert.deepEqual([first.held.length, first.upTo], [500, 1100])
  assert.deepEqual(
    retention.after(first.upTo, ['main']).held.map(({ seq }) => seq),
    [1101],
  )
  const both = retention.after(599, ['other', 'never', 'main'])
  assert.deepEqual([both.held.map(({ seq }) => seq), both.upTo], [countTo(1099).slice(599), 1099])
  assert.deepEqual(retention.after(0, ['never']), { held: [], upTo: 1101 })

  const half = portion.bytes / 2
  for (const bytes of [half, half, 1, portion.bytes + 1, 1]) take('main', 1, bytes)
  const ends = [1101]
  for (let end = 1101; end < 1106; ends.push(end)) end = retention.after(end, ['main']).upTo
  assert.deepEqual(ends, [1101, 1103, 1104, 1105, 1106])
})

test('after a restart a cursor is refused only where its channel may lack something', () => {
  const { retention } = openRetention()
  retention.missed(10)
  retention.missed(30, 'main')
  for (const [seq, channel] of [
    [5, 'early'],
    [31, 'main'],
    [40, 'late'],
  ] as const)
    retention.add({ seq, channel, bytes: 10, acceptedAt: 0, writer: null })
  const floors = ['early', 'main', 'late', 'never'].map((channel) => retention.floorOf(channel))
  assert.deepEqual(floors, [4, 30, 10, 10])
})

const tailBounds = { messages: 100, bytes: 100_000, ageMs: 100_000 }

interface TailChange {
  readonly limits?: Bounds
  readonly memory?: Memory
  readonly floor?: number
  readonly newest?: readonly Message[]
}

function openTail({ limits = tailBounds, ...change }: TailChange = {}): Tail {
  const nothing = () => undefined
  const past = { past: () => [], readPast: nothing, keepPast: nothing, forgetPast: nothing, erase: nothing }
  const bases = { read: nothing, write: () => 0, ...past }
  const rest = { defer: nothing, onFailure: nothing, onFolded: nothing, floor: () => 0 }
  const folding = new Folding({ folds: {}, bases, ...rest })
  return new Tail({ limits, now: () => 0, folding, ...change })
}

function messageAt(seq: number, channel = 'main'): Message {
  return { ...draft(`w1-${seq}`, 'x', channel), seq, acceptedAt: 0 }
}

function fill(tail: Tail, count: number): void {
  for (let n = 1; n <= count; n += 1) tail.add(messageAt(tail.head + 1), 10)
}

const readTail = (tail: Tail, seq: number) => tail.inMemory(tail.retention.after(seq, main).held)

test('a tail reads exactly what it holds after dropping thousands', () => {
  const tail = openTail()
  for (let n = 1; n <= 5000; n += 1) {
    fill(tail, 1)
    const [first] = readTail(tail, 0) ?? []
    assert.equal(first?.seq, Math.max(1, n - 99))
  }
  assert.equal(readTail(tail, 0)?.length, 100)
})

test('a tail counts only the bytes of held messages', () => {
  const tail = openTail({ limits: { ...tailBounds, messages: 2000, bytes: 5000 } })
  const sizeAt = (seq: number) => (seq % 7) + 1
  for (let seq = 1; seq <= 8000; seq += 1) tail.add(messageAt(seq), sizeAt(seq))
  let least = 8000
  for (let sum = sizeAt(least); sum <= 5000; sum += sizeAt(least)) least -= 1
  assert.equal(tail.retention.floorOf('main'), least)
})

test('a tail finds the ids of held and newest messages, and no others', () => {
  const tail = openTail({ limits: { ...tailBounds, messages: 3 } })
  tail.add(messageAt(1, 'quiet'), 1)
  fill(tail, 4)
  const find = (seq: number, channel: string) => tail.find({ id: `w1-${seq}`, from: 'w1', channel })?.seq
  const known = () => [1, 2, 3, 4, 5].filter((seq) => find(seq, seq === 1 ? 'quiet' : 'main') === seq)
  assert.deepEqual(known(), [1, 4, 5])
  tail.retention.erase('quiet', 2)
  tail.add(messageAt(6, 'quiet'), 1)
  assert.deepEqual(known(), [4, 5])
  assert.deepEqual([find(6, 'quiet'), find(6, 'main')], [6, undefined])
})

test('in front of a file, a tail has the recent messages in memory and knows of the others', () => {
  const tail = openTail({ memory: { messages: 3, bytes: 1000 } })
  fill(tail, 10)
  assert.deepEqual(seqsOf(readTail(tail, 7) ?? []), [8, 9, 10])
  assert.equal(readTail(tail, 6), null)
  assert.equal(tail.retention.after(0, main).held.length, 10)
  assert.equal(tail.find({ id: 'w1-7', from: 'w1', channel: 'main' }), undefined)
  tail.add(messageAt(11), 2000)
  assert.deepEqual(seqsOf(readTail(tail, 10) ?? []), [11])
  assert.equal(readTail(tail, 9), null)
})

test('a tail starts at a given floor with the newest messages up to it', () => {
  const tail = openTail({ floor: 7, newest: [messageAt(3), messageAt(7, 'other')] })
  const third = { id: 'w1-3', from: 'w1', channel: 'main' }
  assert.deepEqual([tail.head, tail.find(third)?.seq], [7, 3])
  assert.deepEqual(seqsOf(tail.newestOn(['other', 'main'])), [3, 7])
  tail.add(messageAt(8), 1)
  assert.equal(tail.find(third), undefined)
  assert.deepEqual(
    [...tail.heads],
    [
      ['main', 8],
      ['other', 7],
    ],
  )
})

test('a tail charges the writer whom the application vouches for', () => {
  const tail = openTail({ limits: { ...tailBounds, bytes: 10_000 } })
  const add = (channel: string, user: string | undefined, count: number) => {
    for (let n = 0; n < count; n += 1) {
      const seq = tail.head + 1
      const body = new KeptJson(JSON.stringify({ data: n, user }), user ?? null)
      tail.add(
        { ...draft(`w1-${seq}`, 'x', channel), kind: 'json', body, seq, acceptedAt: 0 } as Message,
        100,
      )
    }
  }
  add('victim', 'ann', 20)
  for (const n of countTo(300)) add(`evil.${n % 30}`, 'eve', 1)
  assert.equal(tail.retention.after(0, ['victim']).held.length, 20)
})
