// Property tests of a log: after any history of operations it keeps the promises of a model.
// CROSSWIND_ROUNDS=1000 and CROSSWIND_SEED=n run more histories, or repeat one that failed.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Cursor, type Draft, isKind, type Kind, logName, type Message } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Fold } from '../channels/channel-type.ts'
import { boundsFrom, type CatchUp, type Log, type LogParts, type OnMessage, type Snapshot } from './log.ts'
import {
  contentOf,
  cumulative,
  draftOf,
  drawHistory,
  type History,
  LogModel,
  modelChannels,
  type Step,
  updateOf,
  wholeOf,
} from './log-model-testing.ts'
import {
  copyLog,
  given,
  newFile,
  readAll,
  readPortions,
  setDiskFull,
  settled,
  startMs,
  toyFold,
  toyTypes,
} from './log-testing.ts'
import { openLogFile } from './sqlite-file.ts'
import { createSqliteLog } from './sqlite-log.ts'

type Reopen = (parts: LogParts) => ModelledLog | Promise<ModelledLog>

/** A log, and the events that can happen to it. Absent steps are left out. */
export interface ModelledLog {
  readonly log: Log
  /** Opens it again after it was closed. */
  readonly reopen?: Reopen
  /** Keeps the files that a process killed now would leave. Returns a function that opens them. */
  readonly kill?: () => Reopen
  readonly setDiskFull?: (isFull: boolean) => void
  /** Keeps only each sender's order among drafts appended at once. */
  readonly isOrderedBySender?: boolean
  /**
   * Other servers may have the log open: a start continues the previous epoch, and may not know from
   * which channels messages were dropped before.
   */
  readonly isShared?: boolean
}

type Cleaning = Pick<TestContext, 'after'>

export type OpenModelled = (parts: LogParts, context: Cleaning) => ModelledLog | Promise<ModelledLog>

type SqliteChange = Partial<Parameters<typeof createSqliteLog>[1]>

/** A log in a new file. */
export function openSqliteModelled(change: SqliteChange = {}): OpenModelled {
  return (parts, context) => openFile(newFile(context), parts, change)
}

function openFile(file: string, parts: LogParts, change: SqliteChange): ModelledLog {
  const opened = openLogFile(file)
  return {
    log: createSqliteLog(opened, { ...given, ...parts, ...change }),
    reopen: (again) => openFile(file, again, change),
    kill() {
      const copy = copyLog(file)
      return (again) => openFile(copy, again, change)
    },
    setDiskFull: (isFull) => setDiskFull(opened.database, isFull),
  }
}

const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)
const rounds = process.env.CROSSWIND_ROUNDS

/** `open` creates an empty log each time. */
export function testModel(name: string, open: OpenModelled, count: number): void {
  test(`${name}: keeps its promises whatever is done, as a model of it`, async (context) => {
    for (let round = 0; round < Number(rounds ?? count); round += 1) {
      const seed = firstSeed + round
      const history = drawHistory(seed)
      const error = await failureOf(history, open)
      if (!error) continue
      const least = await shrink(history, open)
      const steps = least.steps.map(show).join('\n')
      context.diagnostic(`CROSSWIND_SEED=${seed} fails with ${show(least.given)} after\n${steps}`)
      throw new Error(`CROSSWIND_SEED=${seed} CROSSWIND_ROUNDS=1 repeats: ${error.message}`, {
        cause: await failureOf(least, open),
      })
    }
  })
}

async function failureOf({ given, steps }: History, open: OpenModelled): Promise<Error | null> {
  const cleanings: (() => unknown)[] = []
  const run = new Trial({ given, steps }, open, {
    after: (clean: () => unknown) => void cleanings.push(clean),
  } as Cleaning)
  try {
    await run.run()
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    await run.close()
    for (const clean of cleanings.reverse()) await clean()
  }
}

/** JSON has no infinity. */
const show = (value: unknown) =>
  JSON.stringify(value, (_key, field) => (field === Number.POSITIVE_INFINITY ? 'endless' : field))

