// The log on NATS JetStream: any number of servers append to one stream, and each keeps a view of it.

import { setTimeout as pause } from 'node:timers/promises'
import {
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type ObjectStore, Objm } from '@nats-io/obj'
import { type NatsConnection, nanos } from '@nats-io/transport-node'
import { type Draft, formatCursor, type Message } from '../wire/messages.ts'
import {
  type Bounds,
  idTaken,
  type Log,
  type LogParts,
  logClosed,
  logUnavailable,
  type Outage,
  refusedForMs,
  type Snapshot,
  tooManyChannels,
} from './log.ts'
import { bytesOf, endLife, type Life, readKept, readLife, subjectOf } from './nats-bucket.ts'
import {
  asError,
  codeOf,
  codes,
  Door,
  envelopeBytes,
  reasonOf,
  retryMs,
  StreamUnfit,
  whenReady,
} from './nats-connection.ts'
import { View } from './nats-view.ts'
import { blankAt, keyOf, type Portion, portion } from './retention.ts'
import { Followers, isRepeat, mustBeThere } from './sequencer.ts'

export interface NatsLogParts extends LogParts {
  /** Outlives the log. */
  readonly connection: NatsConnection
  /** Of the stream, and of the bucket with the bases: letters, digits, "-" and "_". */
  readonly name: string
  /** See `NatsSettings`. */
  readonly replicas: number
  /** See `Surroundings` of open-log.ts. */
  readonly onLoss?: (sentence: string) => void
  /** Memory cache, within the limits. */
  readonly memory?: Omit<Bounds, 'ageMs'>
}

/** A repeat within it is found by JetStream, whichever server it comes to; a later one by the view. */
const duplicatesMs = 120_000

/** For JetStream's answer, a broken connection included; then the sender tries again. */
const publishWithinMs = 5000
/** From then on for the stream to deliver it. */
const deliverWithinMs = 5000
/** For a look at what is overdue, and at a stream that was full. */
const lookEachMs = 500
/** A consumer that is silent for two of these heartbeats, ms, is looked for; one that is gone ends. */
const pulling = { expires: 5000, idle_heartbeat: 1000, abort_on_missing_resource: true } as const
/** For what another server has heard already. */
const hearWithinMs = 2000
const hearAgainMs = 5
const undelivered = 'the stream does not deliver what it took'
const settleMs = 1000

/** A draft on its way, until the view has it. */
interface Entry extends PromiseWithResolvers<number> {
  readonly draft: Draft
  readonly key: string
  readonly payload: string
  readonly enteredAt: number
}

/** What a log is opened with, once JetStream answers. */
interface Opened {
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** When the stream was made: another one of its name is another log. */
  readonly created: string
  readonly bucket: ObjectStore
  readonly life: Life
}

/**
 * A message is one message of the stream, and its number is the stream's: cursors are valid on every server. All servers must have the
 * same limits.
 */
export class NatsLog implements Log {
  readonly #parts: NatsLogParts
  readonly #name: string
  readonly #limits: NatsLogParts['limits']
  readonly #now: NatsLogParts['now']
  readonly #onFailure: NatsLogParts['onFailure']
  readonly #onLoss: (sentence: string) => void
  readonly #connection: NatsConnection
  readonly #client: JetStreamClient
  readonly #manager: JetStreamManager
  readonly #created: string
  readonly #bucket: ObjectStore
  readonly #life: Life
  readonly #epoch: string
  readonly #door: Door
  readonly #setBack: string
  /** Says that an epoch has ended, to all servers. */
  readonly #livesSubject: string
  readonly #followers: Followers
  readonly #pending = new Map<string, Entry>()
  /** By sender: one draft under way at a time, so that a lost one is not overtaken by the next. */
  readonly #lines = new Map<string, Entry[]>()
  readonly #lost = Promise.withResolvers<string>()
  #view!: View
  #consuming!: ConsumerMessages
  #stop: () => void = () => undefined
  #isClosed = false
  #closing: Promise<void> | null = null
  #rejoining: Promise<void> | null = null
  /** Why this server is cut off from the stream; null while it is not. */
  #away: string | null = null
  #isLost = false
  /** Why JetStream did not take the newest draft, since when it takes none, and when that was last seen. */
  #refused: { readonly reason: string; readonly since: number; readonly at: number } | null = null
  #heardAt: number

