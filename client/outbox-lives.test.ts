// Random lives of an outbox: no draft is lost, duplicated, reordered, or forgotten too early.
// CROSSWIND_ROUNDS=5000 runs 5,000 lives, with seeds from CROSSWIND_SEED on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bodies, Draft, Stored, UpdateBody } from '../protocol/messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { createSeededRandom, type Random } from '../protocol/time.ts'
import { documentPolicy, keptPolicy, mergingPolicy } from './document-policy.ts'
import type { UnstoredDraft } from './draft-database.ts'
import { DraftKeeper } from './draft-keeper.ts'
import { isInFlight, Outbox } from './outbox.ts'
import { settled } from './testing.ts'
import { BusyError, RefusedError } from './transports/transport.ts'

const lives = Number(process.env.CROSSWIND_ROUNDS ?? 100)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)
const stepsInLife = 80

const window = 'w1'
const bounds = { messages: 8, bytes: 1800 }
const pauseMs = 15
const busyMs = 50

type Door = 'page' | 'drafts'
type ContentKind = 'update' | 'title' | 'json'

const fieldOf = { update: 'update', title: 'title', json: 'data' } as const
const bodyOf = (kind: ContentKind, text: string) => ({ [fieldOf[kind]]: text }) as unknown as Bodies['json']
const mergeUpdates = (updates: readonly UpdateBody[]) => ({
  update: updates.map(({ update }) => update).join('+'),
})
/** Merged updates have several. */
const textsIn = ({ body }: Draft): string[] => String(Object.values(body as object)[0]).split('+')

/** The saved copy of the last one stays in the browser, for a window that may send it. */
const refusals = ['too-large', 'id-taken', 'not-your-name', 'not-invited-there'] as const

/** A draft that has neither ended nor been replaced. */
interface Live {
  readonly kind: string
  readonly channel: string
  readonly from: string
  readonly texts: readonly string[]
  readonly edits: number
  readonly isRenamed: boolean
}

interface PendingSend {
  readonly draft: Draft
  readonly round: number
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: Error) => void
}

interface PendingWrite {
  readonly added: readonly UnstoredDraft[]
  readonly removed: readonly string[]
  readonly resolve: (isDone: boolean) => void
}