/** Leaves out steps that the failure does not need. */
async function shrink(history: History, open: OpenModelled): Promise<History> {
  let least = history
  for (let size = Math.ceil(history.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < least.steps.length; ) {
      const steps = least.steps.toSpliced(from, size)
      if (await failureOf({ ...least, steps }, open)) least = { ...least, steps }
      else from += size
    }
  }
  // Then drafts.
  for (const [index, step] of least.steps.entries()) {
    if (step.do !== 'append') continue
    let { drafts } = step
    for (let size = Math.ceil(drafts.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < drafts.length; ) {
        const fewer = drafts.toSpliced(from, size)
        const changed = { ...least, steps: least.steps.with(index, { ...step, drafts: fewer }) }
        if (await failureOf(changed, open)) {
          least = changed
          drafts = fewer
        } else from += size
      }
    }
  }
  return least
}

interface Sent {
  readonly draft: Draft
  readonly content: string
}

interface Epoch {
  readonly name: string
  /** The newest number when it ended. */
  end: number
}

const everywhere: ReadonlySet<string> = new Set(modelChannels)

/** One history of operations on one log. */
class Trial {
  readonly #history: History
  readonly #open: OpenModelled
  readonly #context: Cleaning
  readonly #model: LogModel
  #modelled: ModelledLog | null = null
  #time = startMs
  /** Newest last. */
  readonly #epochs: Epoch[] = []
  /** Errors that a follower or the log itself reported. */
  readonly #errors: unknown[] = []
  /** Drafts of this step that no follower was told of, in order. */
  #inFlight: Sent[] = []
  #isDiskFull = false
  /** The newest number at the last start. */
  #startedAt = 0
  /** Number of calls until the process is killed. */
  #callsLeft = Number.POSITIVE_INFINITY
  #killed: { readonly reopen: Reopen; readonly told: number } | null = null

  constructor(history: History, open: OpenModelled, context: Cleaning) {
    this.#history = history
    this.#open = open
    this.#context = context
    this.#model = new LogModel(history.given)
  }

  async run(): Promise<void> {
    await this.#begin(await this.#open(this.#parts(), this.#context), 0)
    for (const step of this.#history.steps) {
      await this.#perform(step)
      await this.#restartIfKilled()
      this.#check()
    }
    this.#callsLeft = Number.POSITIVE_INFINITY
    this.#fillDisk(false)
    for (const channel of everywhere) await this.#oldest(channel, cumulative)
    await this.#snapshot(everywhere, 0)
    await this.#read(null, everywhere, [])
    await this.#read({ epoch: this.#epoch, seq: 0 }, everywhere, [])
    this.#check()
  }

  async close(): Promise<void> {
    await this.#modelled?.log.close().catch(() => undefined)
  }

  get #log(): Log {
    assert.ok(this.#modelled)
    return this.#modelled.log
  }