  /** Waits for JetStream; rejects where that is no use. */
  static async open(parts: NatsLogParts): Promise<NatsLog> {
    const { connection, name, replicas } = parts
    const client = jetstream(connection)
    const { manager, created, bucket } = await whenReady(`the stream ${name} of NATS`, parts, async () => {
      const manager = await jetstreamManager(connection)
      const { created, config } = await addStream(manager, name, replicas, connection)
      mustKeepAll(config)
      const bucket = await new Objm(client).create(`${name}-bases`, {
        ...{ replicas: config.num_replicas, storage: StorageType.File },
      })
      mustKeepAll((await manager.streams.info(`OBJ_${name}-bases`)).config)
      return { manager, created, bucket }
    })
    const life = await whenReady(`the bucket ${name}-bases of NATS`, parts, () => readLife(bucket, created))
    const log = new NatsLog(parts, { client, manager, created, bucket, life })
    await log.#start()
    return log
  }

  private constructor(parts: NatsLogParts, { client, manager, created, bucket, life }: Opened) {
    const { connection, name, limits, now, onFailure } = parts
    this.#parts = parts
    this.#name = name
    this.#limits = limits
    this.#now = now
    this.#onFailure = onFailure
    this.#onLoss = parts.onLoss ?? ((sentence) => onFailure(new Error(sentence)))
    this.#connection = connection
    this.#client = client
    this.#manager = manager
    this.#created = created
    this.#bucket = bucket
    this.#life = life
    this.#epoch = life.epoch
    this.#setBack = `the stream ${name} lost its newest messages`
    this.#livesSubject = `${name}-lives`
    this.#followers = new Followers(onFailure)
    this.#heardAt = now()
    this.#door = new Door(connection, {
      onShut: () => {
        if (!this.#isLost) this.#away = 'NATS does not answer'
      },
      onReopened: () => void this.#rejoin(),
    })
  }

  async #start(): Promise<void> {
    const { name } = this.#parts
    this.#view = await whenReady(`the messages of the stream ${name}`, this.#parts, () => this.#load())
    this.#consuming = await whenReady(`a consumer of the stream ${name}`, this.#parts, () => this.#consume())
    this.#attend(this.#consuming)
    const hearing = this.#connection.subscribe(this.#livesSubject, { callback: () => void this.#rejoin() })
    // One may have begun before this server heard of it.
    this.#mustBeSame().catch((error) => error instanceof StreamLost && this.#lose(error.message))
    const looking = setInterval(() => void this.#look().catch(this.#onFailure), lookEachMs)
    this.#stop = () => {
      clearInterval(looking)
      hearing.unsubscribe()
    }
  }

  readonly append: Log['append'] = async (draft, acceptedAt) => {
    this.#mustBeOpen()
    this.#eraseDue()
    const key = keyOf(draft)
    const stored = this.#view.tail.find(draft)
    const unanswered = this.#pending.get(key)
    const known = stored ?? unanswered?.draft
    if (known && !isRepeat(draft, known)) throw idTaken(draft)
    return stored?.seq ?? unanswered?.promise ?? this.#begin(draft, acceptedAt, key)
  }

  readonly find: Log['find'] = async (wanted) => {
    this.#mustBeOpen()
    await this.#pending.get(keyOf(wanted))?.promise.catch(() => undefined)
    return this.#view.tail.find(wanted) ?? null
  }

  readonly follow: Log['follow'] = (onMessage) => this.#followers.add(onMessage)

  readonly read: Log['read'] = async (cursor, channels) => {
    this.#mustBeOpen()
    this.#eraseDue()
    if (cursor?.epoch === this.#epoch) await this.#hearUpTo(cursor.seq)
    const head = { epoch: this.#epoch, seq: this.#view.tail.head }
    const isHeld = cursor?.epoch === this.#epoch && cursor.seq <= head.seq && cursor.seq >= this.#view.floor()
    const found = !isHeld
      ? null
      : cursor.seq >= this.#view.tail.floor
        ? this.#view.tail.after(cursor.seq, channels)
        : await this.#fetchAfter(cursor.seq, channels)
    if (!found) return { recovered: false, ...this.#snapshot(channels), reached: head }
    return {
      recovered: true,
      messages: found.messages,
      reached: { epoch: this.#epoch, seq: found.upTo },
      head,
    }
  }

  readonly snapshot: Log['snapshot'] = async (channels) => this.#snapshot(channels)

  readonly oldest: Log['oldest'] = async (channel, kind) => {
    this.#mustBeOpen()
    const { base, messages } = this.#view.folding.oldest(channel, kind)
    return {
      base,
      messages,
      after: { epoch: this.#epoch, seq: Math.max(base?.seq ?? 0, this.#view.floor()) },
    }
  }

  readonly heads: Log['heads'] = () => this.#view.tail.heads

  readonly outage = (): Outage | null => {
    if (this.#away !== null) return { reason: this.#away, since: this.#heardAt, isCutOff: true }
    return this.#refused && { reason: this.#refused.reason, since: this.#refused.since, isCutOff: false }
  }

  readonly close: Log['close'] = () => {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** Resolves to the reason when the stream was replaced, or lost messages: this log is over. */
  get lost(): Promise<string> {
    return this.#lost.promise
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw logClosed()
  }

  async #load(): Promise<View> {
    const { state } = await this.#manager.streams.info(this.#name)
    const floor = state.messages > 0 ? state.first_seq - 1 : state.last_seq
    const kept = await readKept(this.#bucket, this.#life, floor)
    const loaded = new View({
      ...this.#parts,
      ...{ floor, life: this.#life, kept, bucket: this.#bucket },
      erase: async (seq) => void (await this.#manager.streams.purge(this.#name, { seq: seq + 1 })),
      eraseChannel: async (channel, before) =>
        void (await this.#manager.streams.purge(this.#name, {
          filter: subjectOf(this.#name, channel),
          seq: before,
        })),
    })
    if (state.messages === 0) return loaded
    const consumer = await this.#client.consumers.get(this.#name, from(state.first_seq))
    const messages = await consumer.consume(pulling)
    const late = setInterval(() => {
      if (loaded.tail.head === seen) messages.stop()
      seen = loaded.tail.head
    }, deliverWithinMs)
    let seen = loaded.tail.head
    try {
      for await (const received of messages) {
        // What is missing in between was erased with its document.
        while (loaded.tail.head < received.seq - 1)
          loaded.take(blankAt(loaded.tail.head + 1, messageIn(received).acceptedAt))
        loaded.take(messageIn(received))
        if (received.seq >= state.last_seq) return loaded
      }
    } finally {
      clearInterval(late)
    }
    throw new Error(undelivered)
  }

  async #consume(): Promise<ConsumerMessages> {
    const consumer = await this.#client.consumers.get(this.#name, from(this.#view.tail.head + 1))
    return consumer.consume({ ...pulling, callback: (received) => this.#receive(received) })
  }

  /** A consumer is silent when stream or connection are away, and ends when the stream is gone. */
  #attend(messages: ConsumerMessages): void {
    const watch = async () => {
      for await (const { type } of messages.status()) {
        if (messages !== this.#consuming || this.#rejoining) continue
        if (type === 'heartbeats_missed') this.#away ??= 'the stream is silent'
        else if (type === 'heartbeat') this.#hear()
      }
    }
    void watch()
    void messages.closed().then(() => {
      if (messages === this.#consuming && !this.#isClosed) void this.#rejoin()
    })
  }

  #hear(): void {
    if (this.#isLost) return
    this.#heardAt = this.#now()
    this.#away = null
  }

  /** JetStream forgets its consumers when it stops. */
  async #rejoin(): Promise<void> {
    this.#rejoining ??= this.#rejoinUntilDone().finally(() => {
      this.#rejoining = null
    })
    await this.#rejoining
  }

  async #rejoinUntilDone(): Promise<void> {
    while (!this.#isClosed && !this.#isLost) {
      try {
        await this.#door.untilOpen()
        await this.#consuming.close()
        if ((await this.#door.untilShut(this.#mustBeSame().then(() => true))) === null) continue
        this.#consuming = await this.#consume()
        this.#attend(this.#consuming)
        return this.#hear()
      } catch (error) {
        if (error instanceof StreamLost) return this.#lose(error.message)
        this.#away = reasonOf(error)
        await pause(retryMs)
      }
    }
  }

  /** Another stream of that name has other messages under the same numbers. Rejects with `StreamLost`. */
  async #mustBeSame(): Promise<void> {
    const { head, floor, heads } = this.#view.tail
    const newest =
      head > floor ? this.#view.tail.after(head - 1, new Set(heads.keys())).messages[0] : undefined
    const found = await this.#manager.streams.info(this.#name).catch((error) => {
      const isGone = codeOf(error) === JetStreamApiCodes.StreamNotFound
      throw isGone ? new StreamLost(`the stream ${this.#name} was deleted`) : error
    })
    if (found.created !== this.#created)
      throw new StreamLost(`the stream ${this.#name} was made anew at ${found.created}`)
    const current = await readLife(this.#bucket, this.#created)
    if (current.setBacks > this.#life.setBacks) throw new StreamLost(this.#setBack)
    if (current.epoch === this.#epoch && (await this.#reaches(head, newest, found.state))) return
    await endLife(this.#bucket, this.#life, this.#now())
    this.#connection.publish(this.#livesSubject)
    this.#onLoss(
      `The stream ${this.#name} of NATS has not the newest messages that it took: a server of NATS lost them in a power cut, or was set back to an older copy. Windows get a snapshot.`,
    )
    throw new StreamLost(this.#setBack)
  }

  /** True also where the newest was erased since. */
  async #reaches(
    head: number,
    newest: Message | undefined,
    { first_seq, last_seq }: StreamInfo['state'],
  ): Promise<boolean> {
    if (last_seq < head || !newest || head < first_seq) return last_seq >= head
    const found = (await this.#manager.streams.getMessage(this.#name, { seq: head }))?.json<StoredDraft>()
    return !found || (keyOf(found) === keyOf(newest) && found.acceptedAt === newest.acceptedAt)
  }

  /** Everything that waits is refused: its senders repeat it, to the next stream. */
  #lose(reason: string): void {
    this.#isLost = true
    this.#away = reason
    this.#refuse(this.#pending.values(), reason)
    this.#lost.resolve(reason)
  }

  #notTaken(reason: string): void {
    this.#refused = { reason, since: this.#refused?.since ?? this.#now(), at: this.#now() }
  }

  #refuse(entries: Iterable<Entry>, cause: unknown): void {
    for (const { key, reject } of [...entries]) {
      this.#pending.delete(key)
      reject(logUnavailable(cause))
    }
  }

  async #look(): Promise<void> {
    const overdue = this.#now() - publishWithinMs - deliverWithinMs
    const late = [...this.#pending.values().filter(({ enteredAt }) => enteredAt < overdue)]
    if (late.length > 0) {
      const reason = this.#away ?? undelivered
      this.#refuse(late, reason)
      this.#notTaken(reason)
      void this.#rejoin()
    }
    if (!this.#refused || this.#away !== null) return
    const { config, state } = await this.#manager.streams.info(this.#name)
    const { at } = this.#refused
    if (!isFull(config, state) && this.#now() - at > refusedForMs && this.#refused?.at === at)
      this.#refused = null
  }

  #receive(received: JsMsg): void {
    const { head } = this.#view.tail
    if (received.seq <= head || this.#isLost) return
    // Windows that got this one would not know that they miss those.
    if (received.seq > head + 1) {
      this.#lose(
        `the messages from ${head + 1} to ${received.seq - 1} were erased before this server had them`,
      )
      return
    }
    this.#hear()
    this.#refused = null
    const message = messageIn(received)
    this.#view.take(message)
    this.#followers.tell(message, formatCursor({ epoch: this.#epoch, seq: message.seq }))
    this.#settle(message)
  }

  /** The view has it: answers the draft that waits for it. */
  #settle(message: Message | undefined): void {
    const entry = message && this.#pending.get(keyOf(message))
    if (!entry) return
    this.#pending.delete(entry.key)
    if (isRepeat(message, entry.draft)) entry.resolve(message.seq)
    else entry.reject(idTaken(entry.draft))
  }

  #hasRoomFor(channel: string): boolean {
    const { heads } = this.#view.tail
    if (heads.has(channel) || heads.size + this.#pending.size < this.#limits.maxChannels) return true
    const added = new Set(this.#pending.values().map(({ draft }) => draft.channel)).difference(heads)
    return added.has(channel) || heads.size + added.size < this.#limits.maxChannels
  }

  /** See the sequencer. Whichever server is the first erases for all of them. */
  #eraseDue(): void {
    const due = this.#view.tail.dueErasure()
    if (due && !this.#pending.has(keyOf(due))) this.#enter(due, due.at, keyOf(due)).catch(this.#onFailure)
  }

  /** Each new channel has an empty one erased, in place of which it comes. */
  #makeRoom(): boolean {
    const isInUse = (channel: string) => this.#pending.values().some(({ draft }) => draft.channel === channel)
    const erasure = this.#view.tail.emptyErasure(isInUse)
    if (erasure) this.#enter(erasure, erasure.at, keyOf(erasure)).catch(this.#onFailure)
    return erasure !== null
  }

  #begin(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    mustBeThere(draft, this.#view.tail)
    if (!this.#hasRoomFor(draft.channel) && !this.#makeRoom())
      throw tooManyChannels(draft.channel, this.#limits.maxChannels)
    return this.#enter(draft, acceptedAt, key)
  }

  #enter(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    const payload = JSON.stringify({ ...draft, acceptedAt })
    const entry = { ...Promise.withResolvers<number>(), draft, key, payload, enteredAt: this.#now() }
    this.#pending.set(key, entry)
    const line = this.#lines.get(draft.from)
    if (line) line.push(entry)
    else {
      const begun = [entry]
      this.#lines.set(draft.from, begun)
      void this.#sendAll(draft.from, begun)
    }
    return entry.promise
  }

  async #sendAll(sender: string, line: Entry[]): Promise<void> {
    for (let entry = line[0]; entry; entry = line[0]) {
      try {
        await this.#publish(entry)
        line.shift()
      } catch (cause) {
        const reason = reasonOf(cause)
        if (this.#away === null) this.#notTaken(reason)
        // Those behind it too: the sender repeats all of them, in order.
        this.#refuse(line.splice(0), reason)
        // Perhaps it is another stream.
        if (!(cause instanceof JetStreamApiError)) void this.#rejoin()
      }
    }
    this.#lines.delete(sender)
  }

  /** Tries until JetStream has it: what was stored and not answered is found by its id. */
  async #publish({ draft, key, payload }: Entry, msgID = key): Promise<void> {
    const subject = subjectOf(this.#name, draft.channel)
    const endsAt = performance.now() + publishWithinMs
    for (;;) {
      await this.#door.untilOpen(endsAt)
      // Another stream may have its name by now.
      if (this.#isLost) throw logUnavailable(this.#away)
      const asked = this.#client.publish(subject, payload, { msgID, timeout: publishWithinMs })
      const answer = await this.#door.untilShut(asked.catch(asError))
      if (this.#isLost) throw logUnavailable(this.#away)
      if (answer instanceof Error) {
        const isFinal = answer instanceof JetStreamApiError && answer.code !== codes.unavailable
        if (isFinal || performance.now() + retryMs > endsAt) throw answer
        await pause(retryMs)
      } else if (answer) {
        const isPassed = answer.seq <= this.#view.tail.head && !answer.duplicate
        // Usually the view has it already.
        if (isPassed && this.#view.tail.find(draft)?.seq !== answer.seq) void this.#rejoin()
        // JetStream remembers the id of a message that the log has erased.
        const isErased = answer.duplicate && answer.seq <= this.#view.tail.head && this.#pending.has(key)
        if (!isErased) return
        msgID = `${key} ${answer.seq}`
      }
    }
  }

  /** Null if another server has erased some of them. */
  async #fetchAfter(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    const count = Math.min(portion.messages, this.#view.tail.floor - seq)
    const consumer = await this.#client.consumers.get(this.#name, from(seq + 1)).catch(notRead)
    try {
      const messages: Message[] = []
      let size = 0
      let upTo = seq
      for await (const received of await consumer.fetch({ ...pulling, max_messages: count })) {
        for (; upTo < received.seq - 1 && upTo < seq + count; upTo += 1)
          if (!this.#view.isBlank(upTo + 1)) return null
        if (upTo === seq + count) break
        const message = messageIn(received)
        const isAsked = channels.has(message.channel)
        if (isAsked) size += bytesOf(message)
        if (messages.length > 0 && size > portion.bytes) break
        if (isAsked) messages.push(message)
        upTo = received.seq
        if (upTo === seq + count) break
      }
      return { messages, upTo }
    } finally {
      await consumer.delete().catch(this.#onFailure)
    }
  }

  /**
   * A window comes from a server that was ahead of this one: waits until it has heard as much, if there is so much. Rejects when that
   * takes too long: a snapshot would be older than what the window has.
   */
  async #hearUpTo(seq: number): Promise<void> {
    if (seq <= this.#view.tail.head) return
    const late = AbortSignal.timeout(hearWithinMs)
    const { state } = await this.#manager.streams.info(this.#name).catch(notRead)
    if (seq > state.last_seq) return
    while (seq > this.#view.tail.head) {
      if (late.aborted) throw logUnavailable(late.reason)
      await pause(hearAgainMs)
    }
  }

  #snapshot(channels: ReadonlySet<string>): Snapshot {
    this.#mustBeOpen()
    this.#eraseDue()
    return {
      messages: this.#view.tail.newestOn(channels),
      head: { epoch: this.#epoch, seq: this.#view.tail.head },
    }
  }

  async #finish(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(Array.from(this.#pending.values(), ({ promise }) => promise))
    this.#stop()
    await this.#rejoining
    await this.#consuming.close()
    await this.#view.close()
  }
}

/** The stream of that name is another one, or none. */
class StreamLost extends Error {}

/** As many replicas as can be had, up to those asked for. */
async function addStream(
  manager: JetStreamManager,
  name: string,
  replicas: number,
  { info }: NatsConnection,
): Promise<StreamInfo> {
  const add = async (num_replicas: number) => {
    const added = await manager.streams.add({
      ...{ name, subjects: [`${name}.>`], num_replicas, storage: StorageType.File },
      duplicate_window: nanos(duplicatesMs),
    })
    if (info?.cluster === undefined) return added
    // Of those that add it at the same time a cluster takes one, and answers all.
    await pause(settleMs)
    return manager.streams.info(name)
  }
  const found = await manager.streams.info(name).catch(() => null)
  if (found) return found
  if (replicas > 0) return add(replicas)
  return add(3).catch((error) => {
    if (codeOf(error) === codes.noCluster || codeOf(error) === codes.tooFewPeers) return add(1)
    throw error
  })
}

/** Limits of the stream's own take what no base has yet. Throws a `StreamUnfit`. */
function mustKeepAll({ name, retention, discard, ...limits }: StreamConfig): void {
  const { max_msgs, max_bytes, max_msgs_per_subject, max_age } = limits
  const erasing = Object.entries({
    ...(discard === DiscardPolicy.Old && { max_msgs, max_bytes, max_msgs_per_subject }),
    max_age,
  }).filter(([, limit]) => limit > 0)
  const settings = erasing.map(([setting, limit]) => `${setting} ${limit}`)
  if (retention !== RetentionPolicy.Limits) settings.push(`retention ${retention}`)
  if (settings.length === 0) return
  throw new StreamUnfit(
    `The stream ${name} of NATS erases pages by itself (${settings.join(', ')}, discard ${discard}): remove these limits, or name another stream (nats.stream).`,
  )
}

/** Of the stream's own limits. */
function isFull({ max_msgs, max_bytes }: StreamConfig, { messages, bytes }: StreamInfo['state']): boolean {
  return (max_msgs > 0 && messages >= max_msgs) || (max_bytes > 0 && bytes + envelopeBytes > max_bytes)
}

function notRead(cause: unknown): never {
  throw logUnavailable(reasonOf(cause))
}

const from = (seq: number) => ({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq })

type StoredDraft = Draft & { readonly acceptedAt: number }

function messageIn(received: JsMsg): Message {
  return { ...received.json<StoredDraft>(), seq: received.seq }
}