class Life {
  readonly #door: Door
  readonly #random: Random
  readonly #time = createManualTime(0)
  readonly #outbox: Outbox
  readonly #keeper: DraftKeeper
  readonly #store = {
    write: (added: readonly UnstoredDraft[], removed: readonly string[]) => this.#write(added, removed),
    look: async () => undefined,
    close: async () => undefined,
    onGone: () => undefined,
  }
  /** In the order of sending. */
  readonly #live = new Map<string, Live>()
  readonly #endings = new Map<string, 'stored' | 'refused' | 'renamed'>()
  /** How often each text that the outbox took has ended. */
  readonly #ends = new Map<string, number>()
  /** Refused, but kept for a window that may send it. */
  readonly #left = new Set<string>()
  /** Drafts that the browser keeps. */
  readonly #kept = new Map<string, UnstoredDraft>()
  readonly #writes: PendingWrite[] = []
  readonly #sends: PendingSend[] = []
  /** As first sent. */
  readonly #sent = new Map<string, string>()
  /** Over this connection, since its last pause. */
  readonly #sentNow = new Set<string>()
  #round = 0
  #busyUntil: number | null = null
  #maxInFlight = 0
  #isClosed = false
  /** Ids of the drafts that wait for answers that `refuse` gives. */
  #answered: string[] | null = null
  readonly #failures: unknown[] = []
  #texts = 0
  #windows = 1
  /** Events so far, for the report of a life that fails. */
  readonly story: string[] = []

  constructor(door: Door, random: Random) {
    this.#door = door
    this.#random = random
    const own = { window, random, bounds, timers: this.#time }
    const policy =
      door === 'page'
        ? mergingPolicy(documentPolicy(own), { pauseMs, maxBytes: 1000, mergeUpdates })
        : keptPolicy(own)
    this.#outbox = new Outbox(own, policy, {
      onOutbox: () => undefined,
      onStored: ({ id }) => this.#hear(() => this.#ended(id, 'stored')),
      onRefused: (draft, _, code) => this.#hear(() => this.#refused(draft, code)),
      onRenamed: (id, first, ...others) =>
        this.#hear(() => {
          if (first && others.length > 0) this.#halved(id, [first, ...others])
          else if (first) this.#renamed(id, first)
        }),
    })
    this.#keeper = new DraftKeeper(this.#outbox, {
      ...own,
      store: this.#store,
      savesOnClose: door === 'drafts',
    })
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#publish(),
      () => this.#publish(),
      () => this.#publish(),
      () => this.#answer(),
      () => this.#answer(),
      () => this.#answer(),
      () => this.#endWrite(this.#random() < 0.7),
      () => this.#endWrite(this.#random() < 0.7),
      () => this.#advance(Math.floor(this.#random() * 300)),
      () => this.#connect(1 + Math.floor(this.#random() * 4)),
      () => this.#disconnect(),
      () => this.#adopt(),
      () => this.#flush(),
      () => this.#refuse(),
      () => this.#deleteDatabase(),
      () => this.#leave(),
    ]
    await this.#pick(steps)()
    await settled()
    this.#check()
  }

  /** The server answers all drafts, and the browser has room: each text is in one ended draft, and none is kept. */
  async endAnswered(): Promise<void> {
    this.#connect(2)
    for (let n = 0; this.#live.size > 0; n += 1) {
      assert.ok(n < 200, 'a draft is not sent')
      this.#advance(100)
      for (const { draft, resolve } of this.#sends.splice(0))
        resolve({ type: 'stored', id: draft.id, seq: 1 })
      await settled()
    }
    await this.#endWrites()
    this.#outbox.flush()
    await this.#endWrites()
    this.#check()
    const nothing = { unstored: 0, persisted: 0, isFull: false, canPersist: true }
    assert.deepEqual(this.#outbox.state, nothing)
    for (const id of this.#kept.keys()) assert.ok(this.#left.has(id), `${id} is still kept`)
    for (const [text, ends] of this.#ends) assert.equal(ends, 1, `${text} ended ${ends} times`)
  }

  /** The page's outbox has saved what it could; the one of `drafts` saves the rest, for another window. */
  async endClosed(): Promise<void> {
    await this.#endWrites()
    const before = [...this.#kept.keys()]
    const { isFull } = this.#outbox.state
    this.#outbox.close()
    this.#isClosed = true
    await this.#endWrites()
    this.#advance(1000)
    for (const { reject } of this.#sends.splice(0)) reject(new RefusedError('too-large', 'No.'))
    await this.#endWrites()
    for (const failure of this.#failures) throw failure
    if (this.#door === 'page') assert.deepEqual([...this.#kept.keys()], before)
    else if (!isFull) this.#checkKept()
  }

  #pick<One>(all: readonly One[]): One {
    return all[Math.floor(this.#random() * all.length)] as One
  }

  // The user

  #newText(): string {
    this.#texts += 1
    return `t${this.#texts}`
  }

  #publish(): void {
    const kind = this.#pick(['update', 'update', 'update', 'title', 'json'] as const)
    const channel = this.#pick(['one', 'one', 'other'])
    const text = this.#newText() + (this.#random() < 0.08 ? 'x'.repeat(900) : '')
    const draft = this.#outbox.publish(channel, kind, bodyOf(kind, text))
    this.story.push(`publishes ${kind} ${text.slice(0, 8)} on ${channel}: ${draft?.id ?? 'no room'}`)
    if (draft === null) {
      assert.ok(kind === 'title' || kind === 'json', 'content was rejected')
      return
    }
    this.#ends.set(text, 0)
    const joined = this.#live.get(draft.id)
    if (!joined) this.#add(draft, [text])
    else {
      assert.deepEqual([joined.kind, joined.channel, joined.from], ['update', channel, window])
      assert.ok(kind === 'update' && !this.#sent.has(draft.id), 'a sent draft has changed')
      assert.equal([...this.#live.keys()].at(-1), draft.id)
      this.#live.set(draft.id, { ...joined, texts: [...joined.texts, text], edits: joined.edits + 1 })
    }
  }

  #add({ id, kind, channel, from }: Draft, texts: readonly string[], edits = 1, isRenamed = false): void {
    assert.ok(!this.#live.has(id) && !this.#endings.has(id), `${id} is used twice`)
    this.#live.set(id, { kind, channel, from, texts, edits, isRenamed })
  }

  // Events of the outbox

  /** Fails the life, and not the outbox. */
  #hear(event: () => void): void {
    try {
      event()
    } catch (error) {
      this.#failures.push(error)
    }
  }

  #ended(id: string, how: 'stored' | 'refused' | 'renamed'): Live {
    const live = this.#live.get(id)
    if (!live) assert.fail(`${id} is ${how}, and was ${this.#endings.get(id)}`)
    this.story.push(`${id} is ${how}`)
    this.#live.delete(id)
    this.#endings.set(id, how)
    if (how !== 'renamed')
      for (const text of live.texts) this.#ends.set(text, (this.#ends.get(text) ?? 0) + 1)
    return live
  }

  #refused({ id, kind }: Draft, code: string): void {
    if (this.#answered) {
      this.#answered.push(id)
      return
    }
    this.#ended(id, 'refused')
    const isUpdate = this.#door === 'drafts' && kind === 'update'
    const isHeld = isUpdate || (this.#door === 'page' && code === 'not-invited-there' && kind !== 'json')
    if (isHeld) this.#left.add(id)
  }

  #renamed(id: string, draft: Draft): void {
    const { kind, channel, texts, edits, isRenamed } = this.#ended(id, 'renamed')
    assert.ok(!isRenamed && kind !== 'json')
    assert.deepEqual([draft.from, draft.kind, draft.channel, textsIn(draft)], [window, kind, channel, texts])
    this.#add(draft, texts, edits, true)
  }

  /** The halves have all texts of the draft, and go before waiting drafts. */
  #halved(id: string, halves: readonly Draft[]): void {
    const old = this.#ended(id, 'renamed')
    assert.deepEqual(halves.flatMap(textsIn), old.texts)
    const pending = new Map(this.#outbox.drafts.pending.map((one) => [one.draft.id, one]))
    const added = halves.map((half): [string, Live] => {
      assert.ok(!this.#endings.has(half.id), `${half.id} is used twice`)
      return [half.id, { ...old, texts: textsIn(half), edits: pending.get(half.id)?.edits ?? 0 }]
    })
    assert.equal(
      added.reduce((sum, [, { edits }]) => sum + edits, 0),
      old.edits,
    )
    const live = new Map([...this.#live, ...added])
    this.#live.clear()
    for (const one of pending.keys()) this.#live.set(one, live.get(one) ?? assert.fail(`${one} is unknown`))
  }

  // The server

  #connect(maxInFlight: number): void {
    this.story.push(`connects, ${maxInFlight} in flight`)
    this.#newRound(maxInFlight)
    this.#outbox.connect(
      (draft) => this.#send(draft),
      maxInFlight,
      () => this.#disconnect(),
    )
  }

  #disconnect(): void {
    this.story.push('disconnects')
    this.#newRound(0)
    this.#outbox.disconnect()
  }

  #newRound(maxInFlight = this.#maxInFlight): void {
    this.#round += 1
    this.#maxInFlight = maxInFlight
    this.#busyUntil = null
    this.#sentNow.clear()
  }

  #send(draft: Draft): Promise<Stored> {
    this.#hear(() => this.#checkSent(draft))
    return new Promise((resolve, reject) => {
      this.#sends.push({ draft, round: this.#round, resolve, reject })
    })
  }

  #checkSent(draft: Draft): void {
    const { id } = draft
    assert.ok(this.#maxInFlight > 0, 'sends without a connection')
    if (this.#busyUntil !== null) {
      assert.ok(this.#time.now() >= this.#busyUntil, 'sends to a busy server')
      this.#newRound()
    }
    // A draft that is being published is not known yet.
    const next = [...this.#live.keys()].find((one) => !this.#sentNow.has(one)) ?? id
    assert.equal(id, next, 'sent out of order')
    this.#sentNow.add(id)
    const inFlight = [...this.#live.keys(), id].filter((one) => this.#sentNow.has(one))
    assert.ok(new Set(inFlight).size <= this.#maxInFlight)
    const content = JSON.stringify(draft)
    assert.equal(this.#sent.get(id) ?? content, content, 'a sent draft has changed')
    this.#sent.set(id, content)
    assert.deepEqual(textsIn(draft), this.#live.get(id)?.texts ?? textsIn(draft))
  }

  #answer(): void {
    const [send] = this.#sends.splice(Math.floor(this.#random() * this.#sends.length), 1)
    if (!send) return
    const { draft, round, resolve, reject } = send
    const kind = this.#pick(['stored', 'stored', 'stored', 'stored', 'refused', 'refused', 'busy', 'lost'])
    const code = this.#pick(refusals)
    this.story.push(`answers ${draft.id}: ${kind === 'refused' ? code : kind}`)
    if (kind === 'stored') resolve({ type: 'stored', id: draft.id, seq: 1 })
    else if (kind === 'refused') reject(new RefusedError(code, 'No.'))
    else if (kind === 'busy') {
      if (round === this.#round) this.#busyUntil ??= this.#time.now() + busyMs
      reject(new BusyError('Later.', busyMs))
    } else reject(new Error('lost'))
  }

  #advance(byMs: number): void {
    this.story.push(`${byMs} ms pass`)
    this.#time.advance(byMs)
    if (this.#busyUntil !== null && this.#time.now() >= this.#busyUntil) this.#newRound()
  }

  /**
   * The server refuses every window. The page's drafts end; with `drafts`, waiting callers get an answer, and all
   * are sent later.
   */
  #refuse(): void {
    // Rarely in the page: all its drafts end, and a life without drafts tests little.
    if (this.#door === 'page' && this.#random() < 0.7) return
    this.story.push('is not let in')
    const meant = [...this.#live].filter(([, { channel }]) => channel === 'one')
    const answered: string[] = []
    if (this.#door === 'drafts') this.#answered = answered
    this.#outbox.refuse(new RefusedError('no-session', 'No.'), 'one')
    this.#answered = null
    if (this.#door === 'page') for (const [id] of meant) assert.equal(this.#endings.get(id), 'refused')
    else
      assert.deepEqual(
        answered,
        meant.filter(([, { from }]) => from === window).map(([id]) => id),
      )
  }

  // The page

  async #flush(): Promise<void> {
    this.story.push('flushes')
    this.#outbox.flush()
    await this.#endWrites()
    // Writes that failed before are tried again.
    this.#outbox.flush()
    await this.#endWrites()
    if (!this.#outbox.state.isFull) this.#checkKept()
  }

  /** The page enters the back-forward cache, and comes back. */
  #leave(): void {
    this.story.push('leaves')
    const left = this.#outbox.leave()
    assert.deepEqual(
      left.map((draft) => [draft.id, textsIn(draft)]),
      Array.from(this.#live, ([id, { texts }]) => [id, texts]),
    )
    for (const draft of left) {
      this.#sentNow.add(draft.id)
      this.#sent.set(draft.id, JSON.stringify(draft))
    }
  }

  // The browser

  #write(added: readonly UnstoredDraft[], removed: readonly string[]): Promise<boolean> {
    assert.ok(!this.#isClosed || this.#door === 'drafts', 'writes although it is closed')
    for (const id of removed)
      assert.ok(this.#endings.has(id) && !this.#left.has(id), `${id} is removed, and has not ended`)
    if (added.length === 0 && removed.length === 0) return Promise.resolve(true)
    const copies = added.map((one) => structuredClone(one))
    return new Promise((resolve) => this.#writes.push({ added: copies, removed, resolve }))
  }

  #endWrite(isDone: boolean): boolean {
    const write = this.#writes.shift()
    if (!write) return false
    const { added, removed, resolve } = write
    this.story.push(
      `${isDone ? 'has' : 'could not'} put ${added.map(({ draft }) => draft.id)}, removed ${removed}`,
    )
    if (isDone) {
      for (const id of removed) this.#kept.delete(id)
      for (const one of added) this.#kept.set(one.draft.id, one)
    }
    resolve(isDone)
    return true
  }

  async #endWrites(): Promise<void> {
    do await settled()
    while (this.#endWrite(true))
  }

  #deleteDatabase(): void {
    this.story.push('loses the database')
    this.#kept.clear()
    this.#store.onGone()
  }

  /** The page sends another window's drafts after its own, `drafts` sends them before. */
  #adopt(): void {
    this.#windows += 1
    const from = `w${this.#windows}`
    const left = Array.from({ length: 1 + Math.floor(this.#random() * 2) }, (_, n): UnstoredDraft => {
      const kind = this.#pick(['update', 'title', 'json'] as const)
      const draft = {
        id: `${from}-${n}`,
        channel: 'one',
        kind,
        from,
        at: 0,
        body: bodyOf(kind, this.#newText()),
      }
      return { draft, edits: 1 + n }
    })
    this.story.push(`adopts ${left.map(({ draft: { id, kind } }) => `${id} ${kind}`)}`)
    const sent = new Set(this.#outbox.drafts.pending.filter(isInFlight).map(({ draft }) => draft.id))
    const isLater = (id: string, live: Live) => live.from === window && !sent.has(id)
    const later = this.#door === 'page' ? [] : [...this.#live].filter(([id, live]) => isLater(id, live))
    for (const [id] of later) this.#live.delete(id)
    for (const one of left) {
      this.#kept.set(one.draft.id, one)
      for (const text of textsIn(one.draft)) this.#ends.set(text, 0)
      this.#add(one.draft, textsIn(one.draft), one.edits)
    }
    for (const [id, live] of later) this.#live.set(id, live)
    this.#keeper.adopt(left, this.#door === 'drafts')
  }

  // Invariants

  #check(): void {
    for (const failure of this.#failures) throw failure
    const { unstored, persisted } = this.#outbox.state
    let edits = 0
    let written = 0
    for (const [id, live] of this.#live) {
      const copy = this.#kept.get(id)
      edits += live.edits
      written += copy?.edits ?? 0
      if (copy?.edits === live.edits) assert.deepEqual(textsIn(copy.draft), live.texts)
    }
    assert.deepEqual([unstored, persisted], [edits, written])
  }

  /** Every draft that has not ended is in the browser, unchanged. */
  #checkKept(): void {
    for (const [id, { texts }] of this.#live) {
      const copy = this.#kept.get(id) ?? assert.fail(`${id} is not kept`)
      assert.deepEqual(textsIn(copy.draft), texts)
    }
    for (const id of this.#kept.keys())
      assert.ok(this.#live.has(id) || this.#left.has(id), `${id} has ended, and is still kept`)
  }
}

async function live(door: Door, seed: number, isClosed: boolean): Promise<void> {
  const life = new Life(door, createSeededRandom(seed))
  try {
    for (let n = 0; n < stepsInLife; n += 1) await life.step()
    await (isClosed ? life.endClosed() : life.endAnswered())
  } catch (error) {
    throw new Error(`Life ${seed} of ${door}:\n${life.story.join('\n')}`, { cause: error })
  }
}

for (const door of ['page', 'drafts'] as const)
  test(`whatever happens, ${door}: each draft ends once, in order, and is kept until then`, async () => {
    for (let seed = firstSeed; seed < firstSeed + lives; seed += 1) await live(door, seed, seed % 3 === 0)
  })
