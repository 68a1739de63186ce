// Random lives of a channel's store: each own message is in one list at a time, and in none only once it is over.
// CROSSWIND_ROUNDS=5000 runs 5,000 lives, with seeds from CROSSWIND_SEED on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bodies, Draft, Stored } from '../protocol/messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { createSeededRandom, nothingPlanned, type Random } from '../protocol/time.ts'
import type { Crosswind, OpenChannel, Past, RoomMessage, Subscriber } from './connect.ts'
import { keptPolicy } from './document-policy.ts'
import type { Link } from './link.ts'
import { Outbox, pendingDraft } from './outbox.ts'
import { type ChannelSnapshot, type ChannelStore, Stores } from './stores.ts'
import { settled } from './testing.ts'
import { BusyError, RefusedError } from './transports/transport.ts'

const lives = Number(process.env.CROSSWIND_ROUNDS ?? 200)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)
const stepsInLife = 80

const window = 'w1'
const limit = 4
const busyMs = 50

/** What this window knows of one of its messages. */
interface Fate {
  readonly data: string
  /** The answer that came, if one did. */
  answer: 'none' | 'stored' | 'refused' | 'withdrawn'
  /** It has been in the list. */
  isShown: boolean
  /** It is in the log before the messages that the list began with. */
  isBefore: boolean
  /** Dropped or withdrawn by the user, or lost in a gap: it need not be anywhere. */
  isGone: boolean
}

interface Send {
  readonly draft: Draft
  /** The server's, once it has taken the message. */
  answer: Stored | Error | null
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
}

class Life {
  readonly story: string[] = []
  readonly #random: Random
  readonly #time = createManualTime(0)
  readonly #outbox: Outbox
  readonly #fates = new Map<string, Fate>()
  readonly #failures: unknown[] = []
  readonly #answers = new Map<string, PromiseWithResolvers<{ readonly seq: number }>>()
  #store: ChannelStore<unknown>
  readonly #planned: (() => void)[] = []
  /** What the subscriber was told last. */
  #told: ChannelSnapshot<unknown> | null = null
  // The server
  #log: RoomMessage<unknown>[] = []
  #seq = 0
  #sends: Send[] = []
  // The stream
  #subscriber: Subscriber<unknown> | null = null
  #position = 0
  #page: PromiseWithResolvers<Past<unknown>> | null = null

