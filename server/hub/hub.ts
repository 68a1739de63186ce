// Connects clients to the log: admits them, publishes drafts, delivers messages, drains.

import {
  type AwarenessReport,
  type BeatReport,
  type ByeCode,
  type Cursor,
  type Draft,
  fingerprintIn,
  formatCursor,
  type Message,
  type Stored,
} from '../../protocol/messages.ts'
import { Refusal, type RefusalCode } from '../../protocol/refusal.ts'
import { type Random, shuffled, type Timers } from '../../protocol/time.ts'
import { trace } from '../../protocol/trace.ts'
import type { TypeOf } from '../channels/channel-type.ts'
import { type Bus, type Log, newEpoch } from '../log/log.ts'
import { Awareness, checkReport } from './awareness.ts'
import { type Delivery, RecentDeliveries } from './delivery.ts'
import { Heartbeats } from './heartbeats.ts'
import { Movements, type OnMoved } from './movements.ts'
import { type ForwardedRequest, Neighbours } from './neighbours.ts'
import { type Poll, type PollReply, Polls } from './polls.ts'
import { bytesPerToken, RateLimit, reserveOf } from './rate-limit.ts'
import { type Client, type ConnectedClient, clientKey, firstChannelOf, Registry } from './registry.ts'
import {
  type ClientIdentity,
  drawReconnectDelayMs,
  type Joining,
  type QuotaHolder,
  Subscriber,
  type SubscriberHub,
  type Who,
} from './subscriber.ts'
import { VolatileMessages } from './volatile.ts'
import { type Step, Writer } from './writer.ts'

/** Counts traffic. */
export interface Meter {
  /** A message was stored, this long after it was admitted. */
  readonly stored: (ms: number) => void
  readonly sent: (messages: number) => void
  /** A message that may be missed was dropped from a full queue. */
  readonly omitted: () => void
  /** The log, its disk or its broker failed to store a message. */
  readonly failed: () => void
  /** A client resumed but got a snapshot instead of the messages it had missed. */
  readonly unrecovered: () => void
  /** The server ended a stream. */
  readonly ended: (code: ByeCode) => void
}

const ignored = () => undefined

/** Counts nothing. */
export const silentMeter: Meter = {
  stored: ignored,
  sent: ignored,
  omitted: ignored,
  failed: ignored,
  unrecovered: ignored,
  ended: ignored,
}

export interface HubParts {
  readonly log: Log
  readonly typeOf: TypeOf
  readonly timers: Timers
  readonly random: Random
  /**
   * Reports errors that cost one client its stream: its connection threw, or the log was
   * unreadable.
   */
  readonly onFailure: (error: unknown) => void
  /** The connection to the other servers of the log, if there are any. */
  readonly bus?: Bus | undefined
  readonly meter: Meter
  /** Reason for which no client is admitted at the moment; null by default. */
  readonly refusal?: () => Refusal | null
  readonly onMoved?: OnMoved | undefined
  /** Steps of a message's path into the log, after the hub's own. */
  readonly steps?: readonly Step[] | undefined
  readonly settings: {
    readonly heartbeatMs: number
    readonly maxWindows: number
    readonly maxChannels: number
    readonly streamsPerSession: number
    readonly newChannelsPerHour: number
    readonly queueBytesPerWindow: number
    readonly messagesPerSecond: number
    readonly statesPerSecond: number
    readonly stateBytes: number
    readonly stateBytesPerSecond: number
  }
}

/** Pace of draining, as far as time allows. */
const drainMsPerStream = 2
const drainTurnMs = 20

const sessionEnded = 'The application has ended this session; ask for another.'

export class Hub {
  readonly #parts: HubParts
  readonly #registry: Registry
  readonly #awareness: Awareness
  readonly #volatile: VolatileMessages
  readonly #polls: Polls
  readonly #writer: Writer
  readonly #heartbeats: Heartbeats
  readonly #neighbours: Neighbours | undefined
  /** Null if nobody is told of them. */
  readonly #movements: Movements | null
  readonly #rateLimit: RateLimit
  readonly #stateLimit: RateLimit
  readonly #streams: SubscriberHub
  /** Rejects with a `Refusal` while no client is admitted because the log is stale. */
  readonly snapshot: Log['snapshot']
  #draining: Promise<void> | null = null

