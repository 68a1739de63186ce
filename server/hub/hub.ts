// Connects clients to the log: publishes drafts, delivers messages, sends heartbeats, drains.

import {
  type Bus,
  type CatchUp,
  DocumentDeleted,
  IdTaken,
  type Log,
  LogClosed,
  LogFull,
  LogUnavailable,
  NotThere,
  newEpoch,
  TooManyChannels,
} from '../log/log.ts'
import { Refusal } from '../refusal.ts'
import {
  type AwarenessReport,
  type ByeCode,
  type Cursor,
  type Draft,
  fingerprintIn,
  pageOfOverview,
  probesChannel,
  type Stored,
  windChannel,
} from '../wire/messages.ts'
import type { Random, Timers } from '../wire/time.ts'
import { Awareness } from './awareness.ts'
import { joinNeighbours, type Said } from './neighbours.ts'
import { createPolls } from './polls.ts'
import { bytesPerToken, createRateLimit, NewChannels, reserveOf } from './rate-limit.ts'
import { type Client, clientKey, pageOf, Registry } from './registry.ts'
import {
  type ClientIdentity,
  Delivery,
  type Holder,
  type Joining,
  RecentDeliveries,
  Subscriber,
  welcomeTo,
} from './subscriber.ts'

export type Hub = ReturnType<typeof createHub>

/** Counts traffic. */
export interface Meter {
  /** A message, so long after it was admitted. */
  readonly stored: (ms: number) => void
  readonly sent: (messages: number) => void
  /** A reading or overview was left out of a full queue. */
  readonly omitted: () => void
  /** A message that the log, its disk or its broker failed to store. */
  readonly failed: () => void
  /** A client resumed and got a snapshot in place of what it had missed. */
  readonly unrecovered: () => void
  /** A stream, by this server. */
  readonly ended: (code: ByeCode) => void
}

const noMeter: Meter = {
  ...{ stored: () => undefined, sent: () => undefined, omitted: () => undefined },
  ...{ failed: () => undefined, unrecovered: () => undefined, ended: () => undefined },
}

interface HubParts {
  readonly log: Log
  readonly timers: Timers
  readonly random: Random
  /** Errors that cost one client its stream: its connection threw, or the log was unreadable. */
  readonly onFailure: (error: unknown) => void
  readonly onJoined?: (channels: ReadonlySet<string>) => void
  /** To the other servers of the log; absent where there are none. */
  readonly bus?: Bus | undefined
  /** Whether it may do what one server of the log has to do; default: true. */
  readonly mayLead?: boolean
  readonly meter?: Meter
  /** Why no client is admitted at the moment; default: null. */
  readonly refusal?: () => Refusal | null
  readonly settings: {
    readonly heartbeatMs: number
    readonly maxWindows: number
    readonly maxChannels: number
    readonly streamsPerSession: number
    readonly newChannelsPerHour: number
    readonly queueBytesPerWindow: number
    readonly messagesPerSecond: number
  }
}

/** Jittered, so that clients do not reconnect at once. */
const reconnectDelayMs = { least: 300, spread: 1200 }

/** Until a message is sent again that the log's broker did not take. */
const unavailableMs = 1000

/** The same where the disk is full: somebody has to make room. */
const fullMs = 5000

/** The same for a deleted document: what a window has kept for it is stored once it was brought back. */
const deletedMs = 5000

/** Clients counted per stream: more than a person opens, too few to fake a large audience. */
const mostCarried = 100

/** Turns per heartbeat: 10,000 heartbeats at once would delay messages. */
const beatTurns = 16

/** Heartbeats without a sign of life: two may be late. */
export const beatsMissed = 2.5

/** A polling client that asks nothing for so long is not shown: it may have crashed. */
const pollerSilenceMs = 4000

/** Pace of draining, as far as time allows. */
const drainMsPerStream = 2
const drainTurnMs = 20