  get #epoch(): string {
    return this.#epochs.at(-1)?.name ?? ''
  }

  #parts(): LogParts {
    const { limits, keep, keptChannels } = this.#history.given
    const fold: Fold<'update'> = (messages) => {
      this.#count()
      return toyFold(messages)
    }
    const keepOn = (channel: string) => (keptChannels.includes(channel) ? (keep ?? undefined) : undefined)
    const takeError = (error: unknown) => {
      if (!this.#isDiskFull) this.#errors.push(error)
    }
    return {
      limits,
      typeOf: toyTypes({ fold, keepOn }),
      now: () => {
        this.#count()
        return this.#time
      },
      onFailure: takeError,
      // Reports of cursors that the log cannot know are expected.
      onLoss: (sentence) => {
        if (!sentence.startsWith('A client has messages')) takeError(new Error(sentence))
      },
    }
  }

  /** A call by the log, in which its process may be killed. */
  #count(): void {
    this.#callsLeft -= 1
    if (this.#callsLeft >= 0 || this.#killed) return
    this.#callsLeft = Number.POSITIVE_INFINITY
    const reopen = this.#modelled?.kill?.()
    if (reopen) this.#killed = { reopen, told: this.#model.head }
  }

  /** `told` is the newest number that a follower has received. */
  async #begin(modelled: ModelledLog, told: number): Promise<void> {
    this.#modelled = modelled
    this.#isDiskFull = false
    const { log } = modelled
    let early: Parameters<OnMessage>[] | null = []
    log.follow((...heard) => {
      this.#count()
      if (early) early.push(heard)
      else this.#hear(...heard)
    })
    const { head } = await log.snapshot(new Set())
    const last = this.#epochs.at(-1)
    const isSame = modelled.isShared === true && last !== undefined
    assert.equal(
      this.#epochs.some(({ name }) => name === head.epoch),
      isSame,
      'an epoch begins twice, or ends',
    )
    // The snapshot may have erased a channel.
    const kept = head.seq - early.filter(([{ seq }]) => seq <= head.seq).length
    const stored = this.#model.head
    assert.ok(kept >= told && kept <= stored, `${told} were acknowledged, ${kept} are there`)
    this.#model.truncate(kept)
    this.#startedAt = kept
    if (last && !isSame) last.end = kept
    if (!isSame) this.#epochs.push({ name: head.epoch, end: Number.POSITIVE_INFINITY })
    for (const heard of early) this.#hear(...heard)
    early = null
  }

  #hear(...[message, cursor, text]: Parameters<OnMessage>): void {
    try {
      assert.equal(cursor, `${this.#epoch}:${message.seq}`)
      if (text !== undefined) assert.equal(wholeOf(JSON.parse(text)), wholeOf(message))
      this.#add(message)
    } catch (error) {
      this.#errors.push(error)
    }
  }

  #add(message: Message): void {
    const model = this.#model
    assert.equal(message.seq, model.head + 1, 'the numbers have a gap')
    if (isKind(message, 'erasure')) {
      const { channel, acceptedAt, body } = message
      // A deleted channel may also be erased because it is empty.
      const reasons = [model.due(this.#time).get(channel), this.#roomFrom(channel)]
      assert.ok(reasons.includes(acceptedAt), `"${channel}" is erased at ${acceptedAt}, not ${reasons}`)
      assert.equal(body.head, model.heads().get(channel), `the head of "${channel}", which is erased`)
    } else {
      const content = contentOf(message)
      const index = this.#inFlight.findIndex((one) => one.content === content)
      assert.ok(index >= 0, `${content} was stored twice, out of order, or never sent`)
      const isOfAnother = ({ draft }: Sent, at: number) =>
        at > index || (this.#modelled?.isOrderedBySender && draft.from !== message.from)
      this.#inFlight = this.#inFlight.filter(isOfAnother)
      assert.equal(message.acceptedAt, this.#time)
    }
    model.add(message, this.#time)
    // Several servers of a log may each begin one at the same time.
    const { maxChannels } = this.#history.given.limits
    const isAllowed = model.heads().size <= maxChannels || this.#modelled?.isShared
    assert.ok(isAllowed, 'there are too many channels')
  }

  /** Time from which the empty channel could be erased to make room for a new one. */
  #roomFrom(channel: string): number | undefined {
    const heads = this.#model.heads()
    const isNeeded = this.#inFlight.some(({ draft }) => !heads.has(draft.channel))
    // An erasure and the message for which it makes room have different senders.
    return isNeeded || this.#modelled?.isOrderedBySender
      ? this.#model.emptyFor(this.#time).get(channel)
      : undefined
  }

  #throwErrors(): void {
    if (this.#errors.length > 0) throw this.#errors[0]
  }

  #check(): void {
    this.#throwErrors()
    const heads = (map: ReadonlyMap<string, number>) => [...map].toSorted()
    assert.deepEqual(heads(this.#log.heads()), heads(this.#model.heads()))
  }

  #perform(step: Step): Promise<void> | void {
    switch (step.do) {
      case 'append':
        return this.#appendAll(step.drafts.map(draftOf), step.isAtOnce)
      case 'advance':
        this.#time += step.byMs
        return
      case 'read': {
        const epoch = this.#epochs.at(-1 - Math.max(0, step.epochsBack)) ?? this.#epochs.at(-1)
        const name = step.epochsBack < 0 ? 'another' : (epoch?.name ?? '')
        const seq = Math.max(0, Math.min(epoch?.end ?? 0, this.#model.head) - step.back)
        return this.#read({ epoch: name, seq }, new Set(step.channels), step.meanwhile.map(draftOf))
      }
      case 'snapshot':
        return this.#snapshot(new Set(step.channels), step.again)
      case 'find':
        return this.#find(draftOf(step.draft))
      case 'oldest':
        return this.#oldest(step.channel, step.kind)
      case 'end turns':
        return this.#endTurns(step.count)
      case 'reopen':
        return this.#reopen()
      case 'kill':
        this.#callsLeft = step.afterCalls
        if (step.afterCalls === 0) this.#count()
        return
      case 'fill disk':
        this.#fillDisk(step.isFull)
    }
  }

  async #endTurns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await settled()
  }

  #fillDisk(isFull: boolean): void {
    if (!this.#modelled?.setDiskFull) return
    this.#modelled.setDiskFull(isFull)
    this.#isDiskFull = isFull
  }

  async #reopen(): Promise<void> {
    const reopen = this.#modelled?.reopen
    if (!reopen) return
    await this.#log.close().catch((error) => {
      if (!this.#isDiskFull) throw error
    })
    // If it was killed while it closed, its copy is opened instead.
    if (!this.#killed) await this.#restart(reopen, this.#model.head)
  }

  /** The killed log went on: only the content of its copy counts. */
  async #restartIfKilled(): Promise<void> {
    if (!this.#killed) return
    const { reopen, told } = this.#killed
    await this.close()
    this.#throwErrors()
    this.#killed = null
    await this.#restart(reopen, told)
  }

  async #restart(reopen: Reopen, told: number): Promise<void> {
    const former = this.#epoch
    await this.#begin(await reopen(this.#parts()), told)
    await this.#snapshot(everywhere, 0)
    await this.#read({ epoch: former, seq: told }, everywhere, [])
  }

  async #appendAll(drafts: readonly Draft[], isAtOnce: boolean): Promise<void> {
    if (isAtOnce) return this.#append(drafts)
    for (const draft of drafts) await this.#append([draft])
  }

  /** Appends them at once. */
  async #append(drafts: readonly Draft[]): Promise<void> {
    const model = this.#model
    const before = model.head
    const known = drafts.map((draft) => model.find(draft))
    const wasSure = known.map((message) => message !== undefined && model.mustKnow(message, this.#time))
    const sent = drafts.map((draft) => ({ draft, content: contentOf(draft) }))
    this.#inFlight = [...sent]
    const answers = drafts.map(async (draft) => {
      const seq = await this.#log.append(draft, this.#time)
      this.#throwErrors()
      assert.ok(seq <= model.head, 'followers were told later than the sender')
      return seq
    })
    const settledAnswers = await Promise.allSettled(answers)
    this.#inFlight = []
    const acknowledged = new Set<number>()
    for (const [index, answer] of settledAnswers.entries()) {
      const one = sent[index] as Sent
      const first = known[index]
      const isHeld =
        first !== undefined &&
        model.erasedBy(first.seq) > model.head &&
        (drafts.length === 1 ? wasSure[index] === true : model.mustHold(first.seq, this.#time))
      const says = `${one.content.slice(0, 100)} after ${before}`
      if (answer.status === 'fulfilled') {
        acknowledged.add(answer.value)
        this.#checkStored(one, answer.value, before, drafts)
        if (isHeld) assert.equal(answer.value, first.seq, `a repeat is stored again: ${says}`)
      } else {
        const { reason } = answer
        if (!(reason instanceof Refusal)) throw reason
        const isRepeat = isHeld && model.contentAt(first.seq) === one.content
        assert.ok(this.#mayRefuse(reason, one, before, sent), `${reason.code} (${reason.message}): ${says}`)
        assert.ok(!isRepeat || this.#isDiskFull, `a repeat is refused, ${reason.code}: ${says}`)
      }
    }
    const erasures = model.erasuresAfter(before)
    for (let seq = before + 1; seq <= model.head; seq += 1) {
      assert.ok(erasures.includes(seq) || acknowledged.has(seq), `${seq} was stored but not acknowledged`)
    }
  }

  #checkStored({ draft, content }: Sent, seq: number, before: number, group: readonly Draft[]): void {
    const model = this.#model
    assert.ok(content === model.contentAt(seq), `${seq} is another message`)
    const { channel, kind } = draft
    const isAlone = group.length === 1
    if (seq <= before) {
      // A repeat of an erased message is stored anew.
      assert.ok(model.erasedBy(seq) > (isAlone ? model.head : before), `${seq} was erased`)
      return
    }
    const others = group.filter((one) => one.channel === channel && one.kind === 'deletion')
    if (kind === 'deletion')
      assert.ok(model.heads(seq - 1).has(channel) || !isAlone, 'deletes a missing channel')
    else assert.ok(!model.deletionOf(channel, seq - 1) || others.length > 0, 'the document was deleted')
  }

  /**
   * Whether a refusal is right: before the messages stored meanwhile, after an erasure, or after all of
   * them.
   */
  #mayRefuse({ code }: Refusal, { draft, content }: Sent, before: number, group: readonly Sent[]): boolean {
    const model = this.#model
    const { channel, kind } = draft
    const states = [before, ...model.erasuresAfter(before), model.head]
    const isAlone = group.length === 1
    const isMissing = (at: number) => !model.heads(at).has(channel) || model.due(this.#time, at).has(channel)
    switch (code) {
      case 'id-taken':
        return (
          states.some((at) => {
            const known = model.find(draft, at)
            return known && model.contentAt(known.seq) !== content
          }) || group.some((one) => one.draft.id === draft.id && one.content !== content)
        )
      case 'document-deleted':
        return (
          kind !== 'deletion' &&
          (states.some((at) => model.deletionOf(channel, at)) ||
            group.some((one) => one.draft.kind === 'deletion'))
        )
      case 'not-found':
        return kind === 'deletion' && states.some((at) => isMissing(at))
      case 'too-many-channels':
        return states.some((at) => {
          const heads = model.heads(at)
          const due = model.due(this.#time, at)
          const hasRoom = model
            .emptyFor(this.#time, at)
            .keys()
            .some((one) => !due.has(one))
          const { maxChannels } = this.#history.given.limits
          if (!isAlone) return heads.size + group.length > maxChannels
          return !heads.has(channel) && heads.size >= maxChannels && !hasRoom
        })
      case 'log-full':
        return this.#isDiskFull
      default:
        return false
    }
  }

  async #read(
    cursor: Cursor | null,
    channels: ReadonlySet<string>,
    meanwhile: readonly Draft[],
  ): Promise<void> {
    const model = this.#model
    const epoch = this.#epochs.find(({ name }) => name === cursor?.epoch)
    const isKnown = cursor && epoch && cursor.seq <= Math.min(epoch.end, model.head)
    // The read may erase a channel, which stores a message.
    const mayBeKnown = cursor && epoch && cursor.seq <= epoch.end
    let from = cursor
    const found: Message[] = []
    let isWhole = false
    const reading = readPortions(this.#log, cursor, channels, (portion) => {
      const { recovered, messages, reached } = portion
      const isBeyond = !mayBeKnown || cursor.seq > model.head
      if (isBeyond) assert.equal(recovered, false, `the cursor ${from?.epoch}:${from?.seq} is not the log's`)
      if (recovered) this.#checkPortion(portion, from?.seq ?? 0, channels)
      else {
        const isForgotten = this.#modelled?.isShared && cursor && cursor.seq < this.#startedAt
        const mustReach = isKnown && !isForgotten && from && model.mustReach(from.seq, channels, this.#time)
        assert.ok(!mustReach, `the log does not reach back to ${from?.seq} on ${[...channels]}`)
        assert.deepEqual(reached, portion.head)
        this.#checkSnapshot(portion, channels)
      }
      isWhole = recovered
      found.push(...messages)
      from = reached
    })
    if (meanwhile.length > 0) await this.#append(meanwhile)
    await reading
    if (isWhole && meanwhile.length === 0) this.#checkBounds(found)
  }

  #checkPortion({ messages, reached, head }: CatchUp, from: number, channels: ReadonlySet<string>): void {
    assert.equal(head.epoch, this.#epoch)
    assert.equal(reached.epoch, this.#epoch)
    assert.ok(reached.seq <= head.seq && head.seq <= this.#model.head)
    const expected = this.#model.after(from, reached.seq, channels, head.seq)
    assertSame(messages.map(wholeOf), expected, `after ${from} up to ${reached.seq} on ${[...channels]}`)
  }

  /** Checks that everything a client gets of some channels is within the limits. */
  #checkBounds(messages: readonly Message[]): void {
    const { limits, keep, keptChannels } = this.#history.given
    const sizes = (some: readonly Message[]) =>
      some.reduce((sum, { body }) => sum + Buffer.byteLength(JSON.stringify(body)), 0)
    const isOld = ({ acceptedAt }: Message, ageMs: number) => acceptedAt + ageMs < this.#time
    assert.ok(messages.length <= limits.messages, `${messages.length} are held`)
    assert.ok(messages.length <= 1 || sizes(messages) <= limits.bytes, `${sizes(messages)} bytes are held`)
    assert.ok(!messages.some((one) => isOld(one, limits.ageMs)), 'old messages are held')
    if (!keep) return
    const most = boundsFrom(keep)
    for (const channel of keptChannels) {
      const own = messages.filter((one) => one.channel === channel)
      if (own.length <= 1) continue
      assert.ok(own.length <= most.messages, `"${channel}" holds ${own.length}`)
      assert.ok(sizes(own) <= most.bytes, `"${channel}" holds ${sizes(own)} bytes`)
      assert.ok(!own.slice(0, -1).some((one) => isOld(one, most.ageMs)), `"${channel}" holds old ones`)
    }
  }

  async #snapshot(channels: ReadonlySet<string>, again: number): Promise<void> {
    const snapshot = await this.#log.snapshot(channels)
    this.#checkSnapshot(snapshot, channels)
    // Messages after a base are in no base, so the log knows their ids.
    const loose = [...channels].flatMap((channel) =>
      snapshot.messages.filter((one) => one.channel === channel && one.kind === cumulative).slice(1),
    )
    const one = loose[Math.floor(again * loose.length)]
    if (!one || this.#model.erasedBy(one.seq) <= this.#model.head) return
    const found = await this.#log.find(one)
    assert.equal(found && wholeOf(found), wholeOf(one), 'an update that is in no base is not found')
  }

  #checkSnapshot({ messages, head }: Snapshot, channels: ReadonlySet<string>): void {
    const model = this.#model
    assert.equal(head.epoch, this.#epoch)
    assert.ok(head.seq <= model.head)
    const expected = model.newest(channels, head.seq)
    for (const channel of channels) {
      const updates = model.updates(channel, head.seq)
      const found = messages.filter((one) => one.channel === channel && one.kind === cumulative)
      const [base] = found
      const index = updates.findIndex(({ seq }) => seq === base?.seq)
      assert.equal(index < 0, updates.length === 0, `the updates of "${channel}"`)
      const joined = updates[index]
      if (!joined) {
        assert.deepEqual(found, [])
        continue
      }
      const update = updates
        .slice(0, index + 1)
        .map(updateOf)
        .join('')
      expected.set(joined.seq, wholeOf({ ...joined, body: { update } } as Message))
      for (const one of updates.slice(index + 1)) expected.set(one.seq, wholeOf(one))
    }
    const inOrder = [...expected].toSorted(([one], [other]) => one - other).map(([, whole]) => whole)
    assertSame(messages.map(wholeOf), inOrder, `snapshot of ${[...channels]} at ${head.seq}`)
  }

  async #find(draft: Draft): Promise<void> {
    const known = this.#model.find(draft)
    const found = await this.#log.find(draft)
    if (found || (known && this.#model.mustKnow(known, this.#time)))
      assert.equal(found && wholeOf(found), known && wholeOf(known))
  }

  async #oldest(channel: string, kind: Kind): Promise<void> {
    await this.#eraseDue()
    const { base, messages, after } = await this.#log.oldest(channel, kind)
    const rest = await readAll(this.#log, after, new Set([channel]))
    // Then the read erases the channel, if the disk was full before.
    if (this.#isDiskFull) return
    assert.ok(rest.recovered, `the log does not reach back to its oldest content of "${channel}"`)
    if (kind !== cumulative) return
    const updates = this.#model.updates(channel)
    const found = [...messages, ...rest.messages.filter((one) => one.kind === cumulative)]
    const inBase = updates.slice(0, updates.length - found.length)
    assertSame(found.map(wholeOf), updates.slice(inBase.length).map(wholeOf), `oldest of "${channel}"`)
    if (inBase.length > 0) assert.ok(base, 'the erased updates are in no base')
    if (base) assert.equal(updateOf(base), inBase.map(updateOf).join(''), `base ${base.seq} of "${channel}"`)
  }

  /** A message or a snapshot erases one expired channel. */
  async #eraseDue(): Promise<void> {
    const due = this.#model.due(this.#time)
    for (const _channel of due) {
      await this.#log.snapshot(new Set())
      // Waits for the erasure, of whichever channel.
      for (const [channel, head] of this.#model.heads())
        if (due.has(channel)) await this.#log.find({ id: `${logName}-${head}`, from: logName, channel })
    }
    this.#throwErrors()
    if (!this.#isDiskFull) assert.deepEqual([...this.#model.due(this.#time).keys()], [], 'was not erased')
  }
}

/** Names the first difference between lists, which may be long. */
function assertSame(found: readonly string[], expected: readonly string[], says: string): void {
  const index = expected.findIndex((one, at) => one !== found[at])
  if (index < 0 && found.length === expected.length) return
  const at = index < 0 ? expected.length : index
  const show = (text: string | undefined) => text?.slice(0, 200)
  assert.fail(
    `${says}: ${found.length} instead of ${expected.length}; at ${at} ${show(found[at])} instead of ${show(expected[at])}`,
  )
}