  constructor(parts: HubParts) {
    const { log, typeOf, timers, random, bus, settings, meter } = parts
    const { heartbeatMs } = settings
    this.#parts = parts

    this.snapshot = async (channels) => {
      const refusal = parts.refusal?.()
      if (refusal) throw refusal
      return log.snapshot(channels)
    }
    this.#registry = new Registry(timers, settings.maxWindows, (key) => this.#awareness.left(key))
    this.#awareness = new Awareness({
      typeOf,
      timers,
      streamsOn: (channel) => this.#registry.streamsOn(channel),
      readersOn: (channel) => this.#registry.readersOn(channel),
      onChange: (channel) => this.#polls.wake(channel),
      bytesPerSecond: settings.stateBytesPerSecond,
    })
    const registry = this.#registry
    const awareness = this.#awareness
    this.#movements = parts.onMoved ? new Movements(timers, parts.onMoved) : null
    if (this.#movements) registry.moves = this.#movements
    const recent = new RecentDeliveries(typeOf)
    this.#streams = {
      log,
      recent,
      heartbeatMs,
      now: timers.now,
      stateBytes: settings.stateBytes,
      queueBytes: settings.queueBytesPerWindow,
      reconnectDelayMs: () => drawReconnectDelayMs(random),
      on: {
        live: (stream) => {
          awareness.joined(stream)
          registry.presenceChanged()
        },
        unrecovered: () => meter.unrecovered(),
        omitted: () => meter.omitted(),
        ended: (stream, code) => {
          registry.leave(stream)
          meter.ended(code)
        },
        failed: (error) => parts.onFailure(error),
      },
    }
    this.#volatile = new VolatileMessages({
      timers,
      streamsOn: (channel) => registry.streamsOn(channel),
      readersOn: (channel) => registry.readersOn(channel),
      wake: (channel) => this.#polls.wake(channel),
    })
    const volatile = this.#volatile
    this.#polls = new Polls({
      streams: this.#streams,
      registry,
      awareness,
      volatile,
      timers,
      admit: (identity) => this.#admit(identity),
      onSent: (messages) => meter.sent(messages),
    })
    const { newChannelsPerHour, maxChannels } = settings
    this.#writer = new Writer({
      log,
      now: timers.now,
      meter,
      newChannelsPerHour,
      maxChannels,
      steps: parts.steps,
    })
    this.#rateLimit = new RateLimit(settings.messagesPerSecond, timers.now)
    this.#stateLimit = new RateLimit(settings.statesPerSecond, timers.now)
    this.#neighbours =
      bus &&
      new Neighbours({
        bus,
        server: newEpoch(random),
        timers,
        heartbeatMs,
        registry,
        awareness,
        onForwarded: (said) => this.#hearOfOthers(said),
        onEnded: (who) => this.end(who),
        onVolatile: (message) => this.#sendVolatile(message),
      })
    this.#heartbeats = new Heartbeats({ timers, heartbeatMs, registry, awareness, volatile, log })
    log.follow((message, cursor, text) => this.#deliver(message, recent.add(message, cursor, text)))
  }

  /** Sends a stored message to its subscribers. */
  #deliver({ id, channel, from }: Message, delivery: Delivery): void {
    const streams = this.#registry.streamsOn(channel)
    trace.hub?.(
      `${id} goes to ${channel}: streams ${streams.size}, held polls ${this.#polls.heldOn(channel)}`,
    )
    for (const stream of streams) stream.send(delivery)
    this.#parts.meter.sent(streams.size)
    this.#polls.wake(channel)
    this.#awareness.wrote(channel, from)
  }

  /**
   * Opens a stream: welcome, missed messages or a snapshot, then new messages. Throws a `Refusal`
   * when full or draining.
   */
  join(joining: Joining, cursor: Cursor | null): Subscriber {
    this.#admit(joining)
    const stream = new Subscriber(joining, this.#streams)
    trace.stream?.(
      `${joining.id} opens by ${joining.mode.name} ${cursor ? `from ${formatCursor(cursor)}` : 'without a cursor'}: ${[...joining.channels].join(', ')}`,
    )
    const joined = this.#registry.join(stream)
    if (!joined) {
      stream.dismiss('replaced', 'A newer stream of this window is open.')
      return stream
    }
    joined.replaced?.dismiss('replaced', 'A newer stream of this window is open.')
    void stream.open(cursor)
    if (joining.owner !== null) this.#neighbours?.forward(openedBy(joining))
    return stream
  }

  leave(stream: Subscriber): void {
    if (!stream.isClosed) trace.stream?.(`${stream.identity.id} closed its ${stream.identity.mode.name}`)
    stream.gone()
    this.#registry.leave(stream)
  }

  /** Rejects with a `Refusal` when full or draining. */
  poll(poll: Poll): Promise<PollReply> {
    const { identity } = poll
    if (identity.owner !== null) this.#neighbours?.polled(identity.id, firstChannelOf(identity))
    return this.#polls.poll(poll)
  }

  /** Removes a polling client with a proven name. `isForGood`: also what the client showed. */
  left(id: string, opening: number, isForGood = false): void {
    this.#registry.left(id, opening)
    if (isForGood) this.#awareness.leftForGood(id, opening)
    this.#neighbours?.forward({ type: 'left', window: id, opening, isForGood })
  }

  /**
   * Returns the answer to the sender once the message is stored and sent to all streams:
   * synchronously if the log stores it synchronously, else a promise. `holder` is the sender,
   * absent for the server itself. Never throws; rejects with a `Refusal` or the store's error.
   */
  publish(draft: Draft, holder?: QuotaHolder): Stored | Promise<Stored> {
    return this.#writer.publish(draft, holder)
  }

  /** Stores a client's draft, or sends it on if it is volatile. As `publish`. */
  take(draft: Draft, holder: QuotaHolder | undefined): Stored | Promise<Stored> {
    return draft.volatile ? this.sendVolatile(draft) : this.publish(draft, holder)
  }

  /** Sends a message to the clients that are connected now, at all servers; not to its sender. */
  sendVolatile(draft: Draft): Stored {
    this.#sendVolatile(draft)
    this.#neighbours?.send(draft)
    return { type: 'stored', id: draft.id, seq: 0 }
  }

  #sendVolatile(draft: Draft): void {
    this.#parts.meter.sent(this.#volatile.send(draft))
  }

  /**
   * Returns the ms to wait before the next message; 0 counts it as sent. `connection` is the
   * sender's.
   */
  waitMs(connection: object, sender = ''): number {
    return Math.ceil(this.#rateLimit.take(connection, sender))
  }

  /** Ms to wait before the window's next state. */
  stateWaitMs(connection: object, window = ''): number {
    return Math.ceil(this.#stateLimit.take(connection, window))
  }

  /** Charges the sender for a state that arrived too soon after others. */
  hurried(connection: object): void {
    const { messagesPerSecond, statesPerSecond } = this.#parts.settings
    this.#rateLimit.charge(connection, messagesPerSecond / statesPerSecond)
  }

  /** Charges the sender for a refused draft or frame of so many bytes in UTF-8. */
  refused(connection: object, bytes: number): void {
    this.#rateLimit.charge(connection, Math.floor(bytes / bytesPerToken))
  }

  /**
   * Throws a `Refusal` (403 `not-your-name`) if a free name reports `windows`, those of a shared
   * stream.
   */
  heard(from: Subscriber | string, beat: BeatReport = {}): void {
    const client = this.#clientOf(from)
    if (client) this.#heard(client, beat)
    if (!client?.stream && typeof from === 'string')
      this.#neighbours?.forward({ type: 'heard', window: from, beat })
  }

  #heard(client: Client, { at, windows }: BeatReport): void {
    this.#registry.heard(client, windows)
    if (at !== undefined) client.stream?.answered(at)
  }

  /**
   * Shows a window's state; `from` is its stream or a proven name. Ignored for a client without a
   * stream that does not poll: it may have left since. Throws a `Refusal`: 403 `not-your-name` or
   * `read-only-channel`, and 400 `bad-shape` for a channel that the window does not read, which
   * cannot be checked for another server's window.
   */
  show(from: Subscriber | string, report: AwarenessReport, opening = Number.POSITIVE_INFINITY): void {
    const client = this.#clientOf(from)
    if (client) this.#awareness.show(client, report, opening)
    if (typeof from !== 'string') return
    if (!client) checkReport(from, report, this.#parts.typeOf)
    // Several servers may know a polling client, and another one may show it.
    const isForOthers = !client || (client.stream === null && report.state === null)
    if (isForOthers) this.#neighbours?.forward({ type: 'show', window: from, report, opening })
  }

  streamOf(id: string): Subscriber | null {
    return this.#registry.named(id)?.stream ?? null
  }

  windowCount(): number {
    return this.#registry.size
  }

  windowsOn(channel: string): number {
    return this.#registry.windowsOn(channel)
  }

  /**
   * The clients that read a channel, at all servers of the log. A server that does not answer within a
   * second is left out.
   */
  async clientsOn(channel: string): Promise<readonly ConnectedClient[]> {
    const others = (await this.#neighbours?.clientsOn(channel)) ?? []
    const found: ConnectedClient[] = []
    /** A client that polls may be known to several servers. */
    const named = new Map<string, ConnectedClient>()
    for (const client of [...this.#registry.on(channel), ...others]) {
      const { id, since } = client
      if (fingerprintIn(id) === null) found.push(client)
      else if (since < (named.get(id)?.since ?? Number.POSITIVE_INFINITY)) named.set(id, client)
    }
    return [...found, ...named.values()]
  }

  windows() {
    return Array.from(this.#registry.all(), figuresOf)
  }

  isDraining(): boolean {
    return this.#draining !== null
  }

  /**
   * Disconnects all current clients, to reconnect after a jittered delay; polling clients are
   * refused at their next poll.
   */
  sendAway(sentence: string): void {
    void this.#drainStreams(drainMsPerStream * this.#registry.size, sentence)
    this.#polls.wakeAll()
  }

  /**
   * Admits no more clients; disconnects all within `withinMs`, to reconnect after a jittered delay.
   */
  drain(withinMs: number): Promise<void> {
    this.#draining ??= this.#drain(withinMs)
    return this.#draining
  }

  /**
   * Ends the streams and polls of a user or client, which must get another session. `isEverywhere`: at
   * the other servers of the log, too.
   */
  end(who: Who, isEverywhere = false): void {
    const ended = this.#registry.of(who)
    for (const { identity, stream } of ended) {
      this.#awareness.leftForGood(clientKey(identity), identity.opening)
      if (stream) stream.end('expired', sessionEnded, 0)
      else {
        this.#registry.end(identity)
        for (const channel of identity.channels) this.#polls.wake(channel)
      }
    }
    if (isEverywhere) this.#neighbours?.end(who)
    // Sent last: a server that learns that a polling client has left cannot end it.
    for (const { identity, stream } of ended)
      if (!stream && identity.owner !== null)
        this.#neighbours?.forward({
          type: 'left',
          window: identity.id,
          opening: identity.opening,
          isForGood: true,
        })
  }

  #clientOf(from: Subscriber | string): Client | undefined {
    return typeof from === 'string' ? this.#registry.named(from) : this.#registry.find(from.identity)
  }

  /** Throws a `Refusal` when draining, for a new client when full, and for one whose session has ended. */
  #admit(identity: ClientIdentity): void {
    if (identity.isRevoked?.() || this.#registry.wasEnded(identity))
      throw new Refusal('session-expired', sessionEnded)
    if (this.#draining)
      throw this.#unavailable('draining', 'The server is shutting down; try again in a moment.')
    const refusal = this.#parts.refusal?.()
    if (refusal) throw refusal
    if (this.#registry.find(identity)) return
    const why = this.#whyFull(identity)
    if (why) throw this.#unavailable('too-many-windows', why)
  }

  #unavailable(code: RefusalCode, sentence: string): Refusal {
    return new Refusal(code, sentence, null, this.#streams.reconnectDelayMs())
  }

  /** Returns a sentence; null if there is room for the new client. */
  #whyFull({ holder }: ClientIdentity): string | null {
    const registry = this.#registry
    const { maxWindows, streamsPerSession } = this.#parts.settings
    if (registry.size >= maxWindows)
      return `The server holds ${maxWindows} windows, its limit (limits.maxWindows); close one or raise it.`
    if (!holder) return null
    const { connection, account } = holder
    const held = registry.heldBy(connection)
    if (held >= streamsPerSession)
      return `This connection holds ${held} windows, its limit (limits.streamsPerSession); close one or open another connection.`
    if (account !== null && registry.heldBy(account) >= maxWindows / 2)
      return 'The windows of one account or user are at most half of all (limits.maxWindows); close one.'
    if (held === 0 || registry.size < reserveOf(maxWindows)) return null
    return `The server is nearly full, and this connection already has a window (limits.maxWindows: ${maxWindows}); close one.`
  }

  /** Handles a request that reached another server but concerns a client of this one. */
  #hearOfOthers(said: ForwardedRequest): void {
    if (said.type === 'left' && said.isForGood) this.#awareness.leftForGood(said.window, said.opening)
    const client = this.#registry.named(said.window)
    if (said.type === 'opened') {
      if (client) this.#takeOver(client, said.opening)
      this.#movements?.movedAway(said.window, said.opening, said.channels)
    }
    if (!client || said.type === 'opened') return
    if (said.type === 'polled') {
      if (!client.stream) client.heardAt = this.#parts.timers.now()
    } else if (said.type === 'left') this.#registry.left(said.window, said.opening)
    else {
      try {
        if (said.type === 'heard') this.#heard(client, said.beat)
        else this.#awareness.show(client, said.report, said.opening)
      } catch (error) {
        // The other server has already answered the sender.
        if (!(error instanceof Refusal)) throw error
      }
    }
  }

  /** A stream of that name was opened at another server. */
  #takeOver({ identity, stream }: Client, opening: number): void {
    if (identity.opening > opening) this.#neighbours?.forward(openedBy(identity))
    else if (identity.opening === opening) return
    else if (stream) stream.dismiss('replaced', 'A newer stream of this window is open.')
    else this.#registry.left(identity.id, opening - 1)
  }

  async #drain(withinMs: number): Promise<void> {
    const endsAt = this.#parts.timers.now() + withinMs
    await this.#drainStreams(withinMs, 'The server is shutting down or restarting.')
    // Polling clients are notified at their next poll.
    await this.#polls.drain(endsAt)
    this.#heartbeats.stop()
    this.#neighbours?.close()
    this.#awareness.close()
    this.#registry.close()
    this.#movements?.close()
  }

  /** Uses random order over several turns, to spread the load on the next server. */
  #drainStreams(withinMs: number, sentence: string): Promise<void> {
    const { timers, random } = this.#parts
    const { reconnectDelayMs } = this.#streams
    const streams = this.#registry.all().flatMap(({ stream }) => (stream ? [stream] : []))
    const leaving = shuffled(streams.toArray(), random)
    const turns = Math.max(1, Math.floor(Math.min(withinMs, leaving.length * drainMsPerStream) / drainTurnMs))
    const perTurn = Math.ceil(leaving.length / turns)
    return new Promise((resolve) => {
      function turn(): void {
        for (const stream of leaving.splice(0, perTurn)) stream.end('draining', sentence, reconnectDelayMs())
        if (leaving.length === 0) resolve()
        else timers.later(turn, drainTurnMs)
      }
      turn()
    })
  }
}

const openedBy = ({ id, opening, channels }: ClientIdentity) =>
  ({ type: 'opened', window: id, opening, channels: [...channels] }) as const

/** Names are not secret: using one requires its key. */
function figuresOf({ identity, stream, heardAt }: Client) {
  const { id, channels, mode } = identity
  return {
    id,
    channels: [...channels],
    mode: mode.name,
    backlogBytes: stream?.backlogBytes ?? 0,
    droppedMessages: stream?.dropped ?? 0,
    /** Last frame received, ms since the epoch; null for none. */
    heardAt,
  }
}
