// The log on NATS JetStream: servers append to one stream, and each keeps a view of it.

import { setTimeout as pause } from 'node:timers/promises'
import {
  type ConsumerMessages,
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
import type { Message } from '../../protocol/messages.ts'
import type { History } from './history.ts'
import { keyOf, type LogParts, logUnavailable, type Memory, refusedForMs, StorageUnfit } from './log.ts'
import { endLife, type Life, readLife, subjectOf } from './nats-bucket.ts'
import { codeOf, codes, Door, envelopeBytes, reasonOf, whenNatsReady } from './nats-connection.ts'
import { from, loadView, messageIn, pulling } from './nats-view.ts'
import { asError, type Entry, publishWithinMs, retryMs, type StoredDraft, StreamLog } from './stream-log.ts'
import type { View } from './view.ts'

interface NatsLogParts extends LogParts {
  /** Stays open after the log is closed, unless `onClosed` closes it. */
  readonly connection: NatsConnection
  /**
   * The name of the stream, and the prefix of the bucket for bases: letters, digits, "-" and "_".
   */
  readonly name: string
  /** See `NatsSettings`. */
  readonly replicas: number
  /** See `memoryWithin`. */
  readonly memory?: Memory
  /** Called when the log is closed. */
  readonly onClosed?: () => Promise<void>
}

/**
 * JetStream detects a repeat within this time, whichever server receives it; the view detects later
 * ones.
 */
const duplicatesMs = 120_000

/** Interval of checks for overdue messages, and for a stream that was full. */
const lookEachMs = 500
/** Number of checks after which the stream is asked which messages it still has. */
const looksPerCheck = 4
/** Time until all servers that add one stream at the same time get the same answer. */
const settleMs = { cluster: 1000, alone: 100 }
/** From the first answer that a cluster has too few servers: others may be about to join. */
const joinWithinMs = 10_000

/** Available once JetStream answers. */
interface Opened {
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly bucket: ObjectStore
  readonly life: Life
  readonly view: View
}

export class NatsLog extends StreamLog {
  readonly #nats: NatsLogParts
  readonly #opened: Opened
  readonly #door: Door
  readonly #setBack: string
  /** Tells all servers that an epoch has ended. */
  readonly #livesSubject: string
  /** By sender: sends one draft at a time, so that the next one cannot overtake a lost one. */
  readonly #lines = new Map<string, Entry[]>()
  #consuming: ConsumerMessages | null = null
  #stop: () => void = () => undefined
  #rejoining: Promise<void> | null = null
  #looks = 0
  /** The stream's state when messages were found missing. */
  #suspected: StreamInfo['state'] | null = null
  /** Number of held messages up to a number that the stream lacks, as reported. */
  #reported = { count: 0, upTo: 0 }

  /** Waits for JetStream; rejects if waiting is useless. */
  static async open(parts: NatsLogParts): Promise<NatsLog> {
    const { connection, name, replicas } = parts
    const client = jetstream(connection)
    let joinedBy: number | null = null
    const mayJoin = () => {
      joinedBy ??= performance.now() + joinWithinMs
      return performance.now() < joinedBy
    }
    const { manager, created, bucket } = await whenNatsReady(
      `the stream ${name} of NATS`,
      parts,
      async () => {
        const manager = await jetstreamManager(connection)
        const { created, config } = await addStream(manager, name, replicas, connection, mayJoin)
        mustKeepAll(config)
        const bucket = await new Objm(client).create(`${name}-bases`, {
          replicas: config.num_replicas,
          storage: StorageType.File,
        })
        mustKeepAll((await manager.streams.info(`OBJ_${name}-bases`)).config)
        return { manager, created, bucket }
      },
    )
    const life = await whenNatsReady(`the bucket ${name}-bases of NATS`, parts, () =>
      readLife(bucket, created),
    )
    const view = await whenNatsReady(`the messages of the stream ${name}`, parts, () =>
      loadView({ ...parts, client, manager, bucket, life }),
    )
    const log = new NatsLog(parts, { client, manager, bucket, life, view })
    log.#consuming = await whenNatsReady(`a consumer of the stream ${name}`, parts, () => log.#consume())
    log.#start()
    return log
  }

  private constructor(parts: NatsLogParts, opened: Opened) {
    const { connection, name } = parts
    super(parts, opened.life.epoch, opened.view)
    this.#nats = parts
    this.#opened = opened
    this.#setBack = `the stream ${name} lost its newest messages`
    this.#livesSubject = `${name}-lives`
    this.#door = new Door(connection, {
      onShut: () => {
        if (!this.isLost) this.away = 'NATS does not answer'
      },
      onReopened: () => void this.#rejoin(),
    })
  }

  #start(): void {
    if (this.#consuming) this.#attend(this.#consuming)
    const hearing = this.#nats.connection.subscribe(this.#livesSubject, {
      callback: () => void this.#rejoin(),
    })
    // An epoch may have begun before this server subscribed.
    this.#mustBeSame().catch((error) => error instanceof StreamLost && this.lose(error.message))
    const looking = setInterval(() => void this.#look().catch(this.onFailure), lookEachMs)
    this.#stop = () => {
      clearInterval(looking)
      hearing.unsubscribe()
    }
  }

  async #consume(): Promise<ConsumerMessages> {
    const consumer = await this.#opened.client.consumers.get(this.#nats.name, from(this.history.head + 1))
    let isFirst = true
    const callback = (received: JsMsg) => {
      this.#receive(received, isFirst)
      isFirst = false
    }
    return consumer.consume({ ...pulling, callback })
  }

  /**
   * A consumer falls silent when the stream or the connection is away, and ends when the stream is
   * gone.
   */
  #attend(messages: ConsumerMessages): void {
    const watch = async () => {
      for await (const status of messages.status()) {
        if (messages !== this.#consuming || this.#rejoining) continue
        if (status.type === 'heartbeats_missed') this.away ??= 'the stream is silent'
        else if (status.type === 'heartbeat') {
          this.hear()
          // Servers of version 2.9 can skip a message that is stored during a purge.
          if (status.lastStreamSequence > this.history.head) void this.#rejoin()
        }
      }
    }
    void watch()
    void messages.closed().then(() => {
      if (messages === this.#consuming && !this.isClosed) void this.#rejoin()
    })
  }

  /** JetStream forgets its consumers when it stops. */
  async #rejoin(): Promise<void> {
    this.#rejoining ??= this.#rejoinUntilDone().finally(() => {
      this.#rejoining = null
    })
    await this.#rejoining
  }

  async #rejoinUntilDone(): Promise<void> {
    while (!this.isClosed && !this.isLost) {
      try {
        await this.#door.untilOpen()
        await this.#consuming?.close()
        if ((await this.#door.untilShut(this.#mustBeSame().then(() => true))) === null) continue
        this.#consuming = await this.#consume()
        this.#attend(this.#consuming)
        return this.hear()
      } catch (error) {
        if (error instanceof StreamLost) return this.lose(error.message)
        this.away = reasonOf(error)
        await pause(retryMs)
      }
    }
  }

  /**
   * Checks that the stream is the same one: another one has other messages with the same numbers.
   * Rejects with `StreamLost`.
   */
  async #mustBeSame(): Promise<void> {
    const { bucket, life } = this.#opened
    const { head, last: newest } = this.history
    const found = await this.#opened.manager.streams.info(this.#nats.name).catch((error) => {
      const isGone = codeOf(error) === JetStreamApiCodes.StreamNotFound
      throw isGone ? new StreamLost(`the stream ${this.#nats.name} was deleted`) : error
    })
    if (found.created !== life.created)
      throw new StreamLost(`the stream ${this.#nats.name} was created again at ${found.created}`)
    const current = await readLife(bucket, life.created)
    if (current.setBacks > life.setBacks) throw new StreamLost(this.#setBack)
    if (current.epoch === this.epoch && (await this.#reaches(head, newest, found.state))) return
    await endLife(bucket, life, this.now())
    this.#nats.connection.publish(this.#livesSubject)
    this.onLoss(
      `The stream ${this.#nats.name} of NATS lost its newest messages: a NATS server lost them in a power cut, or was restored from an older copy. Windows get a snapshot.`,
    )
    throw new StreamLost(this.#setBack)
  }

  /** Also true if the newest message has been erased since. */
  async #reaches(
    head: number,
    newest: Message | undefined,
    { first_seq, last_seq }: StreamInfo['state'],
  ): Promise<boolean> {
    if (last_seq < head || !newest || head < first_seq) return last_seq >= head
    const found = (
      await this.#opened.manager.streams.getMessage(this.#nats.name, { seq: head })
    )?.json<StoredDraft>()
    return !found || (keyOf(found) === keyOf(newest) && found.acceptedAt === newest.acceptedAt)
  }

  async #look(): Promise<void> {
    if (this.refuseOverdue()) void this.#rejoin()
    this.#looks += 1
    if (this.#looks % looksPerCheck === 0) await this.#noticePurge()
    if (!this.refused || this.away !== null) return
    const { config, state } = await this.#opened.manager.streams.info(this.#nats.name)
    const { at } = this.refused
    if (!isFull(config, state) && this.now() - at > refusedForMs && this.refused?.at === at)
      this.refused = null
  }

  /** Servers erase nothing that all of them keep: reports it if another program does. */
  async #noticePurge(): Promise<void> {
    if (this.away !== null || this.#rejoining) return
    const { manager } = this.#opened
    const { name } = this.#nats
    const { history } = this
    const found = await manager.streams.info(name).catch(() => null)
    if (!found || this.isLost) return
    const suspected = this.#suspected
    const known = Math.min(this.#reported.count, history.heldBefore(this.#reported.upTo + 1))
    this.#suspected = lackedBy(history, found.state) > known ? found.state : null
    // Another server may have dropped them a moment earlier than this one.
    const missing = suspected === null ? 0 : lackedBy(history, suspected) - known
    if (suspected === null || missing <= 0) return
    this.#suspected = null
    history.dropBefore(suspected.first_seq)
    this.#reported = { count: lackedBy(history, suspected), upTo: suspected.last_seq }
    const messages = missing === 1 ? '1 message' : `${missing} messages`
    this.onLoss(
      `Another program erased ${messages} of the stream ${name} of NATS that should have been kept, as \`nats stream purge\` does. Windows that were away get a snapshot.`,
    )
  }

  /** `isFirst`: a consumer begins with it, after the newest that this server has. */
  #receive(received: JsMsg, isFirst: boolean): void {
    const { head } = this.history
    if (received.seq <= head || this.isLost) return
    // Skipped, see `#attend`: the next consumer begins there.
    if (received.seq > head + 1 && !isFirst) return void this.#rejoin()
    if (received.seq > head + 1) this.loseUnreceived(received.seq - 1)
    else this.receive(messageIn(received))
  }

  protected override async newest(): Promise<number> {
    const { manager } = this.#opened
    const { state } = await manager.streams.info(this.#nats.name).catch((error) => {
      throw new Error(reasonOf(error), { cause: error })
    })
    return state.last_seq
  }

  protected override send(entry: Entry): void {
    const { draft } = entry
    const line = this.#lines.get(draft.from)
    if (line) line.push(entry)
    else {
      const begun = [entry]
      this.#lines.set(draft.from, begun)
      void this.#sendAll(draft.from, begun)
    }
  }

  async #sendAll(sender: string, line: Entry[]): Promise<void> {
    for (let entry = line[0]; entry; entry = line[0]) {
      try {
        await this.#publish(entry)
        line.shift()
      } catch (cause) {
        const reason = reasonOf(cause)
        if (this.away === null) this.notTaken(reason)
        // Also refuses the drafts behind it: the sender repeats all of them, in order.
        this.refuse(line.splice(0), reason)
        // The stream may have been replaced.
        if (!(cause instanceof JetStreamApiError)) void this.#rejoin()
      }
    }
    this.#lines.delete(sender)
  }

  /**
   * Retries until JetStream has it: a message that was stored but not acknowledged is found by its
   * id.
   */
  async #publish({ draft, key, payload }: Entry, msgID = key): Promise<void> {
    const subject = subjectOf(this.#nats.name, draft.channel)
    const endsAt = performance.now() + publishWithinMs
    for (;;) {
      await this.#door.untilOpen(endsAt)
      // Another stream may have this name by now.
      if (this.isLost) throw logUnavailable(this.away)
      const asked = this.#opened.client.publish(subject, payload, { msgID, timeout: publishWithinMs })
      const answer = await this.#door.untilShut(asked.catch(asError))
      if (this.isLost) throw logUnavailable(this.away)
      if (answer instanceof Error) {
        const isFinal = answer instanceof JetStreamApiError && answer.code !== codes.unavailable
        if (isFinal || performance.now() + retryMs > endsAt) throw answer
        await pause(retryMs)
      } else if (answer) {
        const isPassed = answer.seq <= this.history.head && !answer.duplicate
        // On another stream, the numbers are assigned again.
        if (isPassed && this.pending.has(key)) void this.#rejoin()
        // JetStream remembers the id of a message that the log has erased.
        const isErased = answer.duplicate && answer.seq <= this.history.head && this.pending.has(key)
        if (!isErased) return
        msgID = `${key} ${answer.seq}`
      }
    }
  }

  protected override async finish(): Promise<void> {
    await super.finish()
    await this.#nats.onClosed?.()
  }

  protected override async leave(): Promise<void> {
    this.#stop()
    this.#door.close()
    await this.#rejoining
    await this.#consuming?.close()
  }
}

