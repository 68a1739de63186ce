// Records the last hour of wind from the log, and serves it at `GET /api/wind/history`.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type Router from '@koa/router'
import { type Cursor, isKind, type Message } from '../protocol/messages.ts'
import type { Timers } from '../protocol/time.ts'
import type { ReadableLog } from '../server/index.ts'
import { windChannel } from './shared/page-messages.ts'
import { WindHistory } from './shared/wind-history.ts'

type WindLog = Pick<ReadableLog, 'follow' | 'numberAt' | 'read' | 'snapshot'>

interface WindRecorderParts {
  readonly log: WindLog
  readonly timers: Timers
  /** Called if the log was unreadable, so that only new readings are recorded. */
  readonly onFailure: (error: unknown) => void
}

const channels: ReadonlySet<string> = new Set([windChannel])
const hourMs = 3_600_000

/** Pause between portions of a few ms, so that messages go first. */
const pauseMs = 10

/** Number of messages skipped if the log deletes faster than this reads. */
const skippedMessages = 500

/**
 * Every grant includes the wind. Compressed: it contains no text and no secret (BREACH). Brotli
 * would take as long to save 2 %.
 */
export function mountWindHistory(router: Router, recorderNow: () => WindRecorder): void {
  router.get('/api/wind/history', async (ctx) => {
    const recorder = recorderNow()
    const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    const body = await (isGzipped ? recorder.gzipped() : recorder.json())
    ctx.set('Cache-Control', 'no-store')
    ctx.vary('Accept-Encoding')
    if (isGzipped) ctx.set('Content-Encoding', 'gzip')
    ctx.type = 'json'
    ctx.body = body
  })
}

export class WindRecorder {
  readonly #log: WindLog
  readonly #timers: Timers
  readonly #history = new WindHistory()
  readonly #unfollow: () => void
  readonly #isFilled: Promise<void>
  #newest: { seq: number; faultAt: number | null } = { seq: 0, faultAt: null }
  /** Cached until the next reading. */
  #json: string | null = null
  #gzipped: Promise<Buffer> | null = null
  /** Readings that arrive while the log is read; null afterwards. */
  #waiting: Message<'reading'>[] | null = []
  #isStopped = false

  constructor({ log, timers, onFailure }: WindRecorderParts) {
    this.#log = log
    this.#timers = timers
    this.#unfollow = log.follow((message) => {
      if (message.channel !== windChannel || !isKind(message, 'reading')) return
      if (this.#waiting) this.#waiting.push(message)
      else this.#record(message)
    })
    this.#isFilled = this.#fill()
      .catch(onFailure)
      .then(() => {
        for (const message of this.#waiting ?? []) this.#record(message)
        this.#waiting = null
      })
  }

  /** Resolves to a `WindSnapshot` once the log has been read. */
  async json(): Promise<string> {
    await this.#isFilled
    return this.#written()
  }

  async gzipped(): Promise<Buffer> {
    await this.#isFilled
    this.#gzipped ??= promisify(gzip)(this.#written())
    return this.#gzipped
  }

  #written(): string {
    this.#json ??= JSON.stringify(this.#history.snapshot(this.#newest))
    return this.#json
  }

  stop(): void {
    this.#isStopped = true
    this.#unfollow()
  }

  #record({ seq, at: stampedAt, body }: Message<'reading'>): void {
    const at = this.#history.take(body, stampedAt)
    this.#newest = { seq, faultAt: body.state === 'fault' ? at : null }
    this.#json = null
    this.#gzipped = null
  }

  /**
   * Reads up to the initial head; later messages arrive through `follow`. Throws the log's errors.
   */
  async #fill(): Promise<void> {
    const since = this.#timers.now() - hourMs
    const { head } = await this.#log.snapshot(channels)
    if (this.#isStopped) return
    let place = await this.#log.numberAt(windChannel, since)
    while (place < head.seq) {
      const portion = await this.#read({ ...head, seq: place })
      if (!portion) return
      const messages = portion.recovered ? portion.messages : []
      for (const message of messages)
        if (message.seq <= head.seq && isKind(message, 'reading')) this.#record(message)
      place = portion.recovered ? portion.reached.seq : place + skippedMessages
    }
  }

  /** Null after stop: the log may be closed. */
  async #read(after: Cursor) {
    await new Promise<void>((resolve) => this.#timers.later(resolve, pauseMs))
    return this.#isStopped ? null : this.#log.read(after, channels)
  }
}