  constructor(random: Random) {
    this.#random = random
    const bounds = { messages: 100, bytes: 100_000 }
    this.#outbox = new Outbox({ window, timers: this.#time }, keptPolicy({ window, bounds, random }), {
      onOutbox: nothingPlanned,
      onStored: ({ id }, seq) => this.#answers.get(id)?.resolve({ seq }),
      onRefused: ({ id }, sentence, code) => this.#answers.get(id)?.reject(new RefusedError(code, sentence)),
    })
    const channel = {
      link: Promise.resolve({ outbox: this.#outbox } as Link),
      hold: () => nothingPlanned,
      publish: (_kind: string | undefined, data: unknown) => this.#queue('room.1', data),
      readBack: () => {
        this.#page = Promise.withResolvers()
        return this.#page.promise
      },
      subscribe: (subscriber: Subscriber<unknown>) => {
        this.#subscriber = subscriber
        return nothingPlanned
      },
    } as unknown as OpenChannel
    const connection = { open: () => channel } as unknown as Crosswind
    const later = (run: () => void) => {
      this.#planned.push(run)
      return nothingPlanned
    }
    this.#store = new Stores(() => connection, { timers: { later } }).channel('room.1', { limit })
  }

  async begin(): Promise<void> {
    for (let count = this.#below(3); count > 0; count -= 1) this.#publish()
    this.#store.subscribe((snapshot) => this.#hear(snapshot))
    // The subscription takes effect after the turn.
    this.#endTurn()
    await settled()
    this.#failures.length = 0
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#publish(),
      () => this.#publish(),
      () => this.#random() < 0.2 && this.#adopt(),
      () => this.#queue('room.2', 'elsewhere').catch(nothingPlanned),
      () => this.#append('other', 'w2'),
      () => this.#take(),
      () => this.#take(),
      () => this.#answer(),
      () => this.#answer(),
      () => this.#stream(),
      () => this.#stream(),
      () => this.#endPage(),
      () => this.#connect(),
      () => this.#disconnect(),
      () => this.#time.advance(busyMs),
      () => this.#drop(),
      () => this.#endTurn(),
      () => this.#random() < 0.2 && this.#gap(),
      () => this.#random() < 0.2 && this.#deny(),
    ]
    steps[this.#below(steps.length)]?.()
    await settled()
    this.#check(this.#store.getSnapshot())
    for (const failure of this.#failures) throw failure
  }

  /** Everything is answered and has come: only what was refused is pending. */
  async end(): Promise<void> {
    this.#endPage()
    await settled()
    this.#connect()
    for (let round = 0; this.#outbox.drafts.pending.length > 0; round += 1) {
      assert.ok(round < 200, 'a message is not sent')
      this.#time.advance(busyMs)
      this.#take()
      this.#answer()
      await settled()
    }
    while (this.#position < this.#seq) this.#stream()
    this.#endTurn()
    const snapshot = this.#store.getSnapshot()
    this.#check(snapshot)
    assert.deepEqual(
      snapshot.pending.filter(({ error }) => !error),
      [],
    )
    for (const failure of this.#failures) throw failure
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  // The user

  #publish(): void {
    const data = this.#newText()
    this.story.push(`publishes ${data}`)
    this.#store.publish(data).catch(nothingPlanned)
  }

  #newText(): string {
    const data = `t${this.#fates.size + 1}`
    this.#fates.set(data, { data, answer: 'none', isShown: false, isBefore: false, isGone: false })
    return data
  }

  /** A closed window left a message. */
  #adopt(): void {
    const data = this.#newText()
    const draft = {
      id: `w0-${data}`,
      channel: 'room.1',
      kind: 'json',
      from: 'w0',
      at: 0,
      body: { data },
    } as const
    this.story.push(`adopts ${data}`)
    this.#outbox.change({ pending: [...this.#outbox.drafts.pending, pendingDraft(draft)] })
  }

  async #queue(channel: string, data: unknown): Promise<{ readonly seq: number }> {
    const draft = this.#outbox.publish(channel, 'json', { data } as Bodies['json'])
    assert.ok(draft, 'there is no room')
    const answer = Promise.withResolvers<{ readonly seq: number }>()
    this.#answers.set(draft.id, answer)
    return answer.promise
  }

  #drop(): void {
    const { pending } = this.#store.getSnapshot()
    const one = pending[this.#below(pending.length)]
    const fate = one && this.#fates.get(String(one.data))
    if (!one || !fate) return
    this.story.push(`drops ${one.data}`)
    const draft = this.#outbox.drafts.pending.find((other) => other.draft.id === one.id)
    if (draft?.state === 'waiting') fate.answer = 'withdrawn'
    // Any other stays.
    fate.isGone ||= Boolean(one.error) || fate.answer === 'withdrawn'
    this.#store.drop(one.id)
  }

  /** The subscriber is told what has changed since the first change in this turn. */
  #endTurn(): void {
    this.story.push('the turn ends')
    for (const run of this.#planned.splice(0)) run()
    assert.equal(this.#told, this.#store.getSnapshot())
  }

  // The server

  #append(data: unknown, from: string, id = `w2-${this.#seq}`): number {
    this.#seq += 1
    const seq = this.#seq
    const envelope = { channel: 'room.1', at: 0, acceptedAt: 0, user: undefined }
    this.#log.push({ ...envelope, id, from, seq, cursor: `life:${seq}`, data })
    return seq
  }

  /** Takes the oldest message that has arrived. */
  #take(): void {
    const send = this.#sends.find(({ answer }) => answer === null)
    if (!send) return
    const { id, channel, from, body } = send.draft
    const known = this.#log.find((one) => one.id === id)
    const dice = this.#random()
    if (known) send.answer = { type: 'stored', id, seq: known.seq }
    else if (dice < 0.2) send.answer = new RefusedError('declined', 'No.')
    else if (dice < 0.3) send.answer = new BusyError('Later.', busyMs)
    else {
      const { data } = body as { readonly data: unknown }
      const seq = channel === 'room.1' ? this.#append(data, from, id) : 0
      send.answer = { type: 'stored', id, seq }
    }
    this.story.push(`the server takes ${id}`)
  }

  #answer(): void {
    const ready = this.#sends.filter(({ answer }) => answer !== null)
    const send = ready[this.#below(ready.length)]
    if (!send) return
    this.#sends = this.#sends.filter((one) => one !== send)
    const { draft, answer, resolve, reject } = send
    const fate = this.#fateOf(draft)
    this.story.push(`${draft.id} is answered: ${answer instanceof Error ? answer.message : 'stored'}`)
    if (fate?.answer === 'none' && answer instanceof RefusedError) fate.answer = 'refused'
    if (fate?.answer === 'none' && !(answer instanceof Error)) fate.answer = 'stored'
    if (answer instanceof Error) reject(answer)
    else if (answer) resolve(answer)
  }

  #fateOf({ channel, body }: Draft): Fate | undefined {
    return channel === 'room.1' ? this.#fates.get(String((body as { data: unknown }).data)) : undefined
  }

  /** Nobody is let in: with this policy drafts wait, though their senders get an answer. */
  #deny(): void {
    this.story.push('is not let in')
    this.#outbox.refuse(new RefusedError('no-session', 'No.'))
  }

  #connect(): void {
    this.#disconnect()
    this.story.push('connects')
    this.#outbox.connect(
      (draft) => {
        if (this.#fateOf(draft)?.answer === 'withdrawn') this.#failures.push(`${draft.id} was withdrawn`)
        const { promise, resolve, reject } = Promise.withResolvers<Stored>()
        this.#sends.push({ draft, answer: null, resolve, reject })
        return promise
      },
      1 + this.#below(4),
      nothingPlanned,
    )
  }

  /** What is under way may arrive; its answers do not. */
  #disconnect(): void {
    this.story.push('disconnects')
    while (this.#random() < 0.5) this.#take()
    this.#outbox.disconnect()
    this.#sends = []
  }

  // The stream

  #endPage(): void {
    const page = this.#page
    if (!page) return
    this.#page = null
    this.story.push(`a page to ${this.#seq}`)
    this.#position = this.#seq
    const messages = this.#log.slice(-limit)
    for (const one of messages) this.#shows(one)
    for (const { data } of this.#log.slice(0, -limit)) {
      const fate = this.#fates.get(String(data))
      if (fate) fate.isBefore = true
    }
    page.resolve({ messages, cursor: `life:${this.#seq}`, hasEarlier: false })
  }

  #stream(): void {
    const next = this.#log.find(({ seq }) => seq > this.#position)
    if (!next || !this.#subscriber) return
    this.story.push(`the stream has ${next.data}`)
    this.#position = next.seq
    this.#shows(next)
    this.#subscriber.onMessage(next)
  }

  #shows({ data }: RoomMessage<unknown>): void {
    const fate = this.#fates.get(String(data))
    if (fate) fate.isShown = true
  }

  /** The log is another one, without the messages of the first; its numbers begin anew. */
  #gap(): void {
    if (!this.#subscriber) return
    this.story.push('the log is replaced')
    this.#log = []
    this.#seq = 0
    this.#position = 0
    for (const send of this.#sends) send.answer = null
    for (const fate of this.#fates.values()) {
      if (fate.answer === 'stored') fate.isGone = true
      // The server gets it once more.
      if (fate.answer === 'none') Object.assign(fate, { isShown: false, isBefore: false })
    }
    this.#subscriber.onGap?.()
  }

  // Invariants

  #hear(snapshot: ChannelSnapshot<unknown>): void {
    this.#told = snapshot
    try {
      this.#check(snapshot)
    } catch (error) {
      this.#failures.push(error)
    }
  }

  #check({ messages, pending }: ChannelSnapshot<unknown>): void {
    const numberOf = ({ data }: { readonly data: unknown }) => Number(String(data).slice(1))
    const numbers = pending.map(numberOf)
    assert.ok(!numbers.includes(Number.NaN), 'a message of another channel is pending')
    assert.deepEqual(
      numbers,
      numbers.toSorted((one, other) => one - other),
      'the order has changed',
    )
    for (const { data, answer, isShown, isBefore, isGone } of this.#fates.values()) {
      const inList = messages.filter((one) => one.data === data).length
      const found = pending.filter((one) => one.data === data)
      assert.ok(inList + found.length <= 1, `${data} is shown twice`)
      if (isGone || (isBefore && answer === 'stored'))
        assert.equal(found.length, 0, `${data} is still pending`)
      else if (isShown) assert.equal(found.length, 0, `${data} is pending again`)
      else {
        assert.equal(found.length, 1, `${data} is missing`)
        assert.equal(found[0]?.error !== undefined, answer === 'refused', `${data} has the wrong error`)
      }
    }
  }
}

test('whatever happens, an own message is pending until it is in the list, refused or withdrawn', async () => {
  for (let seed = firstSeed; seed < firstSeed + lives; seed += 1) {
    const life = new Life(createSeededRandom(seed))
    try {
      await life.begin()
      for (let step = 0; step < stepsInLife; step += 1) await life.step()
      await life.end()
    } catch (error) {
      throw new Error(`Life ${seed}:\n${life.story.join('\n')}`, { cause: error })
    }
  }
})