export function createHub(parts: HubParts) {
  const { log, timers, random, onFailure, onJoined, bus, mayLead = true, meter = noMeter, settings } = parts
  const { refusal: refusalNow = () => null } = parts
  const { heartbeatMs, maxWindows, maxChannels, queueBytesPerWindow, messagesPerSecond } = settings
  const registry = new Registry(timers, maxWindows, (key) => awareness.left(key))
  const awareness: Awareness = new Awareness(
    timers,
    (channel) => registry.streamsOn(channel),
    (channel) => polls.wake(channel),
  )
  const recent = new RecentDeliveries()
  const rateLimit = createRateLimit(messagesPerSecond, timers.now)
  const newChannels = new NewChannels(settings.newChannelsPerHour, maxChannels, timers.now)
  /** New channels whose first message is not stored yet. */
  const beginning = new Set<string>()
  const polls = createPolls({
    log: { ...log, read },
    registry,
    awareness,
    timers,
    recent,
    mostBytes: queueBytesPerWindow,
    heartbeatMs,
    admit,
    onJoined: ({ channels }) => onJoined?.(channels),
    onSent: (messages) => meter.sent(messages),
  })
  const neighbours =
    bus &&
    joinNeighbours({
      ...{ bus, server: newEpoch(random), mayLead, timers, heartbeatMs, registry, awareness, onSaid },
      onJoined: (overview) => onJoined?.(new Set([overview])),
    })
  let draining: Promise<void> | null = null

  let beginners = 0
  let stopBeating = timers.later(beatTurn, heartbeatMs / beatTurns)

  log.follow((message, cursor, text) => {
    const delivery = recent.add(message, cursor, text)
    const streams = registry.streamsOn(message.channel)
    for (const stream of streams) stream.send(delivery)
    meter.sent(streams.size)
    polls.wake(message.channel)
    awareness.wrote(message.channel, message.from)
  })

  /** For a client that comes; a cursor is what it has. */
  async function read(cursor: Cursor | null, channels: ReadonlySet<string>): Promise<CatchUp> {
    const found = await log.read(cursor, channels)
    if (cursor && !found.recovered) meter.unrecovered()
    return found
  }

  /** Throws a `Refusal` when draining, or when full for a new client. */
  function admit(identity: ClientIdentity): void {
    if (draining) {
      const sentence = 'The server is shutting down; try again in a moment.'
      throw new Refusal(503, 'draining', sentence, null, drawReconnectDelayMs())
    }
    const refusal = refusalNow()
    if (refusal) throw refusal
    if (registry.find(identity)) return
    const why = whyFull(identity)
    if (why) throw new Refusal(503, 'too-many-windows', why, null, drawReconnectDelayMs())
  }

  /** A sentence; null where there is room for the new client. */
  function whyFull({ holder }: ClientIdentity): string | null {
    if (registry.size >= maxWindows)
      return `The server holds ${maxWindows} windows, its limit (limits.maxWindows); close one or raise it.`
    if (!holder) return null
    const { connection, invitation } = holder
    const held = registry.heldBy(connection)
    if (held >= settings.streamsPerSession)
      return `This connection holds ${held} windows, its limit (limits.streamsPerSession); close one or open another connection.`
    if (invitation !== null && registry.heldBy(invitation) >= maxWindows / 2)
      return 'Those who came by your invitation hold half of all windows (limits.maxWindows); close one.'
    if (held === 0 || registry.size < reserveOf(maxWindows)) return null
    return `The server is nearly full, and this connection has a window (limits.maxWindows: ${maxWindows}); close one.`
  }

  function mayBegin(draft: Draft, holder: Holder | undefined): void {
    const heads = log.heads()
    const { channel } = draft
    if (!holder || channel === probesChannel || heads.has(channel) || beginning.has(channel)) return
    newChannels.begin(holder, draft, heads.size + beginning.size)
  }

  /** Sends welcome, then missed messages or a snapshot, in portions to bound memory; then goes live. */
  async function begin(stream: Subscriber, cursor: Cursor | null): Promise<void> {
    const { identity } = stream
    let found = await read(cursor, identity.channels)
    if (stream.isClosed) return
    const welcome = new Delivery(welcomeTo(identity, found, heartbeatMs))
    await stream.replay([welcome, ...recent.deliveriesOf(found)])
    while (found.reached.seq < found.head.seq && !stream.isClosed) {
      found = await log.read(found.reached, identity.channels)
      // The client restarts from a snapshot.
      if (!found.recovered)
        return dismiss(stream, 'overflow', 'The log went on faster than this window read.')
      await stream.replay(recent.deliveriesOf(found))
    }
    if (stream.isClosed) return
    stream.begin(found.reached.seq)
    if (!stream.isClosed) awareness.joined(stream)
    registry.presenceChanged()
  }

  function dismiss(stream: Subscriber, code: ByeCode, sentence: string): void {
    // Reconnecting at once would replace the other stream again.
    const afterMs = code === 'replaced' ? drawReconnectDelayMs() : 0
    end(stream, code, `${sentence} It resumes from where it was.`, afterMs)
  }

  function fail(stream: Subscriber, error: unknown): void {
    // The log says its outages itself.
    if (!(error instanceof LogUnavailable)) onFailure(error)
    end(
      stream,
      'failed',
      'The server failed this window; it resumes from where it was.',
      drawReconnectDelayMs(),
    )
  }

  function end(stream: Subscriber, code: ByeCode, sentence: string, afterMs: number): void {
    registry.leave(stream)
    if (!stream.isClosed) meter.ended(code)
    stream.close(code, sentence, afterMs)
  }

  function drawReconnectDelayMs(): number {
    return Math.round(reconnectDelayMs.least + random() * reconnectDelayMs.spread)
  }

  function carriedBy(client: Client, said: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
    const { identity } = client
    if (identity.owner === null) {
      const sentence = `"${identity.id}" is a free name and speaks for itself alone; a stream that carries several windows has a key.`
      throw new Refusal(403, 'not-your-name', sentence)
    }
    let room = Math.max(1, Math.min(mostCarried, maxWindows - registry.windowsBeside(client)))
    const counted = new Map<string, number>()
    for (const [channel, windows] of Object.entries(said)) {
      if (!identity.channels.has(channel)) continue
      const count = Math.min(windows, room)
      counted.set(channel, count)
      room -= count
    }
    return counted
  }

  /** Throws what needs no knowledge of the client. */
  function checkReport(id: string, owner: string | null, { window = id, channel }: AwarenessReport): void {
    if (window !== id && (owner === null || owner !== fingerprintIn(window))) {
      const sentence = `"${id}" cannot show "${window}", a window of another key; each window shows itself.`
      throw new Refusal(403, 'not-your-name', sentence)
    }
    const isPage =
      channel === undefined ||
      (channel !== windChannel && channel !== probesChannel && pageOfOverview(channel) === null)
    if (isPage) return
    const sentence = `Nobody is shown on channel "${channel}"; show the window on the page's own.`
    throw new Refusal(403, 'read-only-channel', sentence)
  }

  function showOf({ identity, page }: Client, report: AwarenessReport, opening: number): void {
    const { window = identity.id, channel = page, state } = report
    checkReport(identity.id, identity.owner, { window, channel, state })
    if (!identity.channels.has(channel)) {
      const sentence = `"${identity.id}" does not read channel "${channel}"; a window is shown where it reads.`
      throw new Refusal(400, 'bad-shape', sentence)
    }
    // Otherwise late, from before the window opened anew.
    if (opening >= identity.opening) awareness.show(identity, { channel, window, state })
  }

  /** What came to another server for a client that is here. */
  function onSaid(said: Said): void {
    const client = registry.named(said.window)
    if (!client) return
    if (said.type === 'polled') {
      if (!client.stream) client.heardAt = timers.now()
    } else if (said.type === 'opened') takeOver(client, said.opening)
    else if (said.type === 'left') registry.left(said.window, said.opening)
    else {
      try {
        if (said.type === 'heard') hear(client, said.carries)
        else showOf(client, said.report, said.opening)
      } catch (error) {
        // Its sender was answered without knowing this client.
        if (!(error instanceof Refusal)) throw error
      }
    }
  }

  /** A stream of that name was opened at another server. */
  function takeOver({ identity, stream }: Client, opening: number): void {
    if (identity.opening > opening)
      neighbours?.say({ type: 'opened', window: identity.id, opening: identity.opening })
    else if (identity.opening === opening) return
    else if (stream) dismiss(stream, 'replaced', 'A newer stream of this window was opened.')
    else registry.left(identity.id, opening - 1)
  }

  function hear(client: Client, carries?: Readonly<Record<string, number>>): void {
    client.heardAt = timers.now()
    if (!carries) return
    const counted = carriedBy(client, carries)
    if (isSame(client.carries, counted)) return
    client.carries = counted
    registry.presenceChanged()
  }

  /** Also disconnects silent clients. */
  function beatTurn(): void {
    const encoded = new Map<number, Delivery>()
    for (const client of [...registry.all()]) {
      if (client.stream) attend(client, client.stream, encoded)
      else if (isQuiet(client)) awareness.silent(clientKey(client.identity))
    }
    registry.forgetSilent(heartbeatMs * beatsMissed)
    awareness.forgetBefore(timers.now() - heartbeatMs * beatsMissed)
    stopBeating = timers.later(beatTurn, heartbeatMs / beatTurns)
  }

  const isQuiet = ({ heardAt, quietUntil }: Client) =>
    timers.now() - Math.max(heardAt ?? 0, quietUntil ?? 0) > pollerSilenceMs

  function attend(client: Client, stream: Subscriber, encoded: Map<number, Delivery>): void {
    const now = timers.now()
    const { heardAt } = client
    const { expiresAt, channels } = stream.identity
    if (expiresAt !== null && expiresAt <= now) {
      dismiss(stream, 'expired', 'The session has ended; it has to be renewed.')
    } else if (heardAt !== null && now - heardAt > heartbeatMs * beatsMissed) {
      dismiss(stream, 'silent', 'Nothing was heard of this window for too long.')
    } else if (isBeatDue(client, now)) {
      const heads = log.heads()
      let newest = 0
      for (const channel of channels) newest = Math.max(newest, heads.get(channel) ?? 0)
      stream.offer(encoded.getOrInsertComputed(newest, () => new Delivery({ type: 'heartbeat', newest })))
    }
  }

  function isBeatDue(client: Client, now: number): boolean {
    // Half a turn of tolerance, so that an early timer does not cost a whole turn.
    const restMs = (heartbeatMs * (beatTurns - 1.5)) / beatTurns
    let lastAt = client.beatAt
    if (lastAt === null) {
      // Head starts: after a restart all clients join at once.
      beginners += 1
      lastAt = now - ((beginners % (beatTurns - 1)) * heartbeatMs) / beatTurns
    }
    const isDue = now - lastAt >= restMs
    client.beatAt = isDue ? now : lastAt
    return isDue
  }

  async function drain(withinMs: number): Promise<void> {
    const startedAt = timers.now()
    await drainStreams(withinMs, 'The server is shutting down or restarting.')
    // Polling clients learn of it at their next poll.
    await polls.drain(startedAt + withinMs)
    stopBeating()
    neighbours?.close()
    awareness.close()
    registry.close()
  }

  /** In random order over several turns, to spread the load on the next server. */
  function drainStreams(withinMs: number, sentence: string): Promise<void> {
    const leaving = Array.from(registry.all(), ({ stream }) => ({ stream, place: random() }))
      .sort((one, other) => one.place - other.place)
      .flatMap(({ stream }) => stream ?? [])
    const turns = Math.max(1, Math.floor(Math.min(withinMs, leaving.length * drainMsPerStream) / drainTurnMs))
    const perTurn = Math.ceil(leaving.length / turns)
    return new Promise((resolve) => {
      function turn(): void {
        for (const stream of leaving.splice(0, perTurn))
          end(stream, 'draining', sentence, drawReconnectDelayMs())
        if (leaving.length === 0) resolve()
        else timers.later(turn, drainTurnMs)
      }
      turn()
    })
  }

  return {
    /** Sends welcome, missed messages or a snapshot, then new messages. Throws a `Refusal` when full or draining. */
    join(joining: Joining, cursor: Cursor | null): Subscriber {
      const stream = new Subscriber(joining, queueBytesPerWindow, {
        onOmitted: () => meter.omitted(),
        onOverflow: (full) => dismiss(full, 'overflow', 'This window fell too far behind.'),
        onFailure: fail,
      })
      admit(joining)
      const joined = registry.join(stream)
      if (!joined) {
        dismiss(stream, 'replaced', 'A newer stream of this window is open.')
        return stream
      }
      if (joined.replaced) dismiss(joined.replaced, 'replaced', 'A newer stream of this window was opened.')
      begin(stream, cursor).catch((error) => fail(stream, error))
      if (joining.owner !== null)
        neighbours?.say({ type: 'opened', window: joining.id, opening: joining.opening })
      onJoined?.(joining.channels)
      return stream
    },
    leave(stream: Subscriber): void {
      stream.gone()
      registry.leave(stream)
    },
    poll(poll: Parameters<typeof polls.poll>[0]): ReturnType<typeof polls.poll> {
      const { identity } = poll
      if (identity.owner !== null) neighbours?.polled(identity.id, pageOf(identity))
      return polls.poll(poll)
    },
    /** A polling client with a proven name leaves. */
    left(id: string, opening: number): void {
      registry.left(id, opening)
      neighbours?.say({ type: 'left', window: id, opening })
    },
    /**
     * The answer to the sender, once the message is stored and sent to all streams: at once where the log stores it at once,
     * else a promise. `holder` is its sender; absent for the server's own. Rejects, and never throws, with a `Refusal` or the
     * store's error.
     */
    publish(draft: Draft, holder?: Holder): Stored | Promise<Stored> {
      try {
        mayBegin(draft, holder)
      } catch (refusal) {
        return Promise.reject(refusal)
      }
      const acceptedAt = timers.now()
      const answer = (seq: number): Stored => {
        meter.stored(timers.now() - acceptedAt)
        return { type: 'stored', id: draft.id, seq }
      }
      const seq = log.append(draft, acceptedAt)
      if (typeof seq === 'number') return answer(seq)
      const { channel } = draft
      if (!log.heads().has(channel)) beginning.add(channel)
      return seq
        .finally(() => beginning.delete(channel))
        .then(answer, (error) => {
          const refusal = refusalFor(error, draft.id)
          if (!(refusal instanceof Refusal) || refusal.code.startsWith('log-')) meter.failed()
          throw refusal
        })
    },
    /** Ms to wait before the next message; 0 counts it as sent. `connection` is the sender's. */
    waitMs: (connection: object, sender = '') => Math.ceil(rateLimit.take(connection, sender)),
    /** A refused frame of a stream costs its sender as much as it cost the server. */
    refused: (connection: object, bytes: number) =>
      rateLimit.charge(connection, '', Math.floor(bytes / bytesPerToken)),
    /**
     * Heartbeat of a stream or a proven name; `carries` for a stream of several clients. Throws a `Refusal` (403
     * `not-your-name`) if a free name sets it.
     */
    heard(from: Subscriber | string, carries?: Readonly<Record<string, number>>): void {
      const client = typeof from === 'string' ? registry.named(from) : registry.find(from.identity)
      if (client) hear(client, carries)
      if (!client?.stream && typeof from === 'string')
        neighbours?.say({ type: 'heard', window: from, ...(carries && { carries }) })
    },
    /**
     * What a window shows of itself; `from` is its stream, or a proven name. Nothing for one without a stream that does
     * not poll: it may have left since. Throws a `Refusal`: 403 `not-your-name` or `read-only-channel`, and 400
     * `bad-shape` for a channel that the window does not read; another server's window is not known here.
     */
    show(from: Subscriber | string, report: AwarenessReport, opening = Number.POSITIVE_INFINITY): void {
      const client = typeof from === 'string' ? registry.named(from) : registry.find(from.identity)
      if (client) showOf(client, report, opening)
      else if (typeof from === 'string') checkReport(from, fingerprintIn(from), report)
      if (typeof from !== 'string') return
      // A client that polls may be known to several servers, and shown by another than this one.
      const isForOthers = !client || (client.stream === null && report.state === null)
      if (isForOthers) neighbours?.say({ type: 'show', window: from, report, opening })
    },
    streamOf: (id: string) => registry.named(id)?.stream ?? null,
    /** By a client here or, of an overview, at another server. */
    isRead: (channel: string) =>
      registry.isRead(channel) || registry.elsewhere.counts().overviews.has(channel),
    /** Alone among the servers of the log. */
    leads: () => neighbours?.leads() ?? true,
    snapshot: log.snapshot,
    windowCount: () => registry.size,
    windowsOn: (page: string) => registry.windowsOn(page),
    windows: () => Array.from(registry.all(), figuresOf),
    isDraining: () => draining !== null,
    /** Disconnects all that are here, to reconnect after a jittered pause; polling clients are refused at their next poll. */
    sendAway(sentence: string): void {
      void drainStreams(drainMsPerStream * registry.size, sentence)
      polls.wakeAll()
    },
    /** Admits no more clients; disconnects all in `withinMs`, to reconnect after a jittered pause. */
    drain(withinMs: number): Promise<void> {
      draining ??= drain(withinMs)
      return draining
    },
  }
}