/** The stream was deleted or replaced. */
class StreamLost extends Error {}

/**
 * Adds as many replicas as possible, up to the requested number. Rejects while more servers
 * `mayJoin` the cluster.
 */
async function addStream(
  manager: JetStreamManager,
  name: string,
  replicas: number,
  { info }: NatsConnection,
  mayJoin: () => boolean,
): Promise<StreamInfo> {
  const add = async (num_replicas: number) => {
    await manager.streams.add({
      name,
      subjects: [`${name}.>`],
      num_replicas,
      storage: StorageType.File,
      duplicate_window: nanos(duplicatesMs),
    })
    // If several servers add the stream at once, NATS accepts one of them but answers all.
    await pause(info?.cluster ? settleMs.cluster : settleMs.alone)
    return manager.streams.info(name)
  }
  const found = await manager.streams.info(name).catch(() => null)
  if (found) return found
  if (replicas > 0) return add(replicas)
  return add(3).catch((error) => {
    if (codeOf(error) === codes.noCluster) return add(1)
    if (codeOf(error) === codes.tooFewPeers && !mayJoin()) return add(1)
    throw error
  })
}

/** The stream's own limits would erase messages that are in no base yet. Throws a `StorageUnfit`. */
function mustKeepAll({ name, retention, discard, ...limits }: StreamConfig): void {
  const { max_msgs, max_bytes, max_msgs_per_subject, max_age } = limits
  const erasing = Object.entries({
    ...(discard === DiscardPolicy.Old && { max_msgs, max_bytes, max_msgs_per_subject }),
    max_age,
  }).filter(([, limit]) => limit > 0)
  const settings = erasing.map(([setting, limit]) => `${setting} ${limit}`)
  if (retention !== RetentionPolicy.Limits) settings.push(`retention ${retention}`)
  if (settings.length === 0) return
  throw new StorageUnfit(
    `The stream ${name} of NATS erases pages by itself (${settings.join(', ')}, discard ${discard}): remove these limits, or name another stream (nats.stream).`,
  )
}

/** Minimum number of held messages that a stream in this state lacks. */
function lackedBy(history: History, { first_seq, last_seq, messages }: StreamInfo['state']): number {
  return Math.max(history.heldBefore(first_seq), history.heldBefore(last_seq + 1) - messages)
}

/** Checks the stream's own limits. */
function isFull({ max_msgs, max_bytes }: StreamConfig, { messages, bytes }: StreamInfo['state']): boolean {
  return (max_msgs > 0 && messages >= max_msgs) || (max_bytes > 0 && bytes + envelopeBytes > max_bytes)
}
