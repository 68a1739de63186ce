// The log on NATS JetStream: any number of servers append to one stream, and each keeps a view of it.

import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
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
import {
  AuthorizationError,
  connect,
  credsAuthenticator,
  type NatsConnection,
  nanos,
  TimeoutError,
} from '@nats-io/transport-node'
import { type Draft, formatCursor, type Message } from '../wire/messages.ts'
import { Folding } from './folding.ts'
import {
  type Bounds,
  type Bus,
  idTaken,
  type Log,
  type LogFigures,
  type LogParts,
  logClosed,
  logUnavailable,
  type Outage,
  refusedForMs,
  type Snapshot,
  tooManyChannels,
} from './log.ts'
import {
  bytesOf,
  createKept,
  endLife,
  type KeptMessage,
  type Life,
  readKept,
  readLife,
  subjectOf,
} from './nats-bucket.ts'
import { blankAt, createRetention, keyOf, type Portion, portion, type Stored, Tail } from './retention.ts'
import { Followers, isRepeat, mustBeThere } from './sequencer.ts'

export interface NatsSettings {
  /** `host:port`, of any servers of the cluster. */
  readonly servers: readonly string[]
  /** Of the pages' log; the others' names begin with it. */
  readonly stream: string
  /** 0: three in a cluster of at least three servers, otherwise one. */
  readonly replicas: number
  readonly credentialsFile: string | null
}

type Waiting = Pick<LogParts, 'now' | 'print' | 'signal'>

const connectWithinMs = 5000
/** See `LogFigures`. */
const figuresWithinMs = 300
/** Two of these pings without an answer, and the connection is broken. */
const pingEachMs = 1000

/**
 * Waits until a server answers, and says for what. Rejects with a sentence where waiting is no use: NATS does not let this
 * server in, or the stream erases pages by itself.
 */
export async function openNats(
  { servers, stream, replicas, credentialsFile }: NatsSettings,
  waiting: Waiting,
) {
  const authenticator =
    credentialsFile === null ? {} : { authenticator: credsAuthenticator(readFileSync(credentialsFile)) }
  const place = `NATS at ${servers.join(', ')} (nats.servers)`
  const connection = await whenReady(place, waiting, () =>
    connect({
      ...{ servers: [...servers], name: 'crosswind', timeout: connectWithinMs, ...authenticator },
      ...{ maxReconnectAttempts: -1, reconnectTimeWait: 250, pingInterval: pingEachMs, maxPingOut: 2 },
    }),
  )
  let reconnects = 0
  const asking = await jetstreamManager(connection, { checkAPI: false, timeout: figuresWithinMs })
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'reconnect') reconnects += 1
  })()
  return {
    open: (name: string, parts: Omit<NatsLogParts, 'connection' | 'name' | 'replicas'>) =>
      openNatsLog({ ...parts, connection, name, replicas }),
    bus: createBus(connection, `${stream}-notes`),
    /** The largest message that these servers take, bytes as JSON. */
    mostBytes: (connection.info?.max_payload ?? 0) - envelopeBytes,
    async figures(): Promise<LogFigures> {
      const found = await asking.streams.info(stream).catch(() => null)
      return {
        reconnects: { nats: reconnects },
        ...(found && {
          bytes: { [stream]: found.state.bytes },
          brokerHead: { [stream]: found.state.last_seq },
        }),
      }
    },
    close: () => connection.close(),
  }
}

/** Over core NATS, which stores nothing. */
export function createBus(connection: NatsConnection, subject: string): Bus {
  return {
    post: (note) => connection.publish(subject, JSON.stringify(note)),
    follow(onNote, onReturned) {
      connection.subscribe(subject, { callback: (error, note) => void (error ?? onNote(note.json())) })
      void (async () => {
        for await (const { type } of connection.status()) if (type === 'reconnect') onReturned()
      })()
    },
  }
}

