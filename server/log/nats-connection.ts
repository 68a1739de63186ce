// The connection to NATS: opens when a server answers, and tracks disconnects and reconnects.

import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import {
  AuthorizationError,
  connect,
  credsAuthenticator,
  type NatsConnection,
  TimeoutError,
} from '@nats-io/transport-node'
import { type Bus, type LogFigures, type LogParts, StorageUnfit } from './log.ts'
import { asError, figuresWithinMs, noteReader, type Waiting, whenReady } from './stream-log.ts'

export interface NatsSettings {
  /** `host:port` of any servers of the cluster. */
  readonly servers: readonly string[]
  /** The stream of the pages' log; the names of the others begin with it. */
  readonly stream: string
  /** 0 means three in a cluster of at least three servers, otherwise one. */
  readonly replicas: number
  readonly credentialsFile: string | null
}

/** Room for what a message adds to that of a window: `acceptedAt`, and NATS' headers. */
export const envelopeBytes = 1024

const connectWithinMs = 5000
/** After two of these pings without an answer, the connection counts as broken. */
const pingEachMs = 1000

/**
 * Waits until a server answers, and prints what it waits for. Rejects with a sentence if NATS
 * denies access.
 */
export async function connectToNats(
  { servers, stream, credentialsFile }: Omit<NatsSettings, 'replicas'>,
  { onFailure, ...waiting }: Waiting & Pick<LogParts, 'onFailure'>,
) {
  const authenticator =
    credentialsFile === null ? {} : { authenticator: credsAuthenticator(readFileSync(credentialsFile)) }
  const place = `NATS at ${servers.join(', ')} (nats.servers)`
  const connection = await whenNatsReady(place, waiting, () =>
    connect({
      servers: [...servers],
      name: 'crosswind',
      timeout: connectWithinMs,
      ...authenticator,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: pingEachMs,
      maxPingOut: 2,
    }),
  )
  let reconnects = 0
  const asking = await jetstreamManager(connection, { checkAPI: false, timeout: figuresWithinMs })
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'reconnect') reconnects += 1
  })()
  return {
    connection,
    bus: createBus(connection, `${stream}-notes`, onFailure),
    /** The largest message that these servers accept, bytes as JSON. */
    maxBytes: (connection.info?.max_payload ?? 0) - envelopeBytes,
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

/** Uses core NATS, which stores nothing. */
function createBus(connection: NatsConnection, subject: string, onFailure: LogParts['onFailure']): Bus {
  return {
    post: (note) => connection.publish(subject, JSON.stringify(note)),
    follow(onNote, onReturned) {
      const read = noteReader(onNote, onFailure)
      connection.subscribe(subject, {
        callback(error, note) {
          if (!error) read(note.string())
        },
      })
      void (async () => {
        for await (const { type } of connection.status()) if (type === 'reconnect') onReturned()
      })()
    },
  }
}

/** Error codes of JetStream's API (nats-server, server/errors.json). */
export const codes = { tooFewPeers: 10_005, unavailable: 10_008, overtaken: 10_071, noCluster: 10_074 }

export const codeOf = (error: unknown) => (error instanceof JetStreamApiError ? error.code : null)

/** As `whenReady`. Also rejects with a `StorageUnfit` if NATS denies access, or needs a cluster. */
export function whenNatsReady<Result>(what: string, waiting: Waiting, run: () => Promise<Result>) {
  return whenReady(what, waiting, () =>
    run().catch((cause) => {
      if (cause instanceof StorageUnfit) throw cause
      const isFinal = cause instanceof AuthorizationError || codeOf(cause) === codes.noCluster
      if (isFinal) throw new StorageUnfit(`Crosswind cannot use ${what}: ${reasonOf(cause)}.`, { cause })
      throw new Error(reasonOf(cause), { cause })
    }),
  )
}

/** Returns a clause, in NATS' own words if it has any. */
export function reasonOf(error: unknown): string {
  if (error instanceof TimeoutError) return 'NATS does not answer'
  // No responders on the subject; the library does not export the error's class.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return 'no NATS server offers it; enable JetStream with nats-server -js or a jetstream block'
  return asError(error).message
}

interface DoorParts {
  readonly onShut: () => void
  readonly onReopened: () => void
}

/**
 * Tracks whether the connection is up: requests sent while it is down are lost, with their answers.
 */
export class Door {
  #open: PromiseWithResolvers<void> | null = null
  #isClosed = false
  // Not a promise for `Promise.race`, which would keep every racing promise until the connection
  // breaks.
  readonly #onShut = new Set<() => void>()

  constructor(connection: NatsConnection, parts: DoorParts) {
    void this.#watch(connection, parts)
  }

  /** Settles as `answer` does, or to null if the connection breaks first. */
  untilShut<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
    return new Promise((resolve, reject) => {
      const stop = () => resolve(null)
      this.#onShut.add(stop)
      answer.then(resolve, reject).finally(() => this.#onShut.delete(stop))
    })
  }

  /** Rejects at `endsAt`, on the clock of `performance.now`. */
  async untilOpen(endsAt = Number.POSITIVE_INFINITY): Promise<void> {
    const open = this.#open?.promise
    if (!open || endsAt === Number.POSITIVE_INFINITY) return open
    const isLate = pause(Math.max(0, endsAt - performance.now()), true, { ref: false })
    if (await Promise.race([open, isLate])) throw new TimeoutError()
  }

  /** Stops waiting for the connection to open. Pending requests keep their own deadlines. */
  close(): void {
    this.#isClosed = true
    this.#open?.resolve()
    this.#open = null
  }

  async #watch(connection: NatsConnection, parts: DoorParts): Promise<void> {
    for await (const { type } of connection.status()) {
      if (this.#isClosed) break
      if (type === 'disconnect' && this.#open === null) {
        this.#open = Promise.withResolvers()
        parts.onShut()
        for (const stop of this.#onShut) stop()
        this.#onShut.clear()
      } else if (type === 'reconnect' && this.#open !== null) {
        this.#open.resolve()
        this.#open = null
        parts.onReopened()
      }
    }
    // Closed: releases all waiters.
    this.#open?.resolve()
  }
}
