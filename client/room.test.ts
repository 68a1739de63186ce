// Readers of one channel, over a log in memory: whatever happens, each gets every message once, in order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../protocol/messages.ts'
import { createSeededRandom, nothingPlanned, type Random } from '../protocol/time.ts'
import type { ChannelHandle, Page } from './follow.ts'
import { Channel, ChannelRoom } from './room.ts'
import { settled } from './testing.ts'

const seed = Number(process.env.CROSSWIND_SEED ?? 1)
const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 200)

/** A log of one channel, with a stream that loses messages and pages that answer later, in any order. */
class FakeLog {
  readonly messages: Message[] = []
  readonly channel: Channel
  readonly #random: Random
  #waiting: (() => void)[] = []
  #streamed = 0
  #isStreaming = true
  hasLeft = false

  constructor(random: Random) {
    this.#random = random
    const handle: ChannelHandle = {
      link: new Promise(() => undefined),
      page: (after) => new Promise((resolve) => this.#waiting.push(() => resolve(this.#pageAfter(after)))),
      pageBefore: async (kind, { before = this.messages.length + 1, limit = 50 }) => {
        const earlier = this.messages.slice(0, before - 1).filter((message) => message.kind === kind)
        const messages = earlier.slice(-limit)
        return { messages, cursor: this.cursor, hasEarlier: messages.length < earlier.length }
      },
      publish: async () => ({ seq: this.store() }),
      show: () => undefined,
      fail: (error) => assert.fail(String(error)),
      leave: () => {
        this.hasLeft = true
      },
    }
    this.channel = new Channel('room.1', undefined, () => handle)
  }

  store(kind = 'json'): number {
    const seq = this.messages.length + 1
    const message = {
      id: `w1-${seq}`,
      channel: 'room.1',
      kind,
      from: 'w1',
      at: 0,
      acceptedAt: 0,
      seq,
    }
    this.messages.push({ ...message, body: { data: seq } } as Message)
    return seq
  }

  /** Sends what the stream has not sent yet, or some of it. */
  stream(): void {
    while (this.#isStreaming && this.#streamed < this.messages.length && this.#random() < 0.8) {
      const message = this.messages[this.#streamed]
      this.#streamed += 1
      if (message) this.channel.take(message, `life:${message.seq}`)
    }
  }

  join(): void {
    this.#streamed = this.messages.length
    void this.channel.joined(this.cursor, this.cursor)
  }

  /** The stream is lost, and a later one begins at the end of the log. */
  async lose(): Promise<void> {
    this.#streamed = this.messages.length
    await this.channel.missed('', this.cursor)
  }

  get cursor(): string {
    return `life:${this.messages.length}`
  }

  /** Answers some of the requests for pages. */
  answer(most = Number.POSITIVE_INFINITY): void {
    const answered = this.#waiting.splice(0, most)
    for (const answer of answered) answer()
  }

  #pageAfter(after: string): Page {
    const from = after === 'start' ? 0 : Number(after.split(':')[1])
    const messages = this.messages.slice(from, from + 3)
    const cursor = `life:${messages.at(-1)?.seq ?? Math.max(from, 0)}`
    return { messages, cursor, recovered: true, channelsPerStream: 64 }
  }
}

/** Numbers after `from`, up to the end of the log. */
const after = (from: number, log: FakeLog) => log.messages.slice(from).map(({ seq }) => seq)

async function finish(log: FakeLog): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) {
    log.stream()
    log.answer()
    await settled()
  }
}

test('a room keeps its place while nobody listens', async () => {
  const log = new FakeLog(() => 0)
  const room = new ChannelRoom(log.channel, {})
  log.join()
  await settled()
  log.store()
  await finish(log)
  const heard: unknown[] = []
  const hear = ({ data }: { readonly data: unknown }) => void heard.push(data)
  const off = room.on('message', hear)
  await finish(log)
  off()
  for (let count = 0; count < 7; count += 1) log.store()
  await finish(log)
  assert.deepEqual(heard, [1])
  room.on('message', hear)
  await finish(log)
  assert.deepEqual(heard, [1, 2, 3, 4, 5, 6, 7, 8])
})