export interface NatsLogParts extends LogParts {
  /** Outlives the log. */
  readonly connection: NatsConnection
  /** Of the stream, and of the bucket with the bases: letters, digits, "-" and "_". */
  readonly name: string
  /** See `NatsSettings`. */
  readonly replicas: number
  /** See `Surroundings` of log.ts. */
  readonly onLoss?: (sentence: string) => void
  /** Memory cache, within the limits. */
  readonly memory?: Omit<Bounds, 'ageMs'>
}

const defaultMemory = { messages: 4096, bytes: 8_388_608 }

/** A repeat within it is found by JetStream, whichever server it comes to; a later one by the view. */
const duplicatesMs = 120_000

/** For JetStream's answer, a broken connection included; then the sender tries again. */
const publishWithinMs = 5000
/** From then on for the stream to deliver it. */
const deliverWithinMs = 5000
/** For a look at what is overdue, and at a stream that was full. */
const lookEachMs = 500
/** What a message has beside that of a window, `acceptedAt`, and NATS' headers. */
const envelopeBytes = 1024
/** A consumer that is silent for two of these heartbeats, ms, is looked for; one that is gone ends. */
const pulling = { expires: 5000, idle_heartbeat: 1000, abort_on_missing_resource: true } as const
/** For what another server has heard already. */
const hearWithinMs = 2000
const hearAgainMs = 5
const undelivered = 'the stream does not deliver what it took'
/** While JetStream recovers. */
const retryMs = 100
const sayEachMs = 10_000
const settleMs = 1000

/** A draft on its way, until the view has it. */
interface Entry extends PromiseWithResolvers<number> {
  readonly draft: Draft
  readonly key: string
  readonly payload: string
  readonly enteredAt: number
}

export interface NatsLog extends Log {
  readonly outage: () => Outage | null
  readonly lost: Promise<string>
}

/**
 * Waits for JetStream; rejects where that is no use. A message is one message of the stream, and its number is the
 * stream's: cursors are valid on every server. All servers must have the same limits.
 */