function isSame(known: ReadonlyMap<string, number> | null, given: ReadonlyMap<string, number>): boolean {
  return known?.size === given.size && [...given].every(([channel, count]) => known.get(channel) === count)
}

export function documentDeleted({ message }: DocumentDeleted, id: string): Refusal {
  const sentence = `${message} Bring it back first (a message of the kind "deletion" with {"deleted":false}), or write to another one.`
  return new Refusal(410, 'document-deleted', sentence, id, deletedMs)
}

/** Errors that nobody expects stay unchanged. */
function refusalFor(error: unknown, id: string): unknown {
  if (error instanceof TooManyChannels) {
    const sentence = `${error.message} Write to one that is there, delete one, or raise limits.maxChannels.`
    return new Refusal(403, 'too-many-channels', sentence, id)
  }
  if (error instanceof DocumentDeleted) return documentDeleted(error, id)
  if (error instanceof NotThere) return new Refusal(404, 'not-found', error.message, id)
  if (error instanceof IdTaken) {
    const sentence = `${error.message} Send this one under an id that its sender has not used there.`
    return new Refusal(409, 'id-taken', sentence, id)
  }
  if (error instanceof LogUnavailable) {
    const sentence = `The log takes no messages: ${error.message}. This one may not be stored; send it again.`
    return new Refusal(503, 'log-unavailable', sentence, id, unavailableMs)
  }
  if (error instanceof LogFull) {
    const sentence = `${error.message} The message is not stored; send it again when there is some.`
    return new Refusal(503, 'log-full', sentence, id, fullMs)
  }
  if (error instanceof LogClosed) {
    return new Refusal(503, 'draining', 'The server is shutting down.', id, reconnectDelayMs.least)
  }
  return error
}

/** Names are not secret: using one requires its key. */
function figuresOf({ identity, stream, heardAt }: Client) {
  const { id, channels, mode } = identity
  return {
    id,
    channels: [...channels],
    mode: mode.name,
    backlogBytes: stream?.backlogBytes ?? 0,
    droppedReadings: stream?.dropped ?? 0,
    /** Last frame received, ms since the epoch; null for none. */
    heardAt,
  }
}