test('a loop that begins after a publish has what was published before', async () => {
  const log = new FakeLog(() => 0)
  const room = new ChannelRoom(log.channel, { from: 'start' })
  log.store()
  log.join()
  await settled()
  await room.publish('mine')
  const loop = room[Symbol.asyncIterator]()
  const both = [loop.next(), loop.next()]
  await finish(log)
  assert.deepEqual(
    (await Promise.all(both)).map(({ value }) => value?.data),
    [1, 2],
  )
  const ended = loop.next()
  assert.deepEqual(await loop.return?.(), { done: true, value: undefined })
  assert.deepEqual(await ended, { done: true, value: undefined })
})

test('the channel is left with its last reader', async () => {
  const log = new FakeLog(() => 0)
  const room = new ChannelRoom(log.channel, {})
  log.channel.room = room
  const unsubscribe = log.channel.subscribe({ onMessage: () => undefined })
  room.leave()
  assert.equal(log.hasLeft, false)
  unsubscribe()
  unsubscribe()
  assert.equal(log.hasLeft, true)
  await assert.rejects(room.publish('late'), /was left/)
})

test('a channel is kept while it is held', () => {
  const log = new FakeLog(() => 0)
  const release = log.channel.hold(() => assert.fail())
  log.channel.subscribe({ onMessage: () => assert.fail() })()
  assert.equal(log.hasLeft, false)
  release()
  assert.equal(log.hasLeft, true)
})

test('reading back asks for messages of one kind, and gives each its cursor', async () => {
  const log = new FakeLog(() => 0)
  log.store()
  for (let count = 0; count < 5; count += 1) log.store('other')
  const { messages, hasEarlier, cursor } = await log.channel.readBack('json', { limit: 2 })
  assert.deepEqual([messages.map(({ data }) => data), hasEarlier, cursor], [[1], false, 'life:6'])
  assert.equal(messages[0]?.cursor, 'life:1')
})

test('a handler that leaves hears nothing more, not of the page that it was given either', async () => {
  const log = new FakeLog(() => 0)
  for (let count = 0; count < 8; count += 1) log.store()
  const heard: unknown[] = []
  const off = log.channel.subscribe({
    from: 'start',
    onMessage({ data }) {
      heard.push(data)
      if (data === 2) off()
    },
  })
  log.join()
  await finish(log)
  assert.deepEqual(heard, [1, 2])
})

test(`any order of losses, pauses and late answers: each reader gets every message once, in order (${rounds} rounds from seed ${seed})`, async () => {
  for (let round = 0; round < rounds; round += 1) {
    const random = createSeededRandom(seed + round)
    const log = new FakeLog(random)
    const room = new ChannelRoom(log.channel, { from: 'start' })
    log.channel.room = room
    const inRoom: unknown[] = []
    let off = nothingPlanned
    let isListening = false
    const subscribers: { readonly from: number; readonly heard: unknown[] }[] = []
    const toggle = () => {
      isListening = !isListening
      if (isListening) off = room.on('message', ({ data }) => void inRoom.push(data))
      else off()
    }
    const subscribe = () => {
      const from = random() < 0.5 ? 0 : log.messages.length
      const heard: unknown[] = []
      subscribers.push({ from, heard })
      log.channel.subscribe({
        from: from === 0 ? 'start' : `life:${from}`,
        onMessage: ({ data }) => void heard.push(data),
      })
    }
    const actions = [
      () => void log.store(),
      () => void log.store(),
      () => log.stream(),
      () => log.answer(1),
      () => void log.lose(),
      toggle,
      subscribe,
    ]
    const joinsAt = Math.floor(random() * 20)
    for (let step = 0; step < 60; step += 1) {
      if (step === joinsAt) log.join()
      else if (step > joinsAt || random() < 0.3) actions[Math.floor(random() * actions.length)]?.()
      if (random() < 0.5) await settled()
    }
    if (!isListening) toggle()
    await finish(log)
    assert.deepEqual(inRoom, after(0, log), `seed ${seed + round}: the room`)
    for (const { from, heard } of subscribers)
      assert.deepEqual(heard, after(from, log), `seed ${seed + round}: a subscriber from ${from}`)
  }
})