export async function openNatsLog(parts: NatsLogParts): Promise<NatsLog> {
  const { connection, name, replicas, limits, now, onFailure } = parts
  const { onLoss = (sentence: string) => onFailure(new Error(sentence)) } = parts
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
  const { epoch } = life
  const door = watchDoor(connection, {
    onShut: () => {
      if (!isLost) away = 'NATS does not answer'
    },
    onReopened: () => void rejoin(),
  })
  const setBack = `the stream ${name} lost its newest messages`
  /** Says that an epoch has ended, to all servers. */
  const livesSubject = `${name}-lives`
  const followers = new Followers(onFailure)
  const pending = new Map<string, Entry>()
  /** By sender: one draft under way at a time, so that a lost one is not overtaken by the next. */
  const lines = new Map<string, Entry[]>()
  const lost = Promise.withResolvers<string>()
  let isClosed = false
  let closing: Promise<void> | null = null
  let rejoining: Promise<void> | null = null
  /** Why this server is cut off from the stream; null while it is not. */
  let away: string | null = null
  let isLost = false
  /** Why JetStream did not take the newest draft, since when it takes none, and when that was last seen. */
  let refused: { readonly reason: string; readonly since: number; readonly at: number } | null = null
  let heardAt = now()
  const view = await whenReady(`the messages of the stream ${name}`, parts, load)
  let consuming = await whenReady(`a consumer of the stream ${name}`, parts, consume)
  attend(consuming)
  const stopHearing = connection.subscribe(livesSubject, { callback: () => void rejoin() })
  // One may have begun before this server heard of it.
  void mustBeSame().catch((error) => error instanceof StreamLost && lose(error.message))
  const looking = setInterval(() => void look().catch(onFailure), lookEachMs)

  function mustBeOpen(): void {
    if (isClosed) throw logClosed()
  }

  async function load(): Promise<View> {
    const { state } = await manager.streams.info(name)
    const floor = state.messages > 0 ? state.first_seq - 1 : state.last_seq
    const kept = await readKept(bucket, life, floor)
    const loaded = createView({ ...parts, floor, life, kept, bucket, erase, eraseChannel })
    if (state.messages === 0) return loaded
    const consumer = await client.consumers.get(name, from(state.first_seq))
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

  async function consume(): Promise<ConsumerMessages> {
    const consumer = await client.consumers.get(name, from(view.tail.head + 1))
    return consumer.consume({ ...pulling, callback: receive })
  }

  /** A consumer is silent when stream or connection are away, and ends when the stream is gone. */
  function attend(messages: ConsumerMessages): void {
    const watch = async () => {
      for await (const { type } of messages.status()) {
        if (messages !== consuming || rejoining) continue
        if (type === 'heartbeats_missed') away ??= 'the stream is silent'
        else if (type === 'heartbeat') hear()
      }
    }
    void watch()
    void messages.closed().then(() => {
      if (messages === consuming && !isClosed) void rejoin()
    })
  }

  function hear(): void {
    if (isLost) return
    heardAt = now()
    away = null
  }

  /** JetStream forgets its consumers when it stops. */
  async function rejoin(): Promise<void> {
    rejoining ??= rejoinUntilDone().finally(() => {
      rejoining = null
    })
    await rejoining
  }

  async function rejoinUntilDone(): Promise<void> {
    while (!isClosed && !isLost) {
      try {
        await door.untilOpen()
        await consuming.close()
        if ((await door.untilShut(mustBeSame().then(() => true))) === null) continue
        consuming = await consume()
        attend(consuming)
        return hear()
      } catch (error) {
        if (error instanceof StreamLost) return lose(error.message)
        away = reasonOf(error)
        await pause(retryMs)
      }
    }
  }

  /** Another stream of that name has other messages under the same numbers. Rejects with `StreamLost`. */
  async function mustBeSame(): Promise<void> {
    const { head, floor, heads } = view.tail
    const newest = head > floor ? view.tail.after(head - 1, new Set(heads.keys())).messages[0] : undefined
    const found = await manager.streams.info(name).catch((error) => {
      const isGone = codeOf(error) === JetStreamApiCodes.StreamNotFound
      throw isGone ? new StreamLost(`the stream ${name} was deleted`) : error
    })
    if (found.created !== created)
      throw new StreamLost(`the stream ${name} was made anew at ${found.created}`)
    const current = await readLife(bucket, created)
    if (current.setBacks > life.setBacks) throw new StreamLost(setBack)
    if (current.epoch === epoch && (await reaches(head, newest, found.state))) return
    await endLife(bucket, life, now())
    connection.publish(livesSubject)
    onLoss(
      `The stream ${name} of NATS has not the newest messages that it took: a server of NATS lost them in a power cut, or was set back to an older copy. Windows get a snapshot.`,
    )
    throw new StreamLost(setBack)
  }

  /** True also where the newest was erased since. */
  async function reaches(
    head: number,
    newest: Message | undefined,
    { first_seq, last_seq }: StreamInfo['state'],
  ): Promise<boolean> {
    if (last_seq < head || !newest || head < first_seq) return last_seq >= head
    const found = (await manager.streams.getMessage(name, { seq: head }))?.json<StoredDraft>()
    return !found || (keyOf(found) === keyOf(newest) && found.acceptedAt === newest.acceptedAt)
  }

  /** Everything that waits is refused: its senders repeat it, to the next stream. */
  function lose(reason: string): void {
    isLost = true
    away = reason
    refuse(pending.values(), reason)
    lost.resolve(reason)
  }

  function notTaken(reason: string): void {
    refused = { reason, since: refused?.since ?? now(), at: now() }
  }

  function refuse(entries: Iterable<Entry>, cause: unknown): void {
    for (const { key, reject } of [...entries]) {
      pending.delete(key)
      reject(logUnavailable(cause))
    }
  }

  async function look(): Promise<void> {
    const overdue = now() - publishWithinMs - deliverWithinMs
    const late = [...pending.values().filter(({ enteredAt }) => enteredAt < overdue)]
    if (late.length > 0) {
      const reason = away ?? undelivered
      refuse(late, reason)
      notTaken(reason)
      void rejoin()
    }
    if (!refused || away !== null) return
    const { config, state } = await manager.streams.info(name)
    const { at } = refused
    if (!isFull(config, state) && now() - at > refusedForMs && refused?.at === at) refused = null
  }

  function outage(): Outage | null {
    if (away !== null) return { reason: away, since: heardAt, isCutOff: true }
    return refused && { reason: refused.reason, since: refused.since, isCutOff: false }
  }

  function receive(received: JsMsg): void {
    const { head } = view.tail
    if (received.seq <= head || isLost) return
    // Windows that got this one would not know that they miss those.
    if (received.seq > head + 1) {
      lose(`the messages from ${head + 1} to ${received.seq - 1} were erased before this server had them`)
      return
    }
    hear()
    refused = null
    const message = messageIn(received)
    view.take(message)
    followers.tell(message, formatCursor({ epoch, seq: message.seq }))
    settle(message)
  }

  /** The view has it: answers the draft that waits for it. */
  function settle(message: Message | undefined): void {
    const entry = message && pending.get(keyOf(message))
    if (!entry) return
    pending.delete(entry.key)
    if (isRepeat(message, entry.draft)) entry.resolve(message.seq)
    else entry.reject(idTaken(entry.draft))
  }

  function hasRoomFor(channel: string): boolean {
    const { heads } = view.tail
    if (heads.has(channel) || heads.size + pending.size < limits.maxChannels) return true
    const added = new Set(pending.values().map(({ draft }) => draft.channel)).difference(heads)
    return added.has(channel) || heads.size + added.size < limits.maxChannels
  }

  /** See the sequencer. Whichever server is the first erases for all of them. */
  function eraseDue(): void {
    const due = view.tail.dueErasure()
    if (due && !pending.has(keyOf(due))) enter(due, due.at, keyOf(due)).catch(onFailure)
  }

  /** Each new channel has an empty one erased, in place of which it comes. */
  function makeRoom(): boolean {
    const isInUse = (channel: string) => pending.values().some(({ draft }) => draft.channel === channel)
    const erasure = view.tail.emptyErasure(isInUse)
    if (erasure) enter(erasure, erasure.at, keyOf(erasure)).catch(onFailure)
    return erasure !== null
  }

  function begin(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    mustBeThere(draft, view.tail)
    if (!hasRoomFor(draft.channel) && !makeRoom()) throw tooManyChannels(draft.channel, limits.maxChannels)
    return enter(draft, acceptedAt, key)
  }

  function enter(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    const payload = JSON.stringify({ ...draft, acceptedAt })
    const entry = { ...Promise.withResolvers<number>(), draft, key, payload, enteredAt: now() }
    pending.set(key, entry)
    const line = lines.get(draft.from)
    if (line) line.push(entry)
    else {
      const begun = [entry]
      lines.set(draft.from, begun)
      void sendAll(draft.from, begun)
    }
    return entry.promise
  }

  async function sendAll(sender: string, line: Entry[]): Promise<void> {
    for (let entry = line[0]; entry; entry = line[0]) {
      try {
        await publish(entry)
        line.shift()
      } catch (cause) {
        const reason = reasonOf(cause)
        if (away === null) notTaken(reason)
        // Those behind it too: the sender repeats all of them, in order.
        refuse(line.splice(0), reason)
        // Perhaps it is another stream.
        if (!(cause instanceof JetStreamApiError)) void rejoin()
      }
    }
    lines.delete(sender)
  }

  /** Tries until JetStream has it: what was stored and not answered is found by its id. */
  async function publish({ draft, key, payload }: Entry, msgID = key): Promise<void> {
    const subject = subjectOf(name, draft.channel)
    const endsAt = performance.now() + publishWithinMs
    for (;;) {
      await door.untilOpen(endsAt)
      // Another stream may have its name by now.
      if (isLost) throw logUnavailable(away)
      const asked = client.publish(subject, payload, { msgID, timeout: publishWithinMs })
      const answer = await door.untilShut(asked.catch(asError))
      if (isLost) throw logUnavailable(away)
      if (answer instanceof Error) {
        const isFinal = answer instanceof JetStreamApiError && answer.code !== codes.unavailable
        if (isFinal || performance.now() + retryMs > endsAt) throw answer
        await pause(retryMs)
      } else if (answer) {
        const isPassed = answer.seq <= view.tail.head && !answer.duplicate
        // Usually the view has it already.
        if (isPassed && view.tail.find(draft)?.seq !== answer.seq) void rejoin()
        // JetStream remembers the id of a message that the log has erased.
        const isErased = answer.duplicate && answer.seq <= view.tail.head && pending.has(key)
        if (!isErased) return
        msgID = `${key} ${answer.seq}`
      }
    }
  }

  /** Everything up to this number. */
  async function erase(seq: number): Promise<void> {
    await manager.streams.purge(name, { seq: seq + 1 })
  }

  async function eraseChannel(channel: string, before: number): Promise<void> {
    await manager.streams.purge(name, { filter: subjectOf(name, channel), seq: before })
  }

  /** Null if another server has erased some of them. */
  async function fetchAfter(seq: number, channels: ReadonlySet<string>): Promise<Portion | null> {
    const count = Math.min(portion.messages, view.tail.floor - seq)
    const consumer = await client.consumers.get(name, from(seq + 1))
    try {
      const messages: Message[] = []
      let size = 0
      let upTo = seq
      for await (const received of await consumer.fetch({ ...pulling, max_messages: count })) {
        for (; upTo < received.seq - 1 && upTo < seq + count; upTo += 1)
          if (!view.isBlank(upTo + 1)) return null
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
      await consumer.delete().catch(onFailure)
    }
  }

  /**
   * A window comes from a server that was ahead of this one: waits until it has heard as much, if there is so much. Rejects when that
   * takes too long: a snapshot would be older than what the window has.
   */
  async function hearUpTo(seq: number): Promise<void> {
    if (seq <= view.tail.head) return
    const late = AbortSignal.timeout(hearWithinMs)
    const { state } = await manager.streams.info(name)
    if (seq > state.last_seq) return
    while (seq > view.tail.head) {
      if (late.aborted) throw logUnavailable(late.reason)
      await pause(hearAgainMs)
    }
  }

  function snapshot(channels: ReadonlySet<string>): Snapshot {
    mustBeOpen()
    eraseDue()
    return { messages: view.tail.newestOn(channels), head: { epoch, seq: view.tail.head } }
  }

  async function finish(): Promise<void> {
    isClosed = true
    await Promise.allSettled(Array.from(pending.values(), ({ promise }) => promise))
    clearInterval(looking)
    stopHearing.unsubscribe()
    await rejoining
    await consuming.close()
    await view.close()
  }

  return {
    async append(draft, acceptedAt) {
      mustBeOpen()
      eraseDue()
      const key = keyOf(draft)
      const stored = view.tail.find(draft)
      const unanswered = pending.get(key)
      const known = stored ?? unanswered?.draft
      if (known && !isRepeat(draft, known)) throw idTaken(draft)
      return stored?.seq ?? unanswered?.promise ?? begin(draft, acceptedAt, key)
    },
    async find(wanted) {
      mustBeOpen()
      await pending.get(keyOf(wanted))?.promise.catch(() => undefined)
      return view.tail.find(wanted) ?? null
    },
    follow: followers.add,
    async read(cursor, channels) {
      mustBeOpen()
      eraseDue()
      if (cursor?.epoch === epoch) await hearUpTo(cursor.seq)
      const head = { epoch, seq: view.tail.head }
      const isHeld = cursor?.epoch === epoch && cursor.seq <= head.seq && cursor.seq >= view.floor()
      const found = !isHeld
        ? null
        : cursor.seq >= view.tail.floor
          ? view.tail.after(cursor.seq, channels)
          : await fetchAfter(cursor.seq, channels)
      if (!found) return { recovered: false, ...snapshot(channels), reached: head }
      return { recovered: true, messages: found.messages, reached: { epoch, seq: found.upTo }, head }
    },
    snapshot: async (channels) => snapshot(channels),
    async oldest(channel, kind) {
      mustBeOpen()
      const { base, messages } = view.folding.oldest(channel, kind)
      return { base, messages, after: { epoch, seq: Math.max(base?.seq ?? 0, view.floor()) } }
    },
    heads: () => view.tail.heads,
    outage,
    lost: lost.promise,
    close() {
      closing ??= finish()
      return closing
    },
  }
}

/** The stream of that name is another one, or none. */
class StreamLost extends Error {}

/** Waiting does not help: a sentence with the way out. */
class StreamUnfit extends Error {}

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

/** Of JetStream's API (nats-server, server/errors.json). */
const codes = { tooFewPeers: 10_005, unavailable: 10_008, noCluster: 10_074 }

const codeOf = (error: unknown) => (error instanceof JetStreamApiError ? error.code : null)

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

/** Tries until it succeeds, and says every ten seconds what it waits for. Rejects where that is no use. */
async function whenReady<Result>(
  what: string,
  { now, print, signal }: Waiting,
  run: () => Promise<Result>,
): Promise<Result> {
  let sayAt = now()
  for (;;) {
    try {
      return await run()
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof StreamUnfit) throw error
      if (error instanceof AuthorizationError || codeOf(error) === codes.noCluster)
        throw new Error(`Crosswind cannot use ${what}: ${reasonOf(error)}.`, { cause: error })
      if (now() >= sayAt) {
        print?.(`Waiting for ${what}: ${reasonOf(error)}.`)
        sayAt = now() + sayEachMs
      }
      await pause(retryMs)
    }
  }
}

/** A clause, in NATS' own words where it has some. */
function reasonOf(error: unknown): string {
  if (error instanceof TimeoutError) return 'NATS does not answer'
  // Nobody listens to the subject; the library does not export the class.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return 'no NATS server has it; JetStream is switched on by nats-server -js or a jetstream block'
  return asError(error).message
}

type View = ReturnType<typeof createView>

interface ViewParts extends NatsLogParts {
  /** The stream has what follows. */
  readonly floor: number
  readonly life: Life
  readonly kept: readonly KeptMessage[]
  readonly bucket: ObjectStore
  readonly erase: (seq: number) => Promise<void>
  /** What the stream has of it before that number. */
  readonly eraseChannel: (channel: string, before: number) => Promise<void>
}

/** What one server holds of the stream: the newest messages, the state of every channel, and what may be erased. */
function createView(parts: ViewParts) {
  const {
    limits,
    folds = {},
    now,
    onFailure,
    memory = defaultMemory,
    floor,
    life,
    bucket,
    erase,
    eraseChannel,
  } = parts
  const kept = createKept({ bucket, life, loaded: parts.kept, onFailure })
  /** After the retention's floor. */
  const held = new Map<number, Stored & { readonly channel: string }>()
  const retention = createRetention({
    bounds: limits,
    now,
    extent: { floor, head: floor, bytes: 0 },
    oldestAfter: (seq) => {
      const stored = held.get(seq + 1)
      return stored ? [stored] : []
    },
  })
  const folding = new Folding(
    {
      folds,
      bases: { ...kept.bases, erase: eraseAll },
      defer: setImmediate,
      onFailure,
      onFolded: (messages) => messages.forEach((message) => void tail.superseded(message)),
      floor: () => retention.floor(),
    },
    kept.stored((kind) => folds[kind] !== undefined),
  )
  const bounds = {
    messages: Math.min(memory.messages, limits.messages),
    bytes: Math.min(memory.bytes, limits.bytes),
    ageMs: limits.ageMs,
  }
  const tail = new Tail(
    bounds,
    now,
    folding,
    floor,
    kept.newest((kind) => folds[kind] === undefined),
  )
  let erasing: Promise<void> | null = null

  function eraseAll(channel: string, before: number): void {
    kept.erase(channel, before)
    for (const [seq, stored] of held) {
      if (stored.channel !== channel || seq >= before) continue
      held.set(seq, { channel: '', bytes: 0, acceptedAt: stored.acceptedAt })
      if (seq > retention.floor()) retention.shrank(stored.bytes)
    }
    // Last: while it has something, the next start erases the rest.
    kept
      .written()
      .then(() => eraseChannel(channel, before))
      .catch(onFailure)
  }

  async function eraseSome(): Promise<void> {
    const count = retention.erasable()
    const after = retention.erasedTo()
    if (count === 0 || !folding.areErasable(after, count)) return
    for (let seq = after + 1; seq <= after + count; seq += 1) {
      const newest = tail.newestAt(seq)
      if (newest) kept.keep(newest)
    }
    // The stream may lose only what is kept elsewhere for good.
    await kept.written()
    await erase(after + count)
    for (let seq = after + 1; seq <= after + count; seq += 1) held.delete(seq)
    retention.erased(count)
  }

  return {
    tail,
    folding,
    take(message: Message): void {
      const bytes = bytesOf(message)
      held.set(message.seq, { bytes, acceptedAt: message.acceptedAt, channel: message.channel })
      retention.add(bytes)
      tail.add(message, bytes)
      retention.forget()
      erasing ??= eraseSome()
        .catch(onFailure)
        .finally(() => {
          erasing = null
        })
    },
    floor(): number {
      retention.forget()
      return retention.floor()
    },
    /** Whether the message of that number was erased with its document. */
    isBlank: (seq: number) => held.get(seq)?.channel === '',
    async close(): Promise<void> {
      await erasing
      folding.close()
      await kept.written().catch(onFailure)
    },
  }
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

interface DoorParts {
  readonly onShut: () => void
  readonly onReopened: () => void
}

/** Whether the connection stands: what is sent while it does not is lost, with its answer. */
function watchDoor(connection: NatsConnection, parts: DoorParts) {
  let open: PromiseWithResolvers<void> | null = null
  // Not a promise that each of them races with: it would keep them all until the connection breaks.
  const onShut = new Set<() => void>()

  async function watch(): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' && open === null) {
        open = Promise.withResolvers()
        parts.onShut()
        for (const stop of onShut) stop()
        onShut.clear()
      } else if (type === 'reconnect' && open !== null) {
        open.resolve()
        open = null
        parts.onReopened()
      }
    }
    // Closed: nobody waits any more.
    open?.resolve()
  }
  void watch()

  return {
    /** Settles as `answer` does, or to null if the connection breaks first. */
    untilShut<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
      return new Promise((resolve, reject) => {
        const stop = () => resolve(null)
        onShut.add(stop)
        answer.then(resolve, reject).finally(() => onShut.delete(stop))
      })
    },
    /** Rejects at `endsAt`, as `performance.now` has it. */
    async untilOpen(endsAt = Number.POSITIVE_INFINITY): Promise<void> {
      if (open === null) return
      if (endsAt === Number.POSITIVE_INFINITY) return open.promise
      const isLate = pause(Math.max(0, endsAt - performance.now()), true, { ref: false })
      if (await Promise.race([open.promise, isLate])) throw new TimeoutError()
    },
  }
}

const from = (seq: number) => ({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq })

type StoredDraft = Draft & { readonly acceptedAt: number }

function messageIn(received: JsMsg): Message {
  return { ...received.json<StoredDraft>(), seq: received.seq }
}
